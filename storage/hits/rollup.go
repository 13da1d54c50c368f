package hits

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

// RollUp implements engine.Store. A chunk is at most 4,096 rows of one table of one hour, about 10
// ms and an fsync; or a chunk of a sweep of days, once all hours are rolled up.
func (h *Hits) RollUp(l engine.RollUpLimits) (more bool, err error) {
	if h.busy() {
		return true, engine.ErrBehind
	}
	h.flusher.turn.Lock()
	defer h.flusher.turn.Unlock()
	from := h.flusher.mark
	hour, ok := h.nextOpen()
	if ok && (hour < l.OpenHour || hour == from.Hour && from.Begun()) {
		if from.Hour != hour {
			from = from.At(hour)
		}
		if err := h.rollChunk(from); err != nil {
			return false, fmt.Errorf("storage: rolling up hour %d: %w", hour, err)
		}
		return true, nil
	}
	if err := h.moveMarkBack(l.OpenHour); err != nil {
		return false, fmt.Errorf("storage: moving the roll-up mark back: %w", err)
	}
	if err := h.dropHours(l.FirstHour); err != nil {
		return false, fmt.Errorf("storage: deleting old hour rows: %w", err)
	}
	if more, err = h.summarise(); more || err != nil {
		if err != nil {
			return false, fmt.Errorf("storage: summarising links: %w", err)
		}
		return true, nil
	}
	if more, err = h.sweepDays(l.FirstDay); err != nil {
		return false, fmt.Errorf("storage: deleting old day rows: %w", err)
	}
	return more, nil
}

// nextOpen returns the first hour that may have rows which are not rolled up.
func (h *Hits) nextOpen() (hour uint32, ok bool) {
	if open := h.flusher.mark.Open(h.hours.from(0)); len(open) > 0 {
		return open[0], true
	}
	return 0, false
}

// moveMarkBack moves the mark back to openHour, which is before it if the clock was ahead while hours were
// rolled up. So hours are rolled up in their time again, instead of each hit at once (mergeLate). What
// was rolled up beyond openHour stays so: see row.Mark.
func (h *Hits) moveMarkBack(openHour uint32) error {
	from := h.flusher.mark
	openHour = max(openHour, h.firstHour.Load())
	if openHour >= from.Hour || from.Begun() {
		return nil
	}
	passed := h.hours.from(openHour)
	to := row.Mark{Hour: openHour, Ahead: slices.DeleteFunc(slices.Clone(passed), func(hour uint32) bool { return !from.Passed(row.StageLinks, hour, 0) })}
	if len(to.Ahead) > row.MaxAhead {
		return nil // no clock is wrong so often
	}
	b := h.db.NewBatch()
	defer b.Close()
	return h.commitMark(b, to)
}

// commitMark commits b together with a new mark.
func (h *Hits) commitMark(b *pebble.Batch, to row.Mark) error {
	kv.Set(b, row.MetaKey(row.MetaMark), row.AppendMark(nil, &to))
	if err := h.writer.Sync(b, "committing a chunk"); err != nil {
		return err
	}
	h.flusher.mark = to
	h.flusher.markHour.Store(to.Hour)
	return nil
}

// rollChunk rolls up one chunk that begins at from, in one batch with the new mark.
func (h *Hits) rollChunk(from row.Mark) error {
	b := h.db.NewBatch()
	defer b.Close()
	to, rows, err := h.rollRows(b, from)
	if err != nil {
		return err
	}
	if err := h.commitMark(b, to); err != nil {
		return err
	}
	h.flusher.rolledUp.Add(rows)
	return nil
}

// rollRows adds the rows of a chunk to b as merge operands of day and life rows. It returns the
// mark after the chunk and the number of its rows.
func (h *Hits) rollRows(b *pebble.Batch, from row.Mark) (to row.Mark, rows uint64, err error) {
	table, add := byte(row.TableLinkHours), rollLink
	if from.Stage == row.StageOwners {
		table, add = row.TableOwnerHours, rollOwner
	}
	keys := row.PrefixRange(row.AppendHourPrefix(nil, table, from.Hour))
	keys.Lower = row.AppendSuffix(bytes.Clone(keys.Lower), table, from.Next)
	it, err := h.db.NewIter(&pebble.IterOptions{LowerBound: keys.Lower, UpperBound: keys.Upper})
	if err != nil {
		return from, 0, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	day := h.zone.Day(from.Hour)
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
		add(b, from.Hour, day, suffix, it.Value())
		rows++
	}
	return from.NextStage(), rows, it.Error()
}

func rollLink(b *pebble.Batch, hour, day uint32, id uint64, value []byte) {
	var key [row.MaxTallyKeyBytes]byte
	kv.Merge(b, row.AppendLinkDayKey(key[:0], id, day), value)
	kv.Merge(b, row.AppendLinkLifeKey(key[:0], id), value)
	noteDue(b, hour, id, value)
}

func rollOwner(b *pebble.Batch, _, day uint32, owner uint64, value []byte) {
	var key [row.MaxTallyKeyBytes]byte
	kv.Merge(b, row.AppendOwnerDayKey(key[:0], uint32(owner), day), value)
}

// dropHours deletes the rows of rolled-up hours before firstHour, by one range per table.
func (h *Hits) dropHours(firstHour uint32) error {
	before := min(firstHour, h.flusher.mark.Hour)
	oldest, ok := h.hours.first(0)
	if !ok || oldest >= before {
		return nil
	}
	b := h.db.NewBatch()
	defer b.Close()
	for _, table := range []byte{row.TableLinkHours, row.TableOwnerHours} {
		kv.Must(b.DeleteRange(row.AppendHourPrefix(nil, table, oldest), row.AppendHourPrefix(nil, table, before), nil))
	}
	kv.Set(b, row.MetaKey(row.MetaFirstHour), binary.BigEndian.AppendUint32(nil, before))
	h.firstHour.Store(before) // first, so that no reader takes deleted rows for zeros
	if err := h.writer.Sync(b, "committing"); err != nil {
		return err
	}
	h.hours.removeBefore(before)
	return nil
}
