package hit

import (
	"math"
	"time"

	"shunt/engine/internal/clock"
	"shunt/engine/tally"
)

// A reading adds up the figures that a query asks for.
type reading struct {
	query   *Query
	window  window
	report  Report
	total   tally.Tally
	buckets []bucket // by the spans of the window, if the query asks for a series
	targets targetSums
}

// newReading begins the reading of q. created is when its subject was made.
func (hs *Hits) newReading(q *Query, created time.Time) (*reading, error) {
	now := hs.now()
	w, err := q.window(hs.kept(now), now, created)
	if err != nil {
		return nil, err
	}
	return &reading{
		query: q, window: w, buckets: make([]bucket, len(w.spans)), targets: make(targetSums),
		report: Report{From: clock.HourTime(w.from), To: clock.HourTime(w.to), Zone: w.days.Name(), FlushedAt: hs.flusher.last()},
	}, nil
}

// add adds a tally of the span j of the window, or of a part of it. Parts that the query does not want are left out.
// durable says whether the tally is the store's.
func (r *reading) add(j int, t *tally.Tally, durable bool) {
	q, part := r.query, *t
	if q.Parts&tally.Visitors == 0 {
		part.Visitors = tally.Sketch{}
	}
	if q.Parts&tally.Breakdowns == 0 {
		part.Dimensions = tally.Dimensions{}
	}
	r.total.Add(&part)
	hits := part.Hits
	if q.Counted != nil {
		hits = q.Counted(&part.Dimensions)
		r.report.Counted += hits
	}
	if q.Interval != NoSeries {
		r.buckets[j].hits += hits
		if q.Counted == nil {
			r.buckets[j].visitors.Unite(part.Visitors)
		}
	}
	if durable {
		r.report.DurableHits += part.Hits
	}
}

// addImported adds the hits that a link brought along without their days when it was imported; 0: nobody knows when.
func (r *reading) addImported(hits uint64, atMs int64) {
	o := Origin{UndatedHits: hits}
	if atMs != 0 {
		o.ImportedAt = time.UnixMilli(atMs)
	}
	r.report.ImportedHits += min(o.importedSince(r.report.From), math.MaxUint64-r.report.ImportedHits)
}

// finish returns the report.
func (r *reading) finish() Report {
	if r.query.Interval != NoSeries {
		for j := range r.buckets {
			b := &r.buckets[j]
			from := clock.HourTime(r.window.spans[j].FromHour)
			r.report.Series = append(r.report.Series, Bucket{from, b.hits, min(b.visitors.Count(), b.hits)})
		}
	}
	r.report.set(&r.total)
	return r.report
}
