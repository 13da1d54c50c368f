package hits

import (
	"fmt"

	"shunt/engine"
	"shunt/storage/kv"
	"shunt/storage/row"
)

const (
	// flushRetainBytes is the largest buffer of a flush that is kept for the next one: that of
	// about a million rows. (Pebble itself keeps the buffer of a batch over half a memtable.)
	flushRetainBytes = 32 << 20
)

// maxFlushBytes bounds a flush. Pebble panics at 4 GiB; 1 GiB holds 30 million rows without
// visitors and breakdowns.
const maxFlushBytes = 1 << 30

// Flush implements engine.Store. It allocates nothing for a row; a row with a few visitors costs
// about 0.2 µs before its commit. A row of an hour that is rolled up is added to its day and its life at
// once.
func (h *Hits) Flush(b engine.FlushBatch) error {
	f := &h.flusher
	f.turn.Lock()
	defer f.turn.Unlock()
	defer f.batch.Reset()
	durable := false
	f.keep, f.postedBytes = true, 0
	if h.poster != nil {
		f.keep = h.poster.Begin(f.batch)
		defer func() { h.poster.Ended(durable) }()
	}
	if err := h.collect(&b); err != nil {
		return fmt.Errorf("storage: flush %d: %w", b.Positions.FlushSeq, err)
	}
	if h.poster != nil {
		h.poster.End()
	}
	f.value = row.AppendPositions(f.value[:0], &b.Positions)
	kv.Set(f.batch, row.MetaKey(row.MetaPositions), f.value)
	if b.Clock != nil {
		kv.Set(f.batch, row.MetaKey(row.MetaClock), row.AppendClock(nil, b.Clock))
	}
	if err := h.writer.Sync(f.batch, "storage: committing a flush"); err != nil {
		return err
	}
	durable = true
	if c := b.Clock; c != nil && len(c.Runs) > 0 {
		h.useClock(c.Runs[len(c.Runs)-1].To)
	}
	return nil
}

// collect adds the rows of b to the batch, and their hours to the set of hours. Owners come first, for the
// outbox.
func (h *Hits) collect(b *engine.FlushBatch) error {
	f := &h.flusher
	f.rows = h.Adder(f.batch)
	if b.Owners != nil {
		err := b.Owners(func(hour uint32, owner uint32, t *engine.Tally) error {
			return h.addFlushed(&row.OutboxRow{Table: row.TableOwnerHours, Hour: hour, ID: uint64(owner)}, t)
		})
		if err != nil {
			return err
		}
	}
	if b.Links == nil {
		return nil
	}
	return b.Links(func(hour uint32, id uint64, t *engine.Tally) error {
		return h.addFlushed(&row.OutboxRow{Table: row.TableLinkHours, Hour: hour, ID: id}, t)
	})
}

// addFlushed adds one row of a link or an owner.
func (h *Hits) addFlushed(r *row.OutboxRow, t *engine.Tally) error {
	f := &h.flusher
	if f.batch.Len()-f.postedBytes > h.MaxFlushBytes { // what is posted has a bound of its own
		return fmt.Errorf("%w: more than %d bytes", engine.ErrFlushTooLarge, h.MaxFlushBytes)
	}
	if err := row.CheckDimensions(t); err != nil {
		return err
	}
	f.value = row.AppendTally(f.value[:0], t)
	if f.keep {
		f.rows.Add(r, f.value)
	}
	if h.poster != nil {
		before := f.batch.Len()
		h.poster.Post(*r, t, f.value)
		f.postedBytes += f.batch.Len() - before
	}
	return nil
}
