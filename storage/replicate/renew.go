package replicate

import (
	"crypto/rand"
	"errors"
	"fmt"
	"math"

	"github.com/cockroachdb/pebble/v2"

	"shunt/storage/kv"
	"shunt/storage/row"
)

// newOutbox returns the state of an outbox that nobody has pulled from.
func newOutbox() row.OutboxState {
	s := row.OutboxState{First: 1, Next: 1}
	rand.Read(s.ID[:])
	return s
}

// renewOutbox adds rows to b that replace an outbox of the store that r reads by an empty one with an id of its own.
// The store contains everything that the old one ever had, so it counts as pulled up to its end. What the store lacks,
// it lacks still.
func renewOutbox(r pebble.Reader, b *pebble.Batch, old row.OutboxState) (renewed row.OutboxState, err error) {
	pulled := row.Pulled{Next: old.Next, Last: old.Dropped}
	if old.First < old.Next {
		last, err := kv.Read(r, row.AppendOutboxKey(nil, old.Next-1))
		if err == nil && last == nil {
			err = fmt.Errorf("%w: the last record of the outbox is missing", row.ErrCorrupt)
		}
		if err != nil {
			return renewed, err
		}
		pulled.Last = row.HashRecord(last)
	}
	renewed = newOutbox()
	renewed.LacksHits = old.LacksHits
	keys := row.TableRange(row.TableOutbox)
	kv.Must(b.DeleteRange(keys.Lower, keys.Upper, nil))
	kv.Set(b, row.AppendPulledKey(nil, old.ID), row.AppendPulled(nil, pulled))
	kv.Set(b, row.MetaKey(row.MetaOutbox), row.AppendOutboxState(nil, renewed))
	return renewed, nil
}

// RenewOutbox gives a store that is a copy of another node's an outbox of its own, and forgets what waits in the old
// one: both would put different records at the same positions. What the other node counts after the copy was made is
// pulled from its outbox, like anybody's. Restore does the same by itself.
//
// A copy that replaces its own original, which is lost, lacks what that has counted since. The others
// may have pulled it, but an outbox has only what its own node has counted. A copy of another node,
// made later, has it.
func (s *Rows) RenewOutbox() error { return s.RenewOutboxFrom(math.MaxUint64) }

// maxMovedBytes bounds the records that RenewOutboxFrom moves.
const maxMovedBytes = 64 << 20

// RenewOutboxFrom is RenewOutbox, but for the records from a position on: they are the first of the new outbox. It is
// an error, and changes nothing, if these have more than 64 MiB.
func (s *Rows) RenewOutboxFrom(first uint64) error {
	s.hits.Turn().Lock()
	defer s.hits.Turn().Unlock()
	o := &s.outbox
	if o.id.Load() == nil {
		return errors.New("storage: the store is of no cluster")
	}
	b := s.db.NewBatch()
	defer b.Close()
	renewed, err := renewOutbox(s.db, b, o.state)
	var records [][]byte
	if err == nil {
		records, err = s.madeAgain(first)
	}
	if err != nil {
		return fmt.Errorf("storage: renewing the outbox: %w", err)
	}
	return s.beginWith(b, renewed, records)
}

// madeAgain returns the records of the outbox from a position on as they are at the beginning of another one.
func (s *Rows) madeAgain(first uint64) (records [][]byte, err error) {
	state, made, bytes := s.outbox.state, row.OutboxRecord{}, 0
	err = kv.Each(s.db, outboxRange(max(state.First, min(first, state.Next)), state.Next), func(_, value []byte) (bool, error) {
		if bytes += len(value); bytes > maxMovedBytes {
			return false, fmt.Errorf("records of more than %d bytes", maxMovedBytes)
		}
		rows, head, err := row.ReadOutbox(value)
		if err != nil {
			return false, err
		}
		head.Position = uint64(len(records)) + 1
		made.Begin(head)
		for rows.Next() {
			made.Add(rows.Row())
		}
		records = append(records, append([]byte{}, made.End()...))
		return rows.Err() == nil, rows.Err()
	})
	return records, err
}

// beginWith commits b with the first records of an outbox that is empty.
func (s *Rows) beginWith(b *pebble.Batch, state row.OutboxState, records [][]byte) error {
	oldestMs := int64(0)
	for i, record := range records {
		kv.Set(b, row.AppendOutboxKey(nil, state.Next), record)
		state.Next, state.Bytes = state.Next+1, state.Bytes+uint64(len(record))
		if i > 0 {
			continue
		}
		var err error
		if oldestMs, err = madeMs(record); err != nil {
			return err
		}
	}
	kv.Set(b, row.MetaKey(row.MetaOutbox), row.AppendOutboxState(nil, state))
	if err := s.writer.Sync(b, "storage: beginning an outbox"); err != nil {
		return err
	}
	s.outbox.oldestMs.Store(oldestMs)
	s.outbox.set(state)
	return nil
}

// leaveOutbox adds rows to b that remove the outbox and all positions in others.
func leaveOutbox(b *pebble.Batch) {
	for _, table := range []byte{row.TableOutbox, row.TablePulled} {
		keys := row.TableRange(table)
		kv.Must(b.DeleteRange(keys.Lower, keys.Upper, nil))
	}
	kv.Remove(b, row.MetaKey(row.MetaOutbox))
}
