package storage

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"shunt/engine"
	"shunt/storage/kv"
	"shunt/storage/row"
)

const (
	// A chunk of roll-up ends after chunkRows rows, or when its batch reaches chunkBytes: dense
	// rows take 16 KB.
	chunkRows  = 4096
	chunkBytes = 4 << 20
)

// Roll-up can wait, and hits and commits of links cannot. So a chunk runs only if what Pebble has
// not done yet is far from the points at which it stalls all writes: l0StopSublevels sublevels of
// L0, and maxQueuedMemTables memtables. Without these bounds, the roll-up of one hour of
// 200,000 hits/s over 10 million links raised L0 from 4 sublevels to 36.
const (
	rollUpL0Sublevels = 12 // compaction begins at half of l0CompactionSublevels
	rollUpMemTables   = 2  // the one that is written to, and one that is being flushed
)

// RollUp implements engine.Store. A chunk is at most 4,096 rows of one table of one hour, about 10
// ms and an fsync; or a chunk of a sweep of days, once all hours are rolled up.
func (s *Store) RollUp(l engine.RollUpLimits) (more bool, err error) {
	if behind(s.db.Metrics(), s.cache.memTableBytes) || s.space.readOnly.Load() {
		return true, engine.ErrBehind
	}
	s.flusher.turn.Lock()
	defer s.flusher.turn.Unlock()
	from := s.flusher.mark
	hour, ok := s.nextOpen()
	if ok && (hour < l.OpenHour || hour == from.Hour && from.Begun()) {
		if from.Hour != hour {
			from = from.At(hour)
		}
		if err := s.rollChunk(from); err != nil {
			return false, fmt.Errorf("storage: rolling up hour %d: %w", hour, err)
		}
		return true, nil
	}
	if err := s.moveMarkBack(l.OpenHour); err != nil {
		return false, fmt.Errorf("storage: moving the roll-up mark back: %w", err)
	}
	if err := s.dropHours(l.FirstHour); err != nil {
		return false, fmt.Errorf("storage: deleting old hour rows: %w", err)
	}
	if more, err = s.sweepDays(l.FirstDay); err != nil {
		return false, fmt.Errorf("storage: deleting old day rows: %w", err)
	}
	return more, nil
}

// behind reports whether Pebble has so much to do that a roll-up must wait.
func behind(m *pebble.Metrics, memTableBytes int64) bool {
	return m.Levels[0].Sublevels > rollUpL0Sublevels || m.MemTable.Size > rollUpMemTables*uint64(memTableBytes)
}

// nextOpen returns the first hour that may have rows which are not rolled up.
func (s *Store) nextOpen() (hour uint32, ok bool) {
	if open := s.flusher.mark.Open(s.hours.from(0)); len(open) > 0 {
		return open[0], true
	}
	return 0, false
}

// moveMarkBack moves the mark back to openHour, which is before it if the clock was ahead while hours were
// rolled up. So hours are rolled up in their time again, instead of each hit at once (mergeLate). What
// was rolled up beyond openHour stays so: see row.Mark.
func (s *Store) moveMarkBack(openHour uint32) error {
	from := s.flusher.mark
	openHour = max(openHour, s.firstHour.Load())
	if openHour >= from.Hour || from.Begun() {
		return nil
	}
	passed := s.hours.from(openHour)
	to := row.Mark{Hour: openHour, Ahead: slices.DeleteFunc(slices.Clone(passed), func(hour uint32) bool { return !from.Passed(row.StageLinks, hour, 0) })}
	if len(to.Ahead) > row.MaxAhead {
		return nil // no clock is wrong so often
	}
	b := s.db.NewBatch()
	defer b.Close()
	return s.commitMark(b, to)
}

// commitMark commits b together with a new mark.
func (s *Store) commitMark(b *pebble.Batch, to row.Mark) error {
	kv.Set(b, row.MetaKey(row.MetaMark), row.AppendMark(nil, &to))
	if err := s.writer.Sync(b, "committing a chunk"); err != nil {
		return err
	}
	s.flusher.mark = to
	s.flusher.markHour.Store(to.Hour)
	return nil
}

// Kept implements engine.Store.
func (s *Store) Kept() (firstHour, firstDay uint32) { return s.firstHour.Load(), s.firstDay.Load() }

// readKept reads the values that Kept returns.
func (s *Store) readKept() error {
	v, err := kv.Read(s.db, row.MetaKey(row.MetaFirstHour))
	if err != nil {
		return err
	}
	if v != nil {
		var hour [4]byte
		if err := kv.DecodeFixed(hour[:], v, "first whole hour"); err != nil {
			return err
		}
		s.firstHour.Store(binary.BigEndian.Uint32(hour[:]))
	}
	s.firstDay.Store(s.flusher.sweep.FirstDay)
	return nil
}

// LowerKept implements engine.Store.
func (s *Store) LowerKept(firstHour, firstDay uint32) error {
	s.firstHour.Store(min(s.firstHour.Load(), firstHour))
	s.firstDay.Store(min(s.firstDay.Load(), firstDay))
	if s.reads != nil {
		return nil
	}
	w := s.flusher.sweep
	w.FirstDay = s.firstDay.Load()
	b := s.db.NewBatch()
	defer b.Close()
	kv.Set(b, row.MetaKey(row.MetaFirstHour), binary.BigEndian.AppendUint32(nil, s.firstHour.Load()))
	kv.Set(b, row.MetaKey(row.MetaSweep), row.AppendSweep(nil, w))
	if err := s.writer.Sync(b, "noting what is kept"); err != nil {
		return err
	}
	s.flusher.sweep = w
	return nil
}

// rollChunk rolls up one chunk that begins at from, in one batch with the new mark.
func (s *Store) rollChunk(from row.Mark) error {
	b := s.db.NewBatch()
	defer b.Close()
	to, rows, err := s.rollRows(b, from)
	if err != nil {
		return err
	}
	if err := s.commitMark(b, to); err != nil {
		return err
	}
	s.flusher.rolledUp.Add(rows)
	return nil
}

// rollRows adds the rows of a chunk to b as merge operands of day and life rows. It returns the
// mark after the chunk and the number of its rows.
func (s *Store) rollRows(b *pebble.Batch, from row.Mark) (to row.Mark, rows uint64, err error) {
	table, add := byte(row.TableLinkHours), rollLink
	if from.Stage == row.StageOwners {
		table, add = row.TableOwnerHours, rollOwner
	}
	keys := row.PrefixRange(row.AppendHourPrefix(nil, table, from.Hour))
	keys.Lower = row.AppendSuffix(bytes.Clone(keys.Lower), table, from.Next)
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: keys.Lower, UpperBound: keys.Upper})
	if err != nil {
		return from, 0, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for valid := it.First(); valid; valid = it.Next() {
		suffix, err := row.HourSuffix(it.Key())
		if err != nil {
			return from, 0, err
		}
		if rows == chunkRows || b.Len() >= chunkBytes {
			to := from
			to.Next = suffix
			return to, rows, nil
		}
		if err := row.CheckTally(it.Value()); err != nil {
			return from, 0, fmt.Errorf("row %x: %w", it.Key(), err)
		}
		add(b, from.Hour/row.HoursPerDay, suffix, it.Value())
		rows++
	}
	return from.NextStage(), rows, it.Error()
}

func rollLink(b *pebble.Batch, day uint32, id uint64, value []byte) {
	var key [row.MaxTallyKeyBytes]byte
	kv.Merge(b, row.AppendLinkDayKey(key[:0], id, day), value)
	kv.Merge(b, row.AppendLinkLifeKey(key[:0], id), value)
}

func rollOwner(b *pebble.Batch, day uint32, owner uint64, value []byte) {
	var key [row.MaxTallyKeyBytes]byte
	kv.Merge(b, row.AppendOwnerDayKey(key[:0], uint32(owner), day), value)
}

// mergeLate adds a row of an hour that roll-up has passed to what roll-up would have added it to. It
// reports whether rows of the hour are kept, so that the row belongs there, too.
func (s *Store) mergeLate(b *pebble.Batch, stage row.Stage, hour uint32, id uint64, value []byte) (kept bool) {
	var key [row.MaxTallyKeyBytes]byte
	if day := hour / row.HoursPerDay; day >= s.firstDay.Load() { // those before it are deleted
		table := byte(row.TableLinkDays)
		if stage == row.StageOwners {
			table = row.TableOwnerDays
		}
		kv.Merge(b, row.AppendDayKey(key[:0], table, id, day), value)
	}
	if stage == row.StageLinks {
		kv.Merge(b, row.AppendLinkLifeKey(key[:0], id), value)
	}
	return hour >= s.firstHour.Load()
}

// dropHours deletes the rows of rolled-up hours before firstHour, by one range per table.
func (s *Store) dropHours(firstHour uint32) error {
	before := min(firstHour, s.flusher.mark.Hour)
	oldest, ok := s.hours.first(0)
	if !ok || oldest >= before {
		return nil
	}
	b := s.db.NewBatch()
	defer b.Close()
	for _, table := range []byte{row.TableLinkHours, row.TableOwnerHours} {
		kv.Must(b.DeleteRange(row.AppendHourPrefix(nil, table, oldest), row.AppendHourPrefix(nil, table, before), nil))
	}
	kv.Set(b, row.MetaKey(row.MetaFirstHour), binary.BigEndian.AppendUint32(nil, before))
	s.firstHour.Store(before) // first, so that no reader takes deleted rows for zeros
	if err := s.writer.Sync(b, "committing"); err != nil {
		return err
	}
	s.hours.removeBefore(before)
	return nil
}
