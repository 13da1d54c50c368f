package hits

import (
	"context"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"shunt/engine"
	"shunt/storage/kv"
	"shunt/storage/row"
)

// View implements engine.Store.
func (h *Hits) View() (engine.View, error) {
	snapshot, hours := h.hours.snapshot(h.db)
	v, err := newView(snapshot, hours)
	if err != nil {
		return nil, fmt.Errorf("storage: opening a view: %w", errors.Join(err, snapshot.Close()))
	}
	v.progress, v.zone = h.progress, h.zone
	v.firstHour, v.firstDay = h.Kept()
	return v, nil
}

func newView(snapshot *pebble.Snapshot, hours []uint32) (*view, error) {
	m, err := readMark(snapshot)
	if err != nil {
		return nil, err
	}
	p, err := ReadPositions(snapshot)
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

// ReadSpans implements engine.View. The spans may come in any order; it is cheapest if they ascend
// and do not overlap.
func (v *view) ReadSpans(
	ids []uint64, spans []engine.Span, wanted engine.Parts, yield func(i, j int, t *engine.Tally) error,
) error {
	return v.readSpans(ids, spans, wanted, yield)
}

func (v *view) readSpans(ids []uint64, spans []engine.Span, wanted engine.Parts, yield func(i, j int, t *engine.Tally) error) (err error) {
	plans := v.plan(spans)
	days, err := v.openDays(plans)
	if err != nil {
		return fmt.Errorf("storage: reading days: %w", err)
	}
	defer func() { err = errors.Join(err, days.close()) }()
	hours, err := v.openHours(len(ids), plans, wanted)
	if err != nil {
		return fmt.Errorf("storage: reading hours: %w", err)
	}
	defer func() { err = errors.Join(err, hours.close()) }()
	r := spanReader{plans: plans, days: days, hours: hours, wanted: wanted, sum: row.NewSum()}
	defer r.sum.Release()
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
	plans  []spanPlan
	days   *dayReader
	hours  *hourReader
	wanted engine.Parts
	sum    *row.Sum
}

// readBlock reads a block of ids, whose hour rows hours holds.
func (r *spanReader) readBlock(block []uint64, yield func(i, j int, t *engine.Tally) error) error {
	sum := r.sum
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
		if err := r.days.add(r.sum, p.fromDay, p.toDay, r.wanted); err != nil {
			return err
		}
	}
	return r.hours.add(r.sum, i, id, p)
}

// LastHits implements engine.View. Hits are in a summary, or the link is due since their hour, or their rows are not
// rolled up.
func (v *view) LastHits(hour uint32, fn func(id uint64, quiet bool) error) error {
	if err := v.lastHits(hour, fn); err != nil {
		return fmt.Errorf("storage: reading the last hits of links: %w", err)
	}
	return nil
}

func (v *view) lastHits(hour uint32, fn func(id uint64, quiet bool) error) error {
	err := kv.Each(v.snapshot, row.TableRange(row.TableSummaries), func(key, value []byte) (bool, error) {
		id, err := row.SplitSummaryKey(key)
		if err != nil {
			return false, err
		}
		s, err := row.DecodeSummary(value)
		if err == nil && s.LastHour < hour {
			err = fn(id, true)
		}
		return err == nil, err
	})
	if err != nil {
		return err
	}
	due := row.TableRange(row.TableSummariesDue)
	due.Lower = row.AppendSummaryDueKey(nil, hour, 0)
	err = kv.Each(v.snapshot, due, func(key, _ []byte) (bool, error) {
		_, id, err := row.SplitSummaryDueKey(key)
		if err == nil {
			err = fn(id, false)
		}
		return err == nil, err
	})
	for _, open := range v.mark.Open(v.hours) {
		if err != nil || open < hour {
			continue
		}
		err = kv.Each(v.snapshot, row.OfLinks(row.AppendHourPrefix(nil, row.TableLinkHours, open)), func(key, _ []byte) (bool, error) {
			id, err := row.LinkOf(key)
			if err == nil && !v.mark.Passed(row.StageLinks, open, id) { // else it is due, or summarised
				err = fn(id, false)
			}
			return err == nil, err
		})
	}
	return err
}

// LoadHits implements engine.View.
func (v *view) LoadHits(ctx context.Context, fn func(id, hits uint64)) error {
	if err := v.loadHits(ctx, fn); err != nil {
		return fmt.Errorf("storage: loading hits: %w", err)
	}
	return nil
}

func (v *view) loadHits(ctx context.Context, fn func(id, hits uint64)) error {
	ranges := []row.Range{row.OfLinks([]byte{row.TableLinkLives})}
	for _, hour := range v.mark.Open(v.hours) {
		ranges = append(ranges, row.OfLinks(row.AppendHourPrefix(nil, row.TableLinkHours, hour)))
	}
	return kv.Scan(ctx, v.snapshot, ranges, v.progress, kv.EachRow(func(key, value []byte) error {
		id, err := row.LinkOf(key)
		if err != nil {
			return err
		}
		if key[0] == row.TableLinkHours && v.mark.Passed(row.StageLinks, row.HourOf(key), id) {
			return nil
		}
		hits, err := row.DecodeTallyHits(value)
		if err != nil {
			return fmt.Errorf("row %x: %w", key, err)
		}
		if hits > 0 {
			fn(id, hits)
		}
		return nil
	}))
}
