package replicate

import (
	"bytes"
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
	// learnBytes is the size at which the batches of several entries are committed together.
	learnBytes = 4 << 20

	// maxSharedBytes bounds a batch of several entries: those of one request for 1,000 links have 53 MB
	// at worst (storage/links).
	maxSharedBytes = 64 << 20
)

// Learner is told what the store has learned from other nodes, after it is durable.
type Learner interface {
	// Learn is engine.Learn. What it is given is valid only during the call.
	Learn(*engine.Learned) error
	// AccountsChanged says that rows of accounts have changed.
	AccountsChanged()
	// FoldersChanged says the same of folders.
	FoldersChanged()
	// DomainsChanged says that rows of domains, or of certificates, have changed. It comes before Learn, so that the
	// domains of links are known before the links.
	DomainsChanged() error
}

// Learn applies entries of the cluster's log, which follow each other and the position of the store,
// and tells to what they changed. The node must not lead, and only one goroutine may call it. An error
// means that the store may not have applied them, and cannot go on.
func (s *Rows) Learn(entries []clusterlog.Entry, after clusterlog.Position, to Learner) error {
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
func (s *Rows) collectEntry(b *pebble.Batch, e *clusterlog.Entry) error {
	parts := &s.shared.parts
	p, err := row.DecodePayload(e.Payload)
	switch {
	case err != nil:
		return err
	case !s.shared.edge && !e.Whole():
		return fmt.Errorf("%w: its private part was not read", row.ErrCorrupt)
	case p.Version > ReadsEntries:
		return fmt.Errorf("%w: its payload has version %d, and this program knows version %d", clusterlog.ErrNewerVersion, p.Version, ReadsEntries)
	case p.First:
		parts.open, parts.private, parts.begun = parts.open[:0], parts.private[:0], true
	case !parts.begun: // parts whose beginning a leader did not write are of no batch
		return fmt.Errorf("%w: a part without a beginning", row.ErrCorrupt)
	}
	if len(parts.open)+len(parts.private)+len(p.Part)+len(e.Private) > maxSharedBytes {
		return fmt.Errorf("%w: a batch of more than %d bytes", row.ErrCorrupt, maxSharedBytes)
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

// collectRows adds rows, which stay as they are, to b, and notes what they mean for this node. It returns
// row.ErrCorrupt for rows that no leader writes.
func (s *Rows) collectRows(b *pebble.Batch, rows []byte) error {
	for len(rows) > 0 {
		operation, key, value, rest, err := row.ReadOperation(rows)
		if err != nil {
			return err
		}
		if !row.Shared(key) {
			return fmt.Errorf("%w: row %x, which is no shared one", row.ErrCorrupt, key)
		}
		if err := s.collectRow(b, operation, key, value); err != nil {
			return err
		}
		rows = rest
	}
	return nil
}

// collectRow is collectRows for one row.
func (s *Rows) collectRow(b *pebble.Batch, operation row.Operation, key, value []byte) error {
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
	case operation == row.OpMerge && (key[0] == row.TableImports || key[0] == row.TableLinkDays || key[0] == row.TableOwnerDays):
		kv.Merge(b, key, value)
		return nil
	case operation == row.OpDeleteRange && bytes.Compare(key, value) < 0 && value[0] == key[0]:
		kv.Must(b.DeleteRange(key, value, nil))
		return nil
	}
	return fmt.Errorf("%w: an operation of kind %d on row %x", row.ErrCorrupt, operation, key)
}

// learnBatch commits b, unless it is empty, with the position, and tells to what it changed. For an edge,
// entries may have been read whole of which it keeps nothing.
func (s *Rows) learnBatch(b *pebble.Batch, to Learner) error {
	l := &s.shared.learned
	defer l.reset()
	if b.Empty() && (!s.shared.edge || s.shared.whole.Sequence == s.shared.applied.Load()) {
		return nil
	}
	defer b.Reset()
	if err := s.commitShared(b, l.own); err != nil {
		return err
	}
	if err := l.tell(to); err != nil {
		return err
	}
	s.shared.shown.Store(s.shared.applied.Load())
	return nil
}
