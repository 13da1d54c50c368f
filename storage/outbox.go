package storage

import (
	"crypto/rand"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"shunt/engine"
	"shunt/storage/kv"
	"shunt/storage/row"
)

// In a cluster each node counts its own redirects, and all are to show the same figures. So each flush
// leaves its rows in the outbox as well, in the same batch. Other nodes pull them (pulled.go), each at
// its own pace, by positions that have no gap. The invariants:
//
//  1. A record is in the outbox if and only if its rows are in this store's tallies, except in that of
//     an edge, which has no tallies.
//  2. A record is given away only when it is durable. Otherwise a crash could take it back, and the
//     flush after the restart would put other rows at its position.
//  3. A position has one record for ever, in one outbox. So a copy of a store has another outbox: see
//     RenewOutbox.
//
// Rows of owners come before those of links. So a node that has applied only a part of a flush never
// has more hits of links than of owners in an hour, which a check relies on.
//
// Rejected: to give away hour rows as they are, which has no exact answer to what was merged before;
// and hits through the cluster's log, whose leader would take the writes of all nodes, and without
// which no node could flush.

// DefaultMaxOutboxBytes is the size of an outbox from which on its records are reduced.
const DefaultMaxOutboxBytes = 1 << 30

// The errors of Outbox that callers distinguish.
var (
	// ErrOutboxDropped: the records after a position are not kept any more.
	ErrOutboxDropped = errors.New("these records of the outbox are dropped")
	// ErrOutboxUnknown: the outbox has never reached a position.
	ErrOutboxUnknown = errors.New("the outbox has no such position")
)

// outbox is the state of a store's outbox. The fields before the atomics are of the one who has
// hits.Turn.
type outbox struct {
	state    row.OutboxState // as last committed
	maxBytes uint64
	posting  posting
	value    []byte

	id       atomic.Pointer[[16]byte] // nil: there is no outbox
	first    atomic.Uint64            // of the committed state
	next     atomic.Uint64            // of the committed state: records before it are durable
	bytes    atomic.Uint64
	oldestMs atomic.Int64 // when the first record was made; 0: there is none

	withoutBreakdowns, withoutVisitors atomic.Uint64 // rows
}

// posting is what one flush adds to the outbox.
type posting struct {
	batch  *pebble.Batch
	head   row.OutboxHead // of the record being made
	record row.OutboxRecord
	bytes  uint64 // of the outbox with the records before that
	after  row.OutboxState

	withoutBreakdowns, withoutVisitors uint64
}

// poster puts what a flush writes into the outbox, in a cluster. It implements hits.Poster.
type poster struct{ *Store }

// Begin implements hits.Poster. An edge keeps no tallies: see shared.go.
func (s *poster) Begin(b *pebble.Batch) (keep bool) {
	o := &s.outbox
	p := &o.posting
	*p = posting{batch: b, record: p.record, bytes: o.state.Bytes}
	p.head = row.OutboxHead{Position: o.state.Next, MadeMs: max(time.Now().UnixMilli(), 0), Sequence: s.shared.applied.Load()}
	p.record.Begin(p.head)
	return !s.shared.edge
}

// Post implements hits.Poster.
func (s *poster) Post(r row.OutboxRow, t *engine.Tally, whole []byte) {
	s.post(r, t, whole)
	if r.Table == row.TableLinkHours && t.Hits > 0 {
		s.capUses.count(r.ID, t.Hits)
	}
}

// End implements hits.Poster.
func (s *poster) End() {
	s.capUses.putFlushed(s.outbox.posting.batch)
	s.endPosting()
}

// Ended implements hits.Poster.
func (s *poster) Ended(durable bool) {
	s.capUses.ended(durable)
	if durable {
		s.outbox.posted()
	}
}

// post adds a row, whose tally t is encoded in whole, to the outbox. A row that the outbox has no room
// for is reduced there. Its counts are always whole: totals must be equal on all nodes.
func (s *poster) post(r row.OutboxRow, t *engine.Tally, whole []byte) {
	o := &s.outbox
	p := &o.posting
	r.Tally = whole
	if size := p.bytes + uint64(p.record.SizeBytes()); size > o.maxBytes {
		r.Tally = o.reduce(t, size > o.maxBytes+o.maxBytes/4)
	}
	if !p.record.Fits(len(r.Tally)) {
		s.endRecord()
		p.record.Begin(p.head)
	}
	p.record.Add(r)
}

// reduce encodes t without breakdowns, or without visitors too.
func (o *outbox) reduce(t *engine.Tally, visitorsToo bool) []byte {
	p, reduced := &o.posting, *t
	if !t.Dimensions.Empty() {
		p.withoutBreakdowns++
		reduced.Dimensions = engine.Dimensions{}
	}
	if visitorsToo && (t.Visitors.Dense() || t.Visitors.Count() > 0) {
		p.withoutVisitors++
		reduced.Visitors = engine.Sketch{}
	}
	o.value = row.AppendTally(o.value[:0], &reduced)
	return o.value
}

// endRecord puts the record being made into the batch, unless it is empty.
func (s *poster) endRecord() {
	p := &s.outbox.posting
	if p.record.Rows() == 0 {
		return
	}
	record := p.record.End()
	var key [1 + 8]byte
	kv.Set(p.batch, row.AppendOutboxKey(key[:0], p.head.Position), record)
	p.bytes += uint64(len(record))
	p.head.Position++
}

// endPosting puts the last record and the new state of the outbox into the batch.
func (s *poster) endPosting() {
	o := &s.outbox
	p := &o.posting
	s.endRecord()
	p.after = o.state
	if p.after.Next, p.after.Bytes = p.head.Position, p.bytes; p.after != o.state {
		kv.Set(p.batch, row.MetaKey(row.MetaOutbox), row.AppendOutboxState(nil, p.after))
	}
}

// posted notes that the flush is durable.
func (o *outbox) posted() {
	after := o.posting.after
	if after == o.state {
		return
	}
	if o.state.First == o.state.Next {
		o.oldestMs.Store(o.posting.head.MadeMs)
	}
	o.withoutBreakdowns.Add(o.posting.withoutBreakdowns)
	o.withoutVisitors.Add(o.posting.withoutVisitors)
	o.set(after)
}

// set makes a committed state known.
func (o *outbox) set(s row.OutboxState) {
	o.state = s
	o.first.Store(s.First)
	o.bytes.Store(s.Bytes)
	o.next.Store(s.Next)
	o.id.Store(&s.ID)
}

// OutboxID returns the id of the outbox; ok is false if the store is of no cluster.
func (s *Store) OutboxID() (id [16]byte, ok bool) {
	p := s.outbox.id.Load()
	if p == nil {
		return id, false
	}
	return *p, true
}

// Posted is a part of an outbox, for another node.
type Posted struct {
	ID      [16]byte // of the outbox
	First   uint64   // position of the first record
	Records [][]byte // with successive positions; they belong to the caller
	More    bool     // there are later records
}

// Outbox returns the records after a position, of maxBytes at most, but at least one if there is any.
// All of them are durable. Any goroutine may call it. Errors: ErrOutboxDropped, ErrOutboxUnknown.
func (s *Store) Outbox(after uint64, maxBytes int) (p Posted, err error) {
	o := &s.outbox
	id := o.id.Load()
	if id == nil {
		return p, errors.New("storage: the store is of no cluster")
	}
	next := o.next.Load()
	p = Posted{ID: *id, First: after + 1}
	switch {
	case after >= next:
		return p, fmt.Errorf("storage: after %d of %d: %w", after, next-1, ErrOutboxUnknown)
	case after+1 < o.first.Load():
		return p, fmt.Errorf("storage: after %d: %w", after, ErrOutboxDropped)
	}
	if err = s.readOutbox(&p, next, maxBytes); err != nil {
		return Posted{}, fmt.Errorf("storage: reading the outbox: %w", err)
	}
	return p, nil
}

// readOutbox reads records from p.First to before next.
func (s *Store) readOutbox(p *Posted, next uint64, maxBytes int) (err error) {
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: row.AppendOutboxKey(nil, p.First), UpperBound: row.AppendOutboxKey(nil, next)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	position, bytes := p.First, 0
	for valid := it.First(); valid; valid = it.Next() {
		value, err := it.ValueAndErr()
		if err != nil {
			return err
		}
		if at, err := row.SplitOutboxKey(it.Key()); err != nil || at != position {
			return errors.Join(err, ErrOutboxDropped) // meanwhile
		}
		if bytes += len(value); len(p.Records) > 0 && bytes > maxBytes {
			break
		}
		p.Records = append(p.Records, append([]byte{}, value...))
		position++
	}
	if err := it.Error(); err != nil {
		return err
	}
	if p.More = position < next; p.More && len(p.Records) == 0 {
		return ErrOutboxDropped // meanwhile
	}
	return nil
}

const (
	// maxDroppedBytes bounds the records that one call of DropOutbox reads, to learn their sizes: it keeps
	// flushes waiting.
	maxDroppedBytes = 16 << 20

	// maxDroppedByKey is the largest number of records that are deleted by their keys. More than that are
	// deleted by one range deletion: see maxDaysByKey.
	maxDroppedByKey = 16
)

// DropOutbox deletes the records through a position, which all other nodes have applied: the oldest
// 16 MiB of them. more reports that some are left for the next call.
func (s *Store) DropOutbox(through uint64) (more bool, err error) {
	s.Turn().Lock()
	defer s.Turn().Unlock()
	o := &s.outbox
	if o.id.Load() == nil || through < o.state.First || o.state.First == o.state.Next {
		return false, nil
	}
	through = min(through, o.state.Next-1)
	after, oldestMs, err := s.withoutRecords(through)
	if err != nil {
		return false, fmt.Errorf("storage: dropping records of the outbox: %w", err)
	}
	b := s.db.NewBatch()
	defer b.Close()
	if after.First-o.state.First > maxDroppedByKey {
		kv.Must(b.DeleteRange(row.AppendOutboxKey(nil, o.state.First), row.AppendOutboxKey(nil, after.First), nil))
	} else {
		for position := o.state.First; position < after.First; position++ {
			kv.Remove(b, row.AppendOutboxKey(nil, position))
		}
	}
	kv.Set(b, row.MetaKey(row.MetaOutbox), row.AppendOutboxState(nil, after))
	if err := s.writer.Sync(b, "storage: dropping records of the outbox"); err != nil {
		return false, err
	}
	o.oldestMs.Store(oldestMs)
	o.set(after)
	return after.First <= through, nil
}

// withoutRecords returns the state of the outbox without its oldest records through a position, and when
// the oldest of the others was made; 0: there are none.
func (s *Store) withoutRecords(through uint64) (after row.OutboxState, oldestMs int64, err error) {
	after = s.outbox.state
	it, err := s.db.NewIter(&pebble.IterOptions{
		LowerBound: row.AppendOutboxKey(nil, after.First), UpperBound: row.AppendOutboxKey(nil, after.Next),
	})
	if err != nil {
		return after, 0, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	bytes := 0
	for valid := it.First(); valid; valid = it.Next() {
		value, err := it.ValueAndErr()
		if err != nil {
			return after, 0, err
		}
		if after.First > through || bytes >= maxDroppedBytes {
			oldestMs, err = madeMs(value)
			return after, oldestMs, err
		}
		bytes += len(value)
		after.Bytes -= uint64(len(value))
		after.First++
	}
	if err := it.Error(); err != nil {
		return after, 0, err
	}
	if after.First != after.Next || after.Bytes != 0 {
		return after, 0, fmt.Errorf("%w: the outbox ends before %d, with %d bytes left, and not before %d", ErrCorrupt, after.First, after.Bytes, after.Next)
	}
	return after, 0, nil
}

func madeMs(record []byte) (int64, error) {
	_, h, err := row.ReadOutbox(record)
	return h.MadeMs, err
}

// startOutbox reads the state of the outbox, in a cluster.
func (s *Store) startOutbox() error {
	o := &s.outbox
	v, err := s.writer.Get(row.MetaKey(row.MetaOutbox))
	switch {
	case err != nil:
		return err
	case v == nil:
		return fmt.Errorf("%w: a store of a cluster without an outbox", ErrCorrupt)
	}
	state, err := row.DecodeOutboxState(v)
	if err != nil {
		return err
	}
	o.set(state)
	if state.First == state.Next {
		return nil
	}
	if v, err = s.writer.Get(row.AppendOutboxKey(nil, state.First)); err != nil {
		return err
	}
	made, err := madeMs(v)
	o.oldestMs.Store(made)
	return err
}

// newOutbox returns the state of an outbox that nobody has pulled from.
func newOutbox() row.OutboxState {
	s := row.OutboxState{First: 1, Next: 1}
	rand.Read(s.ID[:])
	return s
}

// renewOutbox adds rows to b that replace an outbox by an empty one with an id of its own. The store
// contains everything that the old one ever had, so it counts as pulled up to its end.
func renewOutbox(b *pebble.Batch, old row.OutboxState) (renewed row.OutboxState) {
	renewed = newOutbox()
	keys := row.TableRange(row.TableOutbox)
	kv.Must(b.DeleteRange(keys.Lower, keys.Upper, nil))
	kv.Set(b, row.AppendPulledKey(nil, old.ID), row.AppendPulled(nil, old.Next))
	kv.Set(b, row.MetaKey(row.MetaOutbox), row.AppendOutboxState(nil, renewed))
	uses := row.TableRange(row.TableCapUses) // of the node that was copied
	kv.Must(b.DeleteRange(uses.Lower, uses.Upper, nil))
	return renewed
}

// RenewOutbox gives a store that is a copy of another node's an outbox of its own, before it is used:
// both would put different records at the same positions. What the other node counts after the copy
// was made is pulled from its outbox, like anybody's. Restore does the same by itself.
//
// A copy that replaces its own original, which is lost, lacks what that has counted since. The others
// may have pulled it, but an outbox has only what its own node has counted. A copy of another node,
// made later, has it.
func (s *Store) RenewOutbox() error {
	s.Turn().Lock()
	defer s.Turn().Unlock()
	if s.outbox.id.Load() == nil {
		return errors.New("storage: the store is of no cluster")
	}
	b := s.db.NewBatch()
	defer b.Close()
	renewed := renewOutbox(b, s.outbox.state)
	if err := s.writer.Sync(b, "storage: renewing the outbox"); err != nil {
		return err
	}
	s.outbox.oldestMs.Store(0)
	s.outbox.set(renewed)
	return s.readCaps()
}

// leaveOutbox adds rows to b that remove the outbox and all positions in others.
func leaveOutbox(b *pebble.Batch) {
	for _, table := range []byte{row.TableOutbox, row.TablePulled} {
		keys := row.TableRange(table)
		kv.Must(b.DeleteRange(keys.Lower, keys.Upper, nil))
	}
	kv.Remove(b, row.MetaKey(row.MetaOutbox))
}
