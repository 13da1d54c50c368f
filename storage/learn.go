package storage

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"shunt/engine"
	"shunt/storage/clusterlog"
	"shunt/storage/kv"
	"shunt/storage/row"
)

// A batch that is larger than an entry takes several payloads (row.Payload), one after the other. Its rows
// are applied when the last one is there. A leader that ends in between leaves parts without an end, which
// the next first part ends. The position in the store stays before such parts, so a restart reads them
// again.
const (
	// ReadsEntries is the newest version of payloads that this program reads. It reads all before it, too.
	ReadsEntries = row.NewestPayload

	// learnBytes is the size at which the batches of several entries are committed together.
	learnBytes = 4 << 20

	// maxSharedBytes bounds a batch of several entries: those of one request for 1,000 links have 45 MB
	// at worst (see commitBatchBytes).
	maxSharedBytes = 64 << 20
)

// parts are those of a batch whose last one is missing.
type parts struct {
	begun         bool
	open, private []byte
}

// own is what a batch of shared rows means for the node's own rows and memory.
type own struct {
	purged []uint64 // links whose tallies go, too
	caps   []engine.CapChange
	bound  uint64 // of ids; 0: unchanged
	stamp  uint64 // the highest of the audit log; 0: none
}

// learned collects what the engine is to know of a batch.
type learned struct {
	own
	engine.Learned
	accounts bool // rows of accounts have changed
}

// Learner is told what the store has learned from other nodes, after it is durable.
type Learner interface {
	// Learn is engine.Learn. What it is given is valid only during the call.
	Learn(*engine.Learned) error
	// AccountsChanged says that rows of accounts have changed.
	AccountsChanged()
}

// Learn applies entries of the cluster's log, which follow each other and the position of the store,
// and tells to what they changed. The node must not lead, and only one goroutine may call it. An error
// means that the store may not have applied them, and cannot go on.
func (s *Store) Learn(entries []clusterlog.Entry, after clusterlog.Position, to Learner) error {
	sh := &s.shared
	sh.turn <- struct{}{}
	defer func() { <-sh.turn }()
	if sh.appender != nil {
		return errors.New("storage: learning while this node leads")
	}
	b := s.db.NewBatch()
	defer b.Close()
	defer sh.learned.reset()
	for i := range entries {
		if err := s.collectEntry(b, &entries[i]); err != nil {
			return fmt.Errorf("storage: entry %d of the cluster's log: %w", entries[i].Sequence, err)
		}
		last := i == len(entries)-1
		if sh.at = after; !last {
			sh.at = clusterlog.Position{Sequence: entries[i].Sequence, Epoch: entries[i].Epoch, Hash: entries[i+1].Previous}
		}
		if !sh.parts.begun {
			sh.whole = sh.at
		}
		if !last && b.Len() < learnBytes {
			continue
		}
		if err := s.learnBatch(b, to); err != nil {
			return fmt.Errorf("storage: up to entry %d of the cluster's log: %w", entries[i].Sequence, err)
		}
	}
	return nil
}

// collectEntry adds the rows of an entry to b, if it is the last part of a batch.
func (s *Store) collectEntry(b *pebble.Batch, e *clusterlog.Entry) error {
	parts := &s.shared.parts
	p, err := row.DecodePayload(e.Payload)
	switch {
	case err != nil:
		return err
	case !s.shared.edge && !e.Whole():
		return fmt.Errorf("%w: its private part was not read", ErrCorrupt)
	case p.Version > ReadsEntries:
		return fmt.Errorf("%w: its payload has version %d, and this program knows version %d", clusterlog.ErrNewerVersion, p.Version, ReadsEntries)
	case p.First:
		parts.open, parts.private, parts.begun = parts.open[:0], parts.private[:0], true
	case !parts.begun: // parts whose beginning a leader did not write are of no batch
		return fmt.Errorf("%w: a part without a beginning", ErrCorrupt)
	}
	if len(parts.open)+len(parts.private)+len(p.Part)+len(e.Private) > maxSharedBytes {
		return fmt.Errorf("%w: a batch of more than %d bytes", ErrCorrupt, maxSharedBytes)
	}
	parts.open, parts.private = append(parts.open, p.Part...), append(parts.private, e.Private...)
	if !p.Last {
		return nil
	}
	open, private := bytes.Clone(parts.open), bytes.Clone(parts.private) // learned aliases them
	if parts.begun = false; cap(parts.open)+cap(parts.private) > learnBytes {
		parts.open, parts.private = nil, nil
	}
	if err := s.collectRows(b, open); err != nil {
		return err
	}
	return s.collectRows(b, private) // after the others: it has the whole of what an edge keeps a part of
}

// splitRows returns what a batch does to its rows: to those that an edge keeps, as it keeps them, and to
// all others, with the whole of those rows of which an edge keeps a part. Whoever applies the first and then
// the second has what the batch has.
func splitRows(b *pebble.Batch) (open, private []byte, err error) {
	var whole wholes
	for r := b.Reader(); ; {
		kind, key, value, ok, err := r.Next()
		if err != nil || !ok {
			return open, whole.appendTo(private), err
		}
		operation, known := operations[kind]
		switch {
		case !known:
			return nil, nil, fmt.Errorf("an operation of kind %d on row %x", kind, key)
		case !row.KeptByEdge(key):
			private = row.AppendOperation(private, operation, key, value)
			continue
		case key[0] == row.TableCold && operation == row.OpSet:
			part, err := row.ColdOfEdge(value)
			if err != nil {
				return nil, nil, err
			}
			whole.note(key, value, bytes.Equal(part, value))
			value = part
		case key[0] == row.TableCold:
			whole.note(key, nil, true)
		}
		open = row.AppendOperation(open, operation, key, value)
	}
}

// wholes are the cold records that a batch leaves, of which an edge keeps a part. A batch may set one several
// times, so only the last counts.
type wholes struct {
	last map[string][]byte
	keys [][]byte // in their order; some may not be in last
}

// note notes what a batch does to a record. If same, an edge has the same after it.
func (w *wholes) note(key, value []byte, same bool) {
	if same {
		delete(w.last, string(key))
		return
	}
	if w.last == nil {
		w.last = make(map[string][]byte)
	}
	w.last[string(key)] = value
	w.keys = append(w.keys, key)
}

// appendTo appends what sets the records.
func (w *wholes) appendTo(dst []byte) []byte {
	for _, key := range w.keys {
		if value, ok := w.last[string(key)]; ok {
			dst = row.AppendOperation(dst, row.OpSet, key, value)
			delete(w.last, string(key))
		}
	}
	return dst
}

var operations = map[pebble.InternalKeyKind]row.Operation{
	pebble.InternalKeyKindSet:         row.OpSet,
	pebble.InternalKeyKindDelete:      row.OpDelete,
	pebble.InternalKeyKindMerge:       row.OpMerge,
	pebble.InternalKeyKindRangeDelete: row.OpDeleteRange,
}

// collectRows adds rows, which stay as they are, to b, and notes what they mean for this node. It returns
// ErrCorrupt for rows that no leader writes.
func (s *Store) collectRows(b *pebble.Batch, rows []byte) error {
	for len(rows) > 0 {
		operation, key, value, rest, err := row.ReadOperation(rows)
		if err != nil {
			return err
		}
		if !row.Shared(key) {
			return fmt.Errorf("%w: row %x, which is no shared one", ErrCorrupt, key)
		}
		if err := s.collectRow(b, operation, key, value); err != nil {
			return err
		}
		rows = rest
	}
	return nil
}

// collectRow is collectRows for one row.
func (s *Store) collectRow(b *pebble.Batch, operation row.Operation, key, value []byte) error {
	l := &s.shared.learned
	switch kept := !s.shared.edge || row.KeptByEdge(key); {
	case !kept:
		return nil
	case operation == row.OpSet:
		if s.shared.edge && key[0] == row.TableCold {
			part, err := row.ColdOfEdge(value)
			if err != nil {
				return err
			}
			value = part
		}
		kv.Set(b, key, value)
		return l.noteSet(key, value, s.writer.Known)
	case operation == row.OpDelete:
		kv.Remove(b, key)
		return l.noteDelete(key, s.writer.Known)
	case operation == row.OpMerge && key[0] == row.TableLinkLives:
		kv.Merge(b, key, value)
		return l.noteMerge(key, value)
	case operation == row.OpMerge && key[0] == row.TableImports:
		kv.Merge(b, key, value)
		return nil
	case operation == row.OpDeleteRange && bytes.Compare(key, value) < 0 && value[0] == key[0]:
		kv.Must(b.DeleteRange(key, value, nil))
		return nil
	}
	return fmt.Errorf("%w: an operation of kind %d on row %x", ErrCorrupt, operation, key)
}

// learnBatch commits b, unless it is empty, with the position, and tells to what it changed. For an edge,
// entries may have been read whole of which it keeps nothing.
func (s *Store) learnBatch(b *pebble.Batch, to Learner) error {
	l := &s.shared.learned
	defer l.reset()
	if b.Empty() && (!s.shared.edge || s.shared.whole.Sequence == s.shared.applied.Load()) {
		return nil
	}
	defer b.Reset()
	l.own.caps = l.Caps
	if err := s.commitShared(b, l.own); err != nil {
		return err
	}
	if l.accounts {
		to.AccountsChanged()
	}
	if err := to.Learn(&l.Learned); err != nil {
		return err
	}
	s.shared.shown.Store(s.shared.applied.Load())
	return nil
}

func (l *learned) reset() { *l = learned{} }

func (l *learned) noteSet(key, value []byte, known func(key []byte) (bool, error)) (err error) {
	switch key[0] {
	case row.TableHot:
		h, err := row.DecodeHot(key[1:], value)
		if err != nil {
			return err
		}
		l.Links = append(l.Links, h)
	case row.TableCaps:
		id, err := row.SplitCapKey(key)
		if err != nil {
			return err
		}
		c, err := row.DecodeCap(value)
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
	case row.TableAudit:
		stamp, err := row.SplitAuditKey(key)
		if err != nil {
			return err
		}
		l.stamp = max(l.stamp, stamp)
	case row.TableMeta:
		if len(value) != 8 {
			return fmt.Errorf("%w: bound of ids of %d bytes", ErrCorrupt, len(value))
		}
		l.bound = binary.BigEndian.Uint64(value)
	}
	return nil
}

func (l *learned) noteDelete(key []byte, known func(key []byte) (bool, error)) error {
	switch key[0] {
	case row.TableHot: // the deletion of its cold record follows
		l.Freed = append(l.Freed, engine.Freed{Code: string(key[1:])})
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
