package replicate

import (
	"errors"
	"fmt"

	"shunt/storage/kv"
	"shunt/storage/row"
)

// maxOutboxBytes is the size of an outbox from which on its records lack breakdowns, and, from 1.25 times of it on,
// visitors. It grows while another node does not pull from it.
const maxOutboxBytes = 1 << 30

// The errors of Outbox that callers distinguish.
var (
	// ErrOutboxDropped: the records after a position are not kept any more.
	ErrOutboxDropped = errors.New("these records of the outbox are dropped")
	// ErrOutboxUnknown: the outbox has never reached a position, or has another record there.
	ErrOutboxUnknown = errors.New("the outbox has no such record")
)

// RecordHash is the hash of a record.
type RecordHash = row.RecordHash

// OutboxID returns the id of the outbox; ok is false if the store is of no cluster.
func (s *Rows) OutboxID() (id [16]byte, ok bool) {
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
func (s *Rows) Outbox(after uint64, maxBytes int) (p Posted, err error) {
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
func (s *Rows) readOutbox(p *Posted, next uint64, maxBytes int) (err error) {
	position, bytes := p.First, 0
	err = kv.Each(s.db, outboxRange(p.First, next), func(key, value []byte) (bool, error) {
		if at, err := row.SplitOutboxKey(key); err != nil || at != position {
			return false, errors.Join(err, ErrOutboxDropped) // meanwhile
		}
		if bytes += len(value); len(p.Records) > 0 && bytes > maxBytes {
			return false, nil
		}
		p.Records = append(p.Records, append([]byte{}, value...))
		position++
		return true, nil
	})
	if err != nil {
		return err
	}
	if p.More = position < next; p.More && len(p.Records) == 0 {
		return ErrOutboxDropped // meanwhile
	}
	return nil
}

// RecordHash returns the hash of the record at a position, also of the last one that was dropped, or the zero hash for
// position 0. Any goroutine may call it, but not while the outbox is renewed. Errors: ErrOutboxDropped,
// ErrOutboxUnknown.
func (s *Rows) RecordHash(position uint64) (h RecordHash, err error) {
	o := &s.outbox
	if o.id.Load() == nil {
		return h, errors.New("storage: the store is of no cluster")
	}
	next, dropped, hashed := o.next.Load(), o.dropped.Load(), o.hashed.Load()
	switch {
	case position >= next:
		return h, fmt.Errorf("storage: record %d of %d: %w", position, next-1, ErrOutboxUnknown)
	case position == dropped.position:
		return dropped.hash, nil
	case hashed != nil && position == hashed.position:
		return hashed.hash, nil
	}
	v, err := s.writer.Get(row.AppendOutboxKey(nil, position))
	if err == nil && v == nil {
		err = ErrOutboxDropped
	}
	if err != nil {
		return h, fmt.Errorf("storage: record %d: %w", position, err)
	}
	h = row.HashRecord(v)
	o.hashed.Store(&placedHash{position, h})
	return h, nil
}

// MadeAfter returns the position of the first record of the outbox that was made after a time in Unix ms, or that of
// the next record if none was. It reads these records.
func (s *Rows) MadeAfter(ms int64) (position uint64, err error) {
	o := &s.outbox
	position = o.next.Load()
	err = kv.Each(s.db, outboxRange(o.first.Load(), position), func(key, value []byte) (bool, error) {
		made, err := madeMs(value)
		if err == nil && made > ms {
			position, err = row.SplitOutboxKey(key)
			return false, err
		}
		return err == nil, err
	})
	if err != nil {
		return 0, fmt.Errorf("storage: looking for records of the outbox: %w", err)
	}
	return position, nil
}

// LacksHits reports whether this store lacks hits that other nodes have: see NoteLacksHits.
func (s *Rows) LacksHits() bool { return s.outbox.lacksHits.Load() }

// NoteLacksHits notes, durably, that the tallies of this store lack hits that other nodes have, because its folder was
// rolled back. Only a copy of another node's data has them (TakeOver).
func (s *Rows) NoteLacksHits() error {
	s.hits.Turn().Lock()
	defer s.hits.Turn().Unlock()
	o := &s.outbox
	if o.id.Load() == nil || o.state.LacksHits {
		return nil
	}
	after := o.state
	after.LacksHits = true
	b := s.db.NewBatch()
	defer b.Close()
	kv.Set(b, row.MetaKey(row.MetaOutbox), row.AppendOutboxState(nil, after))
	if err := s.writer.Sync(b, "storage: noting that hits are missing"); err != nil {
		return err
	}
	o.set(after)
	return nil
}

// outboxRange returns the keys of records from a position to before another.
func outboxRange(first, next uint64) row.Range {
	return row.Range{Lower: row.AppendOutboxKey(nil, first), Upper: row.AppendOutboxKey(nil, next)}
}

// WaitingHits returns how many hits are in the records of the outbox after a position. It reads these records.
func (s *Rows) WaitingHits(after uint64) (hits uint64, err error) {
	o := &s.outbox
	err = kv.Each(s.db, outboxRange(max(after+1, o.first.Load()), o.next.Load()), func(_, value []byte) (bool, error) {
		rows, _, err := row.ReadOutbox(value)
		if err != nil {
			return false, err
		}
		for rows.Next() {
			r := rows.Row()
			if r.Table != row.TableOwnerHours { // each hit is in the row of its link, too
				continue
			}
			n, err := row.DecodeTallyHits(r.Tally)
			if err != nil {
				return false, err
			}
			hits += n
		}
		return true, rows.Err()
	})
	if err != nil {
		return 0, fmt.Errorf("storage: counting the hits of the outbox: %w", err)
	}
	return hits, nil
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
func (s *Rows) DropOutbox(through uint64) (more bool, err error) {
	s.hits.Turn().Lock()
	defer s.hits.Turn().Unlock()
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
	if keys := outboxRange(o.state.First, after.First); after.First-o.state.First > maxDroppedByKey {
		kv.Must(b.DeleteRange(keys.Lower, keys.Upper, nil))
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
func (s *Rows) withoutRecords(through uint64) (after row.OutboxState, oldestMs int64, err error) {
	after = s.outbox.state
	bytes, left, last := 0, false, []byte(nil)
	err = kv.Each(s.db, outboxRange(after.First, after.Next), func(_, value []byte) (_ bool, err error) {
		if left = after.First > through || bytes >= maxDroppedBytes; left {
			oldestMs, err = madeMs(value)
			return false, err
		}
		bytes += len(value)
		last = append(last[:0], value...)
		after.Bytes -= uint64(len(value))
		after.First++
		return true, nil
	})
	if last != nil {
		after.Dropped = row.HashRecord(last)
	}
	if err != nil || left {
		return after, oldestMs, err
	}
	if after.First != after.Next || after.Bytes != 0 {
		return after, 0, fmt.Errorf("%w: the outbox ends before %d, with %d bytes left, and not before %d", row.ErrCorrupt, after.First, after.Bytes, after.Next)
	}
	return after, 0, nil
}

func madeMs(record []byte) (int64, error) {
	_, h, err := row.ReadOutbox(record)
	return h.MadeMs, err
}

// startOutbox reads the state of the outbox, in a cluster.
func (s *Rows) startOutbox() error {
	o := &s.outbox
	v, err := s.writer.Get(row.MetaKey(row.MetaOutbox))
	switch {
	case err != nil:
		return err
	case v == nil:
		return fmt.Errorf("%w: a store of a cluster without an outbox", row.ErrCorrupt)
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
