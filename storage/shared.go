package storage

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"shunt/engine"
	"shunt/storage/clusterlog"
	"shunt/storage/row"
)

// In a cluster, all nodes have the same shared rows: links, their indexes, receipts, accounts, the
// audit log and the bound of ids (row.Shared). The leader makes a batch of them the next entry of the
// cluster's log before it commits the batch; the other nodes read the entry and commit the same bytes.
// Each commits the position after the entry in the same batch, so a node has applied exactly the
// entries up to its position, whatever interrupts it. Rows rather than calls are replicated, because
// then nothing has to be decided twice, and equal positions mean equal bytes.
//
// All other rows are a node's own, and are committed without the log: they need no leader, so hits
// are flushed whatever the cluster does.

// Appender appends to the log of a cluster, as clusterlog.Leadership does.
type Appender interface {
	Append(ctx context.Context, batch clusterlog.BatchID, payload []byte) (clusterlog.Position, error)
}

// shared is the state of a store's shared rows.
type shared struct {
	exists bool // there is a cluster

	// turn has room for the one who commits shared rows, who owns the fields after it.
	turn     chan struct{}
	appender Appender            // nil: this node does not lead
	at       clusterlog.Position // after the last entry that was read or written
	whole    clusterlog.Position // the same, without entries that are parts of a batch whose last one is missing
	parts    []byte              // of such a batch
	learned  learned

	applied atomic.Uint64 // sequence of the last entry whose rows are committed; read by metrics
}

// unsettledPause is the time between two attempts to find out what became of an entry.
const unsettledPause = 100 * time.Millisecond

// share commits a batch of shared rows. In a cluster it returns engine.ErrNotLeader if the batch is
// not in the log and never will be. While the log does not answer, it waits.
func (s *Store) share(b *pebble.Batch, doing string) error {
	if !s.shared.exists {
		return s.sync(b, doing)
	}
	s.shared.turn <- struct{}{}
	defer func() { <-s.shared.turn }()
	if err := s.shareLocked(b); err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return nil
}

// shareLocked is share for the one whose turn it is.
func (s *Store) shareLocked(b *pebble.Batch) error {
	sh := &s.shared
	if sh.appender == nil {
		return engine.ErrNotLeader
	}
	rows, first := b.Repr(), true
	for len(rows) > 0 {
		part := rows[:min(len(rows), clusterlog.MaxPayloadBytes-payloadHead)]
		rows = rows[len(part):]
		at, err := s.append(appendPayload(nil, part, first, len(rows) == 0))
		if err != nil {
			return err // parts before it are without their end, and the next entry begins another batch
		}
		sh.at, first = at, false
	}
	sh.whole = sh.at
	if err := s.commitShared(b, ownRows(b)); err != nil {
		// The log has the batch, so whoever takes it from there goes on; this process cannot.
		s.writer.fatal("committing an entry of the cluster's log: %v", err)
		return err
	}
	return nil
}

// append makes payload the next entry, and returns when its outcome is certain.
func (s *Store) append(payload []byte) (clusterlog.Position, error) {
	batch := clusterlog.NewBatchID()
	for {
		at, err := s.shared.appender.Append(context.Background(), batch, payload)
		switch {
		case err == nil:
			return at, nil
		case errors.Is(err, clusterlog.ErrBelowFloor):
			s.writer.fatal("what became of an entry cannot be found out, because the cluster's log is past it: %v", err)
			return at, err
		case errors.Is(err, clusterlog.ErrUnknownOutcome):
			time.Sleep(unsettledPause)
		case errors.Is(err, clusterlog.ErrDeposed):
			return at, fmt.Errorf("%w: %w", engine.ErrNotLeader, err)
		default:
			return at, fmt.Errorf("%w: %w", engine.ErrOverloaded, err)
		}
	}
}

// commitShared commits a batch of shared rows, which own extends by rows of this node, together with
// the position.
func (s *Store) commitShared(b *pebble.Batch, own own) error {
	if len(own.purged) > 0 { // no roll-up and no record of another node may make rows of these links again
		s.flusher.turn.Lock()
		defer s.flusher.turn.Unlock()
		for _, id := range own.purged {
			for _, hour := range s.hours.from(s.flusher.mark.Hour) {
				remove(b, row.AppendLinkHourKey(nil, hour, id))
			}
		}
		s.pulls.purged = s.shared.whole.Sequence
	}
	set(b, row.MetaKey(row.MetaLog), appendPosition(nil, s.shared.whole))
	if err := s.writer.commit(b); err != nil {
		return err
	}
	if own.bound > 0 {
		s.ids.Lock()
		s.ids.bound.Store(own.bound)
		s.ids.Unlock()
	}
	s.stamps.raise(own.stamp)
	s.shared.applied.Store(s.shared.whole.Sequence)
	return nil
}

// LogPosition returns the position up to which the store has applied its cluster's log; false: it is
// of no cluster.
func (s *Store) LogPosition() (at clusterlog.Position, ok bool) {
	s.shared.turn <- struct{}{}
	defer func() { <-s.shared.turn }()
	return s.shared.at, s.shared.exists
}

// JoinLog makes the store, which is of no cluster, one whose shared rows are those before the first
// entry of a log. Its outbox is empty: the nodes of a new cluster begin with the same tallies. It must
// not be in use.
func (s *Store) JoinLog(at clusterlog.Position) error {
	if s.shared.exists {
		return errors.New("storage: the store is of a cluster already")
	}
	b := s.db.NewBatch()
	defer b.Close()
	set(b, row.MetaKey(row.MetaLog), appendPosition(nil, at))
	outbox := newOutbox()
	set(b, row.MetaKey(row.MetaOutbox), row.AppendOutboxState(nil, outbox))
	if err := s.sync(b, "storage: joining a cluster"); err != nil {
		return err
	}
	s.shared.exists, s.shared.at, s.shared.whole = true, at, at
	s.shared.applied.Store(at.Sequence)
	s.outbox.set(outbox)
	s.pulls.purged = at.Sequence
	return nil
}

// LeaveLog makes the store one of no cluster again, with all rows that it has. It must not be in use.
func (s *Store) LeaveLog() error {
	b := s.db.NewBatch()
	defer b.Close()
	remove(b, row.MetaKey(row.MetaLog))
	leaveOutbox(b)
	if err := s.sync(b, "storage: leaving the cluster"); err != nil {
		return err
	}
	s.shared.exists = false
	s.outbox.id.Store(nil)
	s.outbox.oldestMs.Store(0)
	s.outbox.bytes.Store(0)
	return nil
}

// Lead lets the store write shared rows, by an appender. Everything before must have been applied.
func (s *Store) Lead(a Appender) {
	s.shared.turn <- struct{}{}
	defer func() { <-s.shared.turn }()
	s.shared.appender, s.shared.parts = a, nil
}

// StopLeading refuses shared rows from now on. It waits for a commit under way, so when it returns,
// each batch is in the log and applied, or never will be.
func (s *Store) StopLeading() {
	s.shared.turn <- struct{}{}
	defer func() { <-s.shared.turn }()
	s.shared.appender = nil
}

// readLog reads the position in the cluster's log, and what depends on it.
func (s *Store) readLog() error {
	s.shared.turn = make(chan struct{}, 1)
	v, err := s.get(row.MetaKey(row.MetaLog))
	if err != nil || v == nil {
		return err
	}
	at, err := decodePosition(v)
	s.shared.exists, s.shared.at, s.shared.whole = true, at, at
	s.shared.applied.Store(at.Sequence)
	s.pulls.purged = at.Sequence // what was purged before this start is not known
	return errors.Join(err, s.startOutbox())
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

func appendPosition(dst []byte, p clusterlog.Position) []byte {
	return row.AppendLogPosition(dst, row.LogPosition{Sequence: p.Sequence, Epoch: p.Epoch, Hash: p.Hash})
}

func decodePosition(v []byte) (clusterlog.Position, error) {
	p, err := row.DecodeLogPosition(v)
	return clusterlog.Position{Sequence: p.Sequence, Epoch: p.Epoch, Hash: p.Hash}, err
}

// AppliedSequence returns the sequence of the last entry of the cluster's log whose rows are committed.
func (s *Store) AppliedSequence() uint64 { return s.shared.applied.Load() }

// SharedHash returns a hash of all shared rows but tallies. It is equal on all nodes that have applied
// the same entries. It reads all of them.
func (s *Store) SharedHash() (sum [sha256.Size]byte, err error) {
	snapshot := s.db.NewSnapshot()
	defer func() { err = errors.Join(err, snapshot.Close()) }()
	it, err := snapshot.NewIter(nil)
	if err != nil {
		return sum, fmt.Errorf("storage: %w", err)
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	h, length := sha256.New(), make([]byte, 0, 8)
	for valid := it.First(); valid; valid = it.Next() {
		key := it.Key()
		if !row.Shared(key) || key[0] == row.TableLinkLives || key[0] == row.TableLinkDays {
			continue
		}
		value, err := it.ValueAndErr()
		if err != nil {
			return sum, fmt.Errorf("storage: %w", err)
		}
		length = binary.BigEndian.AppendUint32(length[:0], uint32(len(key)))
		length = binary.BigEndian.AppendUint32(length, uint32(len(value)))
		h.Write(length)
		h.Write(key)
		h.Write(value)
	}
	return [sha256.Size]byte(h.Sum(nil)), it.Error()
}
