package replicate

import (
	"encoding/binary"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"shunt/engine"
	"shunt/storage/row"
)

// own is what a batch of shared rows means for the node's own rows and memory.
type own struct {
	purged []uint64 // links whose tallies go, too
	bound  uint64   // of ids; 0: unchanged
	stamp  uint64   // the highest of the audit log; 0: none
}

// learned collects what the engine is to know of a batch.
type learned struct {
	own
	engine.Learned
	accounts, folders, domains bool // rows of theirs have changed; certificates are those of domains
}

func (l *learned) reset() { *l = learned{} }

// tell says what the batch means, once it is durable.
func (l *learned) tell(to Learner) error {
	if l.accounts {
		to.AccountsChanged()
	}
	if l.folders {
		to.FoldersChanged()
	}
	if l.domains {
		if err := to.DomainsChanged(); err != nil {
			return err
		}
	}
	return to.Learn(&l.Learned)
}

func (l *learned) noteSet(key, value []byte, known func(key []byte) (bool, error)) (err error) {
	switch key[0] {
	case row.TableHot:
		k, err := row.SplitHotKey(key)
		if err != nil {
			return err
		}
		h, err := row.DecodeHot(k, value)
		if err != nil {
			return err
		}
		l.Links = append(l.Links, h)
	case row.TableCaps:
		id, c, err := row.ReadCap(key, value)
		if err != nil {
			return err
		}
		l.Caps = append(l.Caps, engine.CapChange{ID: id, Cap: c})
	case row.TableReceipts:
		k, err := row.SplitReceiptKey(key)
		if err != nil {
			return err
		}
		if had, err := known(key); err != nil || had {
			return err
		}
		l.Receipts = append(l.Receipts, k)
	case row.TableAccounts:
		l.accounts = true
	case row.TableFolders:
		l.folders = true
	case row.TableDomains, row.TableCertificates:
		l.domains = true
	case row.TableAudit:
		stamp, err := row.SplitAuditKey(key)
		if err != nil {
			return err
		}
		l.stamp = max(l.stamp, stamp)
	case row.TableMeta:
		if len(value) != 8 {
			return fmt.Errorf("%w: bound of ids of %d bytes", row.ErrCorrupt, len(value))
		}
		l.bound = binary.BigEndian.Uint64(value)
	}
	return nil
}

func (l *learned) noteDelete(key []byte, known func(key []byte) (bool, error)) error {
	switch key[0] {
	case row.TableHot: // the deletion of its cold record follows
		k, err := row.SplitHotKey(key)
		if err != nil {
			return err
		}
		l.Freed = append(l.Freed, engine.Freed{Key: k.Own()})
	case row.TableCold:
		id, err := row.SplitColdKey(key)
		if err != nil {
			return err
		}
		if n := len(l.Freed); n > 0 && l.Freed[n-1].ID == 0 {
			l.Freed[n-1].ID = id
		}
		l.purged = append(l.purged, id)
	case row.TableCaps:
		id, err := row.SplitCapKey(key)
		if err != nil {
			return err
		}
		l.Caps = append(l.Caps, engine.CapChange{ID: id, Gone: true})
	case row.TableReceipts:
		k, err := row.SplitReceiptKey(key)
		if err != nil {
			return err
		}
		if had, err := known(key); err != nil || !had {
			return err
		}
		l.ReceiptsGone = append(l.ReceiptsGone, k)
	case row.TableAccounts:
		l.accounts = true
	case row.TableFolders:
		l.folders = true
	case row.TableDomains, row.TableCertificates:
		l.domains = true
	}
	return nil
}

func (l *learned) noteMerge(key, value []byte) error {
	id, err := row.SplitLinkLifeKey(key)
	if err != nil {
		return err
	}
	hits, err := row.DecodeTallyHits(value)
	l.Hits = append(l.Hits, engine.ImportedHits{ID: id, Hits: hits})
	return err
}

// ownRows returns what a batch that this node made means for its own rows: its memory knows it already.
func ownRows(b *pebble.Batch) (o own) {
	for r := b.Reader(); ; {
		kind, key, _, ok, err := r.Next()
		if !ok || err != nil {
			return o
		}
		if kind == pebble.InternalKeyKindDelete && key[0] == row.TableCold {
			o.purged = append(o.purged, binary.BigEndian.Uint64(key[1:]))
		}
	}
}

// ReadsEntries is the newest version of payloads that this program reads. It reads all before it, too.
const ReadsEntries = row.NewestPayload

// parts are those of a batch whose last one is missing.
type parts struct {
	begun         bool
	open, private []byte
}
