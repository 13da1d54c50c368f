package storage

import (
	"errors"
	"fmt"
	"math"

	"github.com/cockroachdb/pebble/v2"

	"shunt/engine"
	"shunt/storage/kv"
	"shunt/storage/row"
)

// view implements engine.View with a snapshot of the database and the hours that may have rows in
// it. It adds up everything that it reads in sum.
type view struct {
	snapshot *pebble.Snapshot
	hours    []uint32
	mark     row.Mark
	flushSeq uint64
	sum      *row.Sum
	scanned  *kv.Scanned // of LoadHits
	key      [row.MaxTallyKeyBytes]byte

	firstHour, firstDay uint32 // kept; read after the snapshot was made, so the snapshot has all of them
}

// View implements engine.Store.
func (s *Store) View() (engine.View, error) {
	snapshot, hours := s.hours.snapshot(s.db)
	v, err := newView(snapshot, hours)
	if err != nil {
		return nil, fmt.Errorf("storage: opening a view: %w", errors.Join(err, snapshot.Close()))
	}
	v.scanned = &s.scanned
	v.firstHour, v.firstDay = s.Kept()
	return v, nil
}

func newView(snapshot *pebble.Snapshot, hours []uint32) (*view, error) {
	m, err := readMark(snapshot)
	if err != nil {
		return nil, err
	}
	p, err := readPositions(snapshot)
	if err != nil {
		return nil, err
	}
	return &view{snapshot: snapshot, hours: hours, mark: m, flushSeq: p.FlushSeq, sum: row.NewSum()}, nil
}

// FlushSeq implements engine.View.
func (v *view) FlushSeq() uint64 { return v.flushSeq }

// Close implements engine.View.
func (v *view) Close() error {
	v.sum.Release()
	v.sum = nil
	if err := v.snapshot.Close(); err != nil {
		return fmt.Errorf("storage: closing a view: %w", err)
	}
	return nil
}

// ReadLife implements engine.View. It adds the life row and the hour rows that are not contained in
// it.
func (v *view) ReadLife(id uint64, wanted engine.Parts) (engine.Tally, error) {
	v.sum.Reset()
	if err := v.addLife(id, wanted); err != nil {
		return engine.Tally{}, fmt.Errorf("storage: tally of link %d: %w", id, err)
	}
	return v.sum.OwnTally(), nil
}

func (v *view) addLife(id uint64, wanted engine.Parts) error {
	if err := v.addRow(row.AppendLinkLifeKey(v.key[:0], id), wanted); err != nil {
		return err
	}
	for _, hour := range v.mark.Open(v.hours) {
		if v.mark.Passed(row.StageLinks, hour, id) {
			continue
		}
		if err := v.addRow(row.AppendLinkHourKey(v.key[:0], hour, id), wanted); err != nil {
			return err
		}
	}
	return nil
}

// addRow adds the wanted parts of the tally row of key, if there is one.
func (v *view) addRow(key []byte, wanted engine.Parts) error {
	value, closer, err := v.snapshot.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("row %x: %w", key, err)
	}
	err = v.sum.Add(value, wanted)
	if err = errors.Join(err, closer.Close()); err != nil {
		return fmt.Errorf("row %x: %w", key, err)
	}
	return nil
}

// rowKind describes the rows to read: those of links or those of owners.
type rowKind struct {
	hours, days byte // tables
	stage       row.Stage
}

var (
	linkRows  = rowKind{row.TableLinkHours, row.TableLinkDays, row.StageLinks}
	ownerRows = rowKind{row.TableOwnerHours, row.TableOwnerDays, row.StageOwners}
)

// ReadSpans implements engine.View. The spans may come in any order; it is cheapest if they ascend
// and do not overlap.
func (v *view) ReadSpans(
	ids []uint64, spans []engine.Span, wanted engine.Parts, yield func(i, j int, t *engine.Tally) error,
) error {
	return v.readSpans(linkRows, ids, spans, wanted, yield)
}

// ReadOwnerSpans implements engine.View.
func (v *view) ReadOwnerSpans(
	owner uint32, spans []engine.Span, wanted engine.Parts, yield func(j int, t *engine.Tally) error,
) error {
	return v.readSpans(ownerRows, []uint64{uint64(owner)}, spans, wanted, func(_, j int, t *engine.Tally) error { return yield(j, t) })
}

func (v *view) readSpans(
	rows rowKind, ids []uint64, spans []engine.Span, wanted engine.Parts, yield func(i, j int, t *engine.Tally) error,
) (err error) {
	plans := v.plan(spans)
	days, err := v.openDays(rows, plans)
	if err != nil {
		return fmt.Errorf("storage: reading days: %w", err)
	}
	defer func() { err = errors.Join(err, days.close()) }()
	hours, err := v.openHours(rows, len(ids), plans, wanted)
	if err != nil {
		return fmt.Errorf("storage: reading hours: %w", err)
	}
	defer func() { err = errors.Join(err, hours.close()) }()
	r := spanReader{view: v, kind: rows, plans: plans, days: days, hours: hours, wanted: wanted}
	for first, next := 0, 0; first < len(ids); first = next {
		next = min(first+hours.blockSize(), len(ids))
		block := ids[first:next]
		if err := hours.load(block); err != nil {
			return fmt.Errorf("storage: reading hours: %w", err)
		}
		err := r.readBlock(block, func(i, j int, t *engine.Tally) error { return yield(first+i, j, t) })
		if err != nil {
			return err
		}
	}
	return nil
}

// spanReader is one call of readSpans.
type spanReader struct {
	view   *view
	kind   rowKind
	plans  []spanPlan
	days   *dayReader
	hours  *hourReader
	wanted engine.Parts
}

// readBlock reads a block of ids, whose hour rows hours holds.
func (r *spanReader) readBlock(block []uint64, yield func(i, j int, t *engine.Tally) error) error {
	sum := r.view.sum
	for i, id := range block {
		r.days.begin(id)
		for j := range r.plans {
			sum.Reset()
			if err := r.addSpan(i, id, &r.plans[j]); err != nil {
				return fmt.Errorf("storage: tally of %d in span %d: %w", id, j, err)
			}
			if sum.Empty() {
				continue
			}
			t := sum.Tally()
			sum.GiveNames()
			if err := yield(i, j, &t); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *spanReader) addSpan(i int, id uint64, p *spanPlan) error {
	if p.fromDay < p.toDay {
		if err := r.days.add(r.view.sum, p.fromDay, p.toDay, r.wanted); err != nil {
			return err
		}
	}
	return r.hours.add(r.view.sum, r.kind, i, id, p)
}

// spanPlan is the set of rows that are read for a span.
type spanPlan struct {
	fromDay, toDay uint32   // day rows; empty for a span of hours
	hours          []uint32 // hour rows
	open           bool     // only those hour rows that day rows do not contain
}

// endOfDays is a day after the last one that an hour can have.
const endOfDays = math.MaxUint32/row.HoursPerDay + 1

// plan decides which rows to read. A span that begins and ends with a day is read from day rows, as
// far as roll-up has come. Any other span is read from hour rows, which are kept for some time
// after they are rolled up. Only hours that have rows are read.
func (v *view) plan(spans []engine.Span) []spanPlan {
	plans := make([]spanPlan, len(spans))
	for j, span := range spans {
		p := &plans[j]
		p.hours = hoursFrom(v.hours, span.FromHour)
		if span.ToHour != engine.Endless {
			p.hours = p.hours[:len(p.hours)-len(hoursFrom(p.hours, span.ToHour))]
		}
		if span.FromHour%row.HoursPerDay != 0 || span.ToHour != engine.Endless && span.ToHour%row.HoursPerDay != 0 {
			continue
		}
		if span.FromHour/row.HoursPerDay < v.firstDay && span.FromHour >= v.firstHour {
			continue // its day is deleted already, its hours are not: fewer days are kept than hours
		}
		p.open = true
		p.hours = v.mark.Open(p.hours)
		p.fromDay, p.toDay = span.FromHour/row.HoursPerDay, span.ToHour/row.HoursPerDay
		if span.ToHour == engine.Endless {
			p.toDay = endOfDays
		}
	}
	return plans
}
