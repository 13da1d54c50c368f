package hits

import (
	"fmt"
	"math"

	"github.com/cockroachdb/pebble/v2"

	"shunt/engine"
	"shunt/storage/row"
)

// dayReader reads the day rows of one id after the other. All are read through one iterator, whose
// bounds are the requested days of the id. So an id costs one seek, each further day costs one
// step, and no row outside the bounds is merged.
type dayReader struct {
	it             *pebble.Iterator // nil: no span has days
	fromDay, toDay uint32           // of all spans
	lower, upper   []byte
	id             uint64

	// The position of the iterator. Every row of id before the day next has been read or skipped.
	begun bool
	valid bool
	next  uint32
}

// openDays returns a reader of the days of all plans.
func (v *view) openDays(plans []spanPlan) (*dayReader, error) {
	d := &dayReader{fromDay: math.MaxUint32}
	for j := range plans {
		if p := &plans[j]; p.fromDay < p.toDay {
			d.fromDay, d.toDay = min(d.fromDay, p.fromDay), max(d.toDay, p.toDay)
		}
	}
	if d.fromDay >= d.toDay {
		return d, nil
	}
	keys := row.TableRange(row.TableLinkDays)
	it, err := v.snapshot.NewIter(&pebble.IterOptions{LowerBound: keys.Lower, UpperBound: keys.Upper})
	d.it = it
	return d, err
}

func (d *dayReader) close() error {
	if d.it == nil {
		return nil
	}
	return d.it.Close()
}

// begin moves to another id.
func (d *dayReader) begin(id uint64) {
	if d.it == nil {
		return
	}
	d.id, d.begun, d.valid = id, false, false
	d.lower = row.AppendLinkDayKey(d.lower[:0], id, d.fromDay)
	d.upper = row.AppendLinkDayKey(d.upper[:0], id, d.toDay)
	d.it.SetBounds(d.lower, d.upper)
}

// add adds the rows of the days from fromDay up to, but not including, toDay.
func (d *dayReader) add(sum *row.Sum, fromDay, toDay uint32, wanted engine.Parts) error {
	d.seek(fromDay)
	for d.valid {
		day, err := row.DayOf(d.it.Key())
		if err != nil {
			return err
		}
		if day >= toDay {
			break
		}
		value, err := d.it.ValueAndErr()
		if err != nil {
			return err
		}
		if err := sum.Add(value, wanted); err != nil {
			return fmt.Errorf("row %x: %w", d.it.Key(), err)
		}
		d.valid = d.it.Next()
	}
	d.next = toDay
	return d.it.Error()
}

// seek moves the iterator to the first row of a day or later, if it is not there yet.
func (d *dayReader) seek(day uint32) {
	switch {
	case !d.begun && day == d.fromDay:
		d.valid = d.it.First()
	case !d.begun || day < d.next:
		d.valid = d.it.SeekGE(row.AppendLinkDayKey(nil, d.id, day))
	case d.valid:
		if at, err := row.DayOf(d.it.Key()); err == nil && at < day {
			d.valid = d.it.SeekGE(row.AppendLinkDayKey(nil, d.id, day))
		}
	}
	d.begun = true
}
