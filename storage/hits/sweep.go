package hits

import (
	"bytes"
	"errors"
	"math"

	"github.com/cockroachdb/pebble/v2"

	"shunt/storage/kv"
	"shunt/storage/row"
)

// SweepIDs is the number of links, owners or deletions after which a chunk of a sweep ends: some 20
// ms and an fsync.
const SweepIDs = 4096

// sweepDays deletes one chunk of the day rows before firstDay, unless they are swept already. A
// sweep under way ends before the next one begins, even if fewer days are to be deleted by then:
// Kept no longer promises any of those days.
func (h *Hits) sweepDays(firstDay uint32) (more bool, err error) {
	w := h.flusher.sweep
	switch {
	case firstDay == 0, w.Stage == row.StageDone && firstDay <= w.FirstDay:
		return false, nil
	case w.Stage == row.StageDone:
		w = row.Sweep{FirstDay: firstDay}
	}
	b := h.db.NewBatch()
	defer b.Close()
	if w, err = h.sweepChunk(b, w); err != nil {
		return false, err
	}
	kv.Set(b, row.MetaKey(row.MetaSweep), row.AppendSweep(nil, w))
	h.firstDay.Store(max(h.firstDay.Load(), w.FirstDay)) // first, so that no reader takes deleted rows for zeros
	if err := h.writer.Sync(b, "committing a chunk"); err != nil {
		return false, err
	}
	h.flusher.sweep = w
	return true, nil
}

// sweepChunk adds the deletions of a chunk that begins at w to b, and returns the mark after it. It
// skips from id to id. Every day one row of an id becomes too old, and is deleted by its key, since
// a range deletion would cost every reader a range tombstone. Range deletions are for ids that have
// several such rows, when fewer days are kept than before.
func (h *Hits) sweepChunk(b *pebble.Batch, w row.Sweep) (_ row.Sweep, err error) {
	table := byte(row.TableLinkDays)
	if w.Stage == row.StageOwners {
		table = row.TableOwnerDays
	}
	it, err := h.db.NewIter(&pebble.IterOptions{
		LowerBound: row.AppendDayKey(nil, table, w.Next, 0), UpperBound: row.TableRange(table).Upper,
	})
	if err != nil {
		return w, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	valid := it.First()
	for range SweepIDs {
		if !valid {
			break
		}
		id, err := sweepID(b, it, w.FirstDay)
		if err != nil {
			return w, err
		}
		if id == lastID(table) {
			return w.NextStage(), it.Error()
		}
		w.Next = id + 1
		valid = it.SeekGE(row.AppendDayKey(nil, table, w.Next, 0))
	}
	if !valid {
		w = w.NextStage()
	}
	return w, it.Error()
}

// sweepID deletes the rows before firstDay of one id, at whose first row the iterator is, and
// returns the id.
func sweepID(b *pebble.Batch, it *pebble.Iterator, firstDay uint32) (id uint64, err error) {
	id, day, err := row.SplitDayKey(it.Key())
	if err != nil || day >= firstDay {
		return id, err
	}
	key := bytes.Clone(it.Key())
	if it.Next() {
		if next, day, err := row.SplitDayKey(it.Key()); err != nil {
			return id, err
		} else if next == id && day < firstDay {
			kv.Must(b.DeleteRange(key, row.AppendDayKey(nil, key[0], id, firstDay), nil))
			return id, nil
		}
	}
	if err := it.Error(); err != nil {
		return id, err
	}
	kv.Remove(b, key)
	return id, nil
}

func lastID(table byte) uint64 {
	if table == row.TableLinkDays {
		return math.MaxUint64
	}
	return math.MaxUint32
}
