package hits

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"shunt/engine"
	"shunt/storage/row"
)

// A spanSum adds up the rows of many links, or owners, together. The rows of days are in the order of links, and so are
// the rows of an hour. So links in that order are met with the rows in one pass: a seek skips the rows of all links up
// to the next one that is asked for, and the row that it finds skips the links that have none.
//
// Rejected: to add up each link by itself, as readSpans does. Of 196,000 links, half of them with hits, that took some
// twelve times the CPU over 30 days, a part of these and the 30 before: bounds for each link forget where the iterator
// is, and a tally for each link and span is made only to be added up.
type spanSum struct {
	view   *view
	rows   rowKind
	ids    []uint64
	plans  []spanPlan
	wanted []engine.Parts
	sums   []*row.Sum // by span
	values []*row.Sum // by span: the sum that gets its breakdowns
	key    []byte
}

// SumSpans implements engine.View.
func (v *view) SumSpans(ids []uint64, spans []engine.Span, wanted []engine.Parts, yield func(j int, t *engine.Tally)) error {
	return v.sumSpans(linkRows, ids, spans, wanted, yield)
}

// SumOwnerSpans implements engine.View.
func (v *view) SumOwnerSpans(owners []uint32, spans []engine.Span, wanted []engine.Parts, yield func(j int, t *engine.Tally)) error {
	ids := make([]uint64, len(owners))
	for i, owner := range owners {
		ids[i] = uint64(owner)
	}
	return v.sumSpans(ownerRows, ids, spans, wanted, yield)
}

func (v *view) sumSpans(
	rows rowKind, ids []uint64, spans []engine.Span, wanted []engine.Parts, yield func(j int, t *engine.Tally),
) error {
	if len(ids) == 0 {
		return nil
	}
	s := spanSum{view: v, rows: rows, ids: ids, plans: v.plan(spans), wanted: wanted}
	defer s.release()
	s.makeSums(len(spans))
	if err := s.addDays(); err != nil {
		return fmt.Errorf("storage: adding up days: %w", err)
	}
	if err := s.addHours(); err != nil {
		return fmt.Errorf("storage: adding up hours: %w", err)
	}
	for j, sum := range s.sums {
		if !sum.Empty() {
			t := sum.Tally()
			sum.GiveNames()
			yield(j, &t)
		}
	}
	return nil
}

func (s *spanSum) makeSums(n int) {
	s.sums, s.values = make([]*row.Sum, n), make([]*row.Sum, n)
	for j := n - 1; j >= 0; j-- {
		s.sums[j] = row.NewSum()
		s.values[j] = s.sums[j]
		if s.wanted[j]&engine.WithNext != 0 && j+1 < n {
			s.values[j] = s.values[j+1]
		}
	}
}

func (s *spanSum) release() {
	for _, sum := range s.sums {
		sum.Release()
	}
}

// addDays adds the rows of days.
func (s *spanSum) addDays() (err error) {
	first, end := uint32(math.MaxUint32), uint32(0)
	for j := range s.plans {
		if p := &s.plans[j]; p.fromDay < p.toDay {
			first, end = min(first, p.fromDay), max(end, p.toDay)
		}
	}
	if first >= end {
		return nil
	}
	it, err := s.view.snapshot.NewIter(&pebble.IterOptions{
		LowerBound: row.AppendDayKey(nil, s.rows.days, s.ids[0], first),
		UpperBound: row.AppendDayKey(nil, s.rows.days, s.ids[len(s.ids)-1], end),
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	firstKey := func(id uint64) []byte { return row.AppendDayKey(s.key[:0], s.rows.days, id, first) }
	return s.meet(it, s.ids, firstKey, func(id uint64) error { return s.addDaysOf(it, id) })
}

// addDaysOf adds the rows of one id from the one that it is at. The iterator ends at a row that it did not add.
func (s *spanSum) addDaysOf(it *pebble.Iterator, of uint64) error {
	for j := 0; it.Valid(); {
		id, day, err := row.SplitDayKey(it.Key())
		if err != nil {
			return err
		}
		if id != of {
			return nil
		}
		for j < len(s.plans) && day >= s.plans[j].toDay {
			j++
		}
		if j == len(s.plans) {
			return nil
		}
		if s.plans[j].fromDay <= day {
			if err := s.add(it, j); err != nil {
				return err
			}
		}
		it.Next()
	}
	return nil
}

// addHours adds the rows of hours.
func (s *spanSum) addHours() (err error) {
	keys := row.TableRange(s.rows.hours)
	var it *pebble.Iterator
	for j := range s.plans {
		for _, hour := range s.plans[j].hours {
			if it == nil {
				if it, err = s.view.snapshot.NewIter(&pebble.IterOptions{LowerBound: keys.Lower, UpperBound: keys.Upper}); err != nil {
					return err
				}
				defer func() { err = errors.Join(err, it.Close()) }()
			}
			if err := s.addHour(it, j, hour); err != nil {
				return fmt.Errorf("hour %d: %w", hour, err)
			}
		}
	}
	return nil
}

// addHour adds the rows of an hour to the span j.
func (s *spanSum) addHour(it *pebble.Iterator, j int, hour uint32) error {
	firstKey := func(id uint64) []byte {
		return row.AppendSuffix(row.AppendHourPrefix(s.key[:0], s.rows.hours, hour), s.rows.hours, id)
	}
	ids := s.ids
	if s.plans[j].open { // the roll-up passes the rows of an hour in the order of ids
		for len(ids) > 0 && s.view.mark.Passed(s.rows.stage, hour, ids[0]) {
			ids = ids[1:]
		}
	}
	if len(ids) == 0 {
		return nil
	}
	it.SetBounds(bytes.Clone(firstKey(ids[0])), append(firstKey(ids[len(ids)-1]), 0))
	return s.meet(it, ids, firstKey, func(uint64) error {
		if err := s.add(it, j); err != nil {
			return err
		}
		it.Next()
		return nil
	})
}

// meet calls fn for each of ids that has a row from its first key on, with the iterator there; fn leaves it at a later
// row, or at none. An id's rows are before the first key of the next id.
func (s *spanSum) meet(it *pebble.Iterator, ids []uint64, firstKey func(id uint64) []byte, fn func(id uint64) error) error {
	for begun := false; len(ids) > 0 && (!begun || it.Valid()); {
		s.key = firstKey(ids[0])
		if !begun || bytes.Compare(it.Key(), s.key) < 0 {
			begun = true
			if !it.SeekGE(s.key) {
				break
			}
		}
		id, err := s.idOf(it.Key())
		if err != nil {
			return err
		}
		if id != ids[0] {
			ids = from(ids, id)
			continue
		}
		if err := fn(id); err != nil {
			return err
		}
		ids = ids[1:]
	}
	return it.Error()
}

// idOf returns the link or the owner of a key of hours or days.
func (s *spanSum) idOf(key []byte) (id uint64, err error) {
	if key[0] == s.rows.hours {
		return row.HourSuffix(key)
	}
	id, _, err = row.SplitDayKey(key)
	return id, err
}

// from returns the part of ascending ids that begins at id. The next ids are looked at first, since it is often near.
func from(ids []uint64, id uint64) []uint64 {
	size := 1
	for size < len(ids) && ids[size] < id {
		size *= 2
	}
	at, _ := slices.BinarySearch(ids[:min(size+1, len(ids))], id)
	return ids[at:]
}

// add adds the row that the iterator is at to the span j.
func (s *spanSum) add(it *pebble.Iterator, j int) error {
	wanted := s.wanted[j]
	value, err := it.ValueAndErr()
	if err == nil && s.values[j] != s.sums[j] {
		wanted &^= engine.Breakdowns
		err = s.values[j].AddBreakdowns(value)
	}
	if err == nil {
		err = s.sums[j].Add(value, wanted)
	}
	if err != nil {
		return fmt.Errorf("row %x: %w", it.Key(), err)
	}
	return nil
}
