package storage

import (
	"bytes"
	"errors"
	"math"

	"github.com/cockroachdb/pebble/v2"
)

// A chunk of a sweep ends after so many links or owners, or deletions: some 20 ms and an fsync.
const sweepIDs = 4096

// sweepDays deletes one chunk of the day rows before firstDay, if they were not swept already. A sweep that was begun is
// ended before the next one, although fewer days are to go by then: nobody is told that they are whole.
func (s *Store) sweepDays(firstDay uint32) (more bool, err error) {
	w := s.flusher.sweep
	switch {
	case firstDay == 0, w.stage == stageDone && firstDay <= w.firstDay:
		return false, nil
	case w.stage == stageDone:
		w = sweep{firstDay: firstDay}
	}
	b := s.db.NewBatch()
	defer b.Close()
	if w, err = s.sweepChunk(b, w); err != nil {
		return false, err
	}
	set(b, metaKey(metaSweep), appendSweep(nil, w))
	s.firstDay.Store(max(s.firstDay.Load(), w.firstDay)) // first, so that nobody takes what goes for zeros
	if err := s.sync(b, "committing a chunk"); err != nil {
		return false, err
	}
	s.flusher.sweep = w
	return true, nil
}

// sweepChunk puts the deletions of a chunk that begins at w into b, and returns the mark after it. It skips from id to id.
// Every day one row of an id grows too old: that one is deleted by its key. A range deletion for each would cost every
// reader a range tombstone to fragment; they are for ids that have several such rows, when fewer days are kept than before.
func (s *Store) sweepChunk(b *pebble.Batch, w sweep) (_ sweep, err error) {
	table := byte(tableLinkDays)
	if w.stage == stageOwners {
		table = tableOwnerDays
	}
	it, err := s.db.NewIter(&pebble.IterOptions{
		LowerBound: appendDayKey(nil, table, w.next, 0), UpperBound: tableRange(table).upper,
	})
	if err != nil {
		return w, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	valid := it.First()
	for range sweepIDs {
		if !valid {
			break
		}
		id, err := sweepID(b, it, w.firstDay)
		if err != nil {
			return w, err
		}
		if id == lastID(table) {
			return w.nextStage(), it.Error()
		}
		w.next = id + 1
		valid = it.SeekGE(appendDayKey(nil, table, w.next, 0))
	}
	if !valid {
		w = w.nextStage()
	}
	return w, it.Error()
}

// sweepID deletes the rows before firstDay of the id at whose first row the iterator is, and returns the id.
func sweepID(b *pebble.Batch, it *pebble.Iterator, firstDay uint32) (id uint64, err error) {
	id, day, err := splitDayKey(it.Key())
	if err != nil || day >= firstDay {
		return id, err
	}
	key := bytes.Clone(it.Key())
	if it.Next() {
		if next, day, err := splitDayKey(it.Key()); err != nil {
			return id, err
		} else if next == id && day < firstDay {
			must(b.DeleteRange(key, appendDayKey(nil, key[0], id, firstDay), nil))
			return id, nil
		}
	}
	if err := it.Error(); err != nil {
		return id, err
	}
	remove(b, key)
	return id, nil
}

func lastID(table byte) uint64 {
	if table == tableLinkDays {
		return math.MaxUint64
	}
	return math.MaxUint32
}
