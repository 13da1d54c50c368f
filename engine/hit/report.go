package hit

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"shunt/engine/index"
	"shunt/engine/internal/clock"
	"shunt/engine/internal/errs"
	"shunt/engine/tally"
)

// Bucket is one bucket of a series.
type Bucket struct {
	From         time.Time
	Hits, Unique uint64
}

// Report is the answer to a Query.
type Report struct {
	From, To     time.Time    // as used; zero with AllTime
	Zone         string       // the zone of days in this window and its series; "" with AllTime
	Stats                     // of the window
	ImportedHits uint64       // not in Hits; see importedHits
	Counted      uint64       // the hits that Query.Counted counts
	UniqueError  float64      // relative standard error of Unique; 0: exact
	Series       []Bucket     // empty buckets included; nil without Interval
	Targets      []TargetHits // with hits, by number; together they have Hits; nil: not asked for
	Dimensions   tally.Dimensions
	DurableHits  uint64    // the part of Hits that the store has
	FlushedAt    time.Time // the last time at which all folded records were durable
	Ranking      *Ranking  // nil: not asked for, or the report is of whole owners
}

// MaxScannedLinks is how many links a query of a Subset reads at a time, and how many the first ranking for a list of
// the most-hit ones has.
const MaxScannedLinks = 10_000

// LinkReport returns the figures of a link. They include every redirect that was answered before
// the call. Errors: ErrNotFound if k has no live link, InvalidError if the window is impossible,
// ErrLoading.
func (hs *Hits) LinkReport(ctx context.Context, k index.Key, q Query) (Report, error) {
	if !hs.links.Ready() {
		return Report{}, errs.ErrLoading
	}
	l, ok := hs.index.Resolve(k.View())
	if !ok {
		return Report{}, errs.ErrNotFound
	}
	id := l.ID()
	l.Release()
	if err := hs.FoldNow(ctx); err != nil {
		return Report{}, err
	}
	r, err := hs.linkReport(ctx, k, id, q)
	if err != nil {
		return Report{}, fmt.Errorf("figures of %q: %w", k.Code, err)
	}
	return r, nil
}

func (hs *Hits) linkReport(ctx context.Context, k index.Key, id uint64, q Query) (Report, error) {
	if q.AllTime {
		return hs.lifeReport(ctx, id, &q)
	}
	o, err := hs.links.Origin(k, id)
	if err != nil {
		return Report{}, err
	}
	s := linkSource(tally.TargetID(id, q.Target))
	s.targets = q.Targets
	r, err := hs.windowReport(ctx, q, o.CreatedAt, s)
	if err == nil && q.Target == 0 {
		r.ImportedHits = o.importedSince(r.From)
	}
	return r, err
}

// Imported hits without a day have no time, so no window has them. A report of a window says how many they are if
// the window begins in the hour of the import or before: they were counted before that, so the window may
// have had some of them, or all. Hours, because windows begin with one, and because they are summed up by
// owner and hour of the import. Owners have those of links that they imported, whatever became of these
// links, as they have their hits.

// Origin is what figures must know of a link. It never changes.
type Origin struct {
	CreatedAt   time.Time // or when the first day with imported hits began, if that was before; zero: the link is gone
	UndatedHits uint64    // that an import brought along without their days
	ImportedAt  time.Time // when that was; zero if it is not known
}

// importedSince returns the hits that a link brought along without their days, for a window that begins at from.
func (o *Origin) importedSince(from time.Time) uint64 {
	if !o.ImportedAt.IsZero() && clock.HourOf(o.ImportedAt) < clock.HourOf(from) { // zero: nobody knows
		return 0
	}
	return o.UndatedHits
}

// importedHits returns the hits that the links of s brought along, for a window that begins at from.
func (hs *Hits) importedHits(ctx context.Context, q *Query, s *source, from time.Time) (hits uint64, err error) {
	add := func(more uint64) { hits += min(more, math.MaxUint64-hits) }
	for _, owner := range s.owners {
		more, err := hs.store.ReadImported(owner, clock.HourOf(from))
		if err != nil {
			return 0, err
		}
		add(more)
	}
	for i, k := range s.keys {
		if i%importsAtOnce == 0 {
			if err := q.pause(ctx); err != nil {
				return 0, err
			}
		}
		o, err := hs.links.Origin(k, s.links[i])
		if err != nil {
			return 0, err
		}
		add(o.importedSince(from))
	}
	return hits, nil
}

// importsAtOnce is how many records of links are read between two calls of pause: less than a millisecond.
const importsAtOnce = 64

func (hs *Hits) lifeReport(ctx context.Context, id uint64, q *Query) (r Report, err error) {
	var t tally.Tally
	var durableHits uint64
	switch {
	case q.Targets:
		var sums targetSums
		sums, t, durableHits, err = hs.targetLives(ctx, id, q.Parts)
		r.Targets = sums.list(t.Hits) // which may be a moment older than the counter
	case q.Target != 0:
		t, durableHits, err = hs.life(ctx, tally.TargetID(id, q.Target), q.Parts)
	default:
		t, durableHits, err = hs.life(ctx, id, q.Parts)
		t.Hits = hs.index.Hits(id)
	}
	if err != nil {
		return Report{}, err
	}
	r.DurableHits, r.FlushedAt = min(durableHits, t.Hits), hs.flusher.last()
	r.set(&t)
	return r, nil
}

// TalliedOwners returns the owners from first to last that have links or figures, in order; with a user, only those of
// that one. What was not flushed yet may be missing, if it is all that there is.
func (hs *Hits) TalliedOwners(first, last, user uint32) ([]uint32, error) {
	return hs.store.TalliedOwners(first, last, user)
}

// OwnerReport returns the figures of all links that owners have and had, deleted links included, or of a subset.
// Errors: InvalidError, ErrLoading.
func (hs *Hits) OwnerReport(ctx context.Context, owners []uint32, of Subset, q Query) (Report, error) {
	reports, err := hs.OwnerReports(ctx, owners, of, []Query{q})
	if err != nil {
		return Report{}, err
	}
	return reports[0], nil
}

// OwnerReports returns what OwnerReport returns for each of several queries, for which it reads each row once. It
// pauses like the first.
func (hs *Hits) OwnerReports(ctx context.Context, owners []uint32, of Subset, queries []Query) (reports []Report, err error) {
	if !hs.links.Ready() {
		return nil, errs.ErrLoading
	}
	if err := hs.FoldNow(ctx); err != nil {
		return nil, err
	}
	readings := make([]*reading, len(queries))
	for i := range queries {
		if readings[i], err = hs.newReading(&queries[i], time.Time{}); err != nil {
			return nil, fmt.Errorf("figures of owners: %w", err)
		}
	}
	if of.whole() {
		err = hs.readOwners(ctx, owners, readings)
	} else {
		err = hs.readSubset(ctx, owners, of, readings)
	}
	if err != nil {
		return nil, fmt.Errorf("figures of owners: %w", err)
	}
	for _, r := range readings {
		reports = append(reports, r.finish())
	}
	return reports, nil
}

// readOwners reads the figures of all that owners have and had, for several readings. It pauses like the first.
func (hs *Hits) readOwners(ctx context.Context, owners []uint32, readings []*reading) (err error) {
	s := source{owners: slices.Sorted(slices.Values(owners))}
	for _, c := range cut(readings, hs.store.Zone()) {
		if err := hs.sumSpans(ctx, readings[0].query, &s, &c); err != nil {
			return err
		}
	}
	for _, r := range readings {
		if r.report.ImportedHits, err = hs.importedHits(ctx, r.query, &s, r.report.From); err != nil {
			return err
		}
	}
	return nil
}

// CompareLinks returns the figures of links over one window, together and each: a visitor of several counts once in
// whole. Without From the window begins with the days that are kept. Errors: ErrNotFound if a key has no live link,
// InvalidError, ErrLoading.
func (hs *Hits) CompareLinks(ctx context.Context, keys []index.Key, q Query) (whole Report, each []Report, err error) {
	if !hs.links.Ready() {
		return whole, nil, errs.ErrLoading
	}
	all := source{keys: keys}
	for _, k := range keys {
		l, ok := hs.index.Resolve(k.View())
		if !ok {
			return whole, nil, errs.ErrNotFound
		}
		all.links = append(all.links, l.ID())
		l.Release()
	}
	if err := hs.FoldNow(ctx); err != nil {
		return whole, nil, err
	}
	if whole, err = hs.windowReport(ctx, q, time.Time{}, all); err != nil {
		return whole, nil, fmt.Errorf("figures of links: %w", err)
	}
	for i := range keys {
		r, err := hs.windowReport(ctx, q, time.Time{}, source{keys: all.keys[i : i+1], links: all.links[i : i+1]})
		if err != nil {
			return whole, nil, fmt.Errorf("figures of %q: %w", keys[i].Code, err)
		}
		each = append(each, r)
	}
	return whole, each, nil
}

// SeriesOf returns the hits of each of several links, by their ids, in the buckets of q, which has an Interval. It
// reads no visitors. Without From the window begins as that of an owner. It takes a seek and a step for each day with
// hits of a link. Errors: InvalidError, ErrLoading.
func (hs *Hits) SeriesOf(ctx context.Context, ids []uint64, q Query) (each [][]Bucket, err error) {
	if !hs.links.Ready() {
		return nil, errs.ErrLoading
	}
	if err := hs.FoldNow(ctx); err != nil {
		return nil, err
	}
	now := hs.now()
	w, err := q.window(hs.kept(now), now, time.Time{})
	if err != nil {
		return nil, err
	}
	each = make([][]Bucket, len(ids))
	for i := range each {
		each[i] = make([]Bucket, len(w.spans))
		for j := range w.spans {
			each[i][j].From = clock.HourTime(w.spans[j].FromHour)
		}
	}
	err = hs.readSpans(ctx, &q, linkSource(ids...), w.spans, 0, func(i, j int, t *tally.Tally, _ bool) { each[i][j].Hits += t.Hits })
	if err != nil {
		return nil, fmt.Errorf("series of links: %w", err)
	}
	return each, nil
}

// windowReport adds up the figures of s in the window of q.
func (hs *Hits) windowReport(ctx context.Context, q Query, created time.Time, s source) (Report, error) {
	r, err := hs.newReading(&q, created)
	if err == nil {
		err = hs.readSource(ctx, r, s)
	}
	if err != nil {
		return Report{}, err
	}
	return r.finish(), nil
}

// readSource reads the figures of s.
func (hs *Hits) readSource(ctx context.Context, r *reading, s source) (err error) {
	err = hs.readSpans(ctx, r.query, s, r.window.spans, r.query.Parts, func(i, j int, t *tally.Tally, durable bool) {
		if s.targets && i > 0 {
			r.targets.add(uint8(i), t)
		} else {
			r.add(j, t, durable)
		}
	})
	if err != nil {
		return err
	}
	if s.targets {
		r.report.Targets = r.targets.list(r.total.Hits)
	}
	r.report.ImportedHits, err = hs.importedHits(ctx, r.query, &s, r.report.From)
	return err
}

// set copies the figures of the window from t.
func (r *Report) set(t *tally.Tally) {
	r.Stats = Stats{
		Hits: t.Hits, Unique: min(t.Visitors.Count(), t.Hits),
		Bots: t.Bots, Prefetches: t.Prefetches, Heads: t.Heads,
	}
	if t.Visitors.Dense() {
		r.UniqueError = tally.DenseError
	}
	r.Dimensions = t.Dimensions
}
