package hit

import (
	"context"
	"fmt"
	"time"

	"shunt/engine/index"
	"shunt/engine/internal/clock"
	"shunt/engine/invalid"
	"shunt/engine/tally"
	"shunt/engine/zone"
)

// A Subset says which of the links of owners a report is of. The zero value: all that they have, and those that they
// had.
type Subset struct {
	Tag string // in any case: only live links that have it

	// Folder is the number of a folder, of which the report is then: only live links in it, whoever's they are. In, if
	// set, reports whether those of a domain count.
	Folder uint32
	In     func(index.Domain) bool
}

// whole reports whether s is all links, so that rows of owners have the figures.
func (s Subset) whole() bool { return s.Tag == "" && s.Folder == 0 }

// Interval is the width of the buckets of a series.
type Interval uint8

const (
	NoSeries Interval = iota
	Hourly
	Daily
)

// Hours and days that a series goes back if a query has no From.
const (
	defaultSeriesHours = 48
	defaultSeriesDays  = 30
)

// Query asks for the figures of a window of time. From and To are widened to whole buckets: hours
// as long as hours are kept, days before that and in a Daily series.
type Query struct {
	From     time.Time   // zero: the link's creation; with an Interval 48 hours or 30 days back; never before days are kept
	To       time.Time   // zero or in the future: now
	Interval Interval    // of the series; NoSeries: none
	Zone     *zone.Zone  // of the days of a window that has a From and whose hours are all kept; else: the store's; see DaysOf
	AllTime  bool        // the whole life of a link (for LinkReport only); From, To and Interval are ignored
	Parts    tally.Parts // Visitors for Unique, Breakdowns for Dimensions

	// Target is the number of a target of a link: the report is of that one alone, not of the link; 0: of the link.
	// Targets asks for Report.Targets. Both are for LinkReport only, and one at a time.
	Target  uint8
	Targets bool

	// Counted, if set, returns how many hits of a tally count: those of a value of a dimension, say, with Parts
	// Breakdowns. The series is of these alone and without visitors, who are not kept by value. It may be too low, as a
	// Breakdown is.
	Counted func(*tally.Dimensions) uint64

	// Rank asks a report of a Subset for their Ranking, with which TopLinks need not list them again.
	Rank    bool
	Ranking *Ranking

	// MaxLinks is how many links a query for the most-hit ones need read at most, in whole rankings; 0: all.
	MaxLinks int

	// Pause, if set, is called between steps, each of which takes less than a millisecond or a few.
	// It may wait, so that other work gets a core. Its error ends the query.
	Pause func() error
}

// pause is called between steps of q.
func (q *Query) pause(ctx context.Context) error {
	if err := ctx.Err(); err != nil || q.Pause == nil {
		return err
	}
	return q.Pause()
}

// window is a Query in the store's terms.
type window struct {
	from, to uint32     // hours
	days     *zone.Zone // whose days its buckets are, or were widened to
	spans    []Span     // that make it up, ascending; the buckets of a series
}

// kept says for which hours and days there are figures, at a moment.
type kept struct {
	hour      uint32 // the current one
	firstHour uint32 // after hour, if the clock is far behind: then there are figures by the day only
	firstDay  uint32
	days      *zone.Zone // whose days these are
	foreign   bool       // they are not those of the store
}

// seriesFrom returns the first hour that a series may have. It is never after the current one, so that a clock
// that is far behind shows empty hours and no error.
func (k kept) seriesFrom() uint32 { return min(k.firstHour, k.hour) }

func (hs *Hits) kept(now time.Time) kept {
	days := hs.store.Zone()
	hour, today := clock.HourOf(now), days.Day(clock.HourOf(now))
	wholeHour, wholeDay := hs.store.Kept()
	return kept{
		hour:      hour,
		firstHour: max(wholeHour, hour-min(hour, uint32(hs.options.KeptHours))),
		firstDay:  min(today, max(wholeDay, today-min(today, uint32(hs.options.KeptDays)))),
		days:      days,
	}
}

// Zone returns the zone of the store's days.
func (hs *Hits) Zone() *zone.Zone { return hs.store.Zone() }

// KeptSince returns the first hour and the first day for which figures are kept.
func (hs *Hits) KeptSince() (hour, day time.Time) {
	k := hs.kept(hs.now())
	return clock.HourTime(k.seriesFrom()), clock.HourTime(k.days.Begin(k.firstDay))
}

// window returns the window of q. created is the creation time of its subject, before which there
// are no figures.
func (q *Query) window(k kept, now, created time.Time) (window, error) {
	if created.After(now) { // the clock was set back
		created = now
	}
	q.useZone(&k)
	from, err := q.from(k, now, created)
	if err != nil {
		return window{}, err
	}
	to := k.hour + 1
	if !q.To.IsZero() && !q.To.After(now) {
		to = clock.HourOf(q.To.Add(time.Hour - 1))
	}
	switch {
	case q.Interval == Hourly:
	case q.Interval == Daily, to < k.hour+1 && from < k.firstHour && k.days.Floor(to) < k.firstHour:
		to = k.days.Ceil(to)
	}
	if to <= from {
		return window{}, windowError("to", "reversed", "must be after %s, where the window begins", clock.HourTime(from).Format(time.RFC3339))
	}
	w := window{from: from, to: to, days: k.days}
	w.split(k, q.Interval)
	return w, nil
}

const hoursKept = "figures by the hour are kept since %s: ask for days"

// from returns the first hour of the window.
func (q *Query) from(k kept, now, created time.Time) (uint32, error) {
	switch {
	case q.From.IsZero():
		if q.Interval == Hourly && !q.To.IsZero() && clock.HourOf(q.To) < k.seriesFrom() {
			return 0, windowError("to", "not_kept", hoursKept, clock.HourTime(k.seriesFrom()).Format(time.RFC3339))
		}
		return q.defaultFrom(k, created), nil
	case q.From.After(now):
		return 0, windowError("from", "in_future", "must not be in the future")
	case !q.To.IsZero() && !q.From.Before(q.To):
		return 0, windowError("from", "reversed", "must be before to")
	}
	hour := clock.HourOf(q.From)
	if q.Interval == Hourly && hour < k.seriesFrom() {
		return 0, windowError("from", "not_kept", hoursKept, clock.HourTime(k.seriesFrom()).Format(time.RFC3339))
	}
	return q.widenFrom(k, max(hour, k.days.Begin(k.firstDay))), nil
}

// widenFrom returns the first hour of the bucket that hour is in.
func (q *Query) widenFrom(k kept, hour uint32) uint32 {
	if q.Interval == Daily || q.Interval == NoSeries && hour < k.firstHour {
		return k.days.Floor(hour)
	}
	return hour
}

func (q *Query) defaultFrom(k kept, created time.Time) uint32 {
	switch q.Interval {
	case Hourly:
		return max(k.seriesFrom(), k.hour-min(k.hour, defaultSeriesHours-1))
	case Daily:
		today := k.days.Day(k.hour)
		return k.days.Begin(max(k.firstDay, today-min(today, defaultSeriesDays-1)))
	}
	return q.widenFrom(k, max(clock.HourOf(created), k.days.Begin(k.firstDay)))
}

// split cuts the window into buckets of the interval, or into the fewest spans that the store can
// read.
func (w *window) split(k kept, interval Interval) {
	switch {
	case interval == Hourly:
		w.cut(w.from, w.to, 1)
	case interval == Daily:
		for from := w.from; from < w.to; from = w.spans[len(w.spans)-1].ToHour {
			w.spans = append(w.spans, Span{from, k.days.Begin(k.days.Day(from) + 1)})
		}
	case k.foreign:
		w.cut(w.from, w.to, w.to-w.from)
	default:
		w.splitDays(k)
	}
}

// splitDays cuts the window into its whole days and the hours before and after them, also where all hours are kept:
// hits that an import brought along by day are in rows of days alone.
func (w *window) splitDays(k kept) {
	first, last := k.days.Ceil(w.from), k.days.Floor(w.to)
	if w.to > k.hour {
		last = k.days.Ceil(w.to) // the rows of today are complete up to now
	}
	if first >= last {
		w.cut(w.from, w.to, w.to-w.from)
		return
	}
	w.cut(w.from, first, first-w.from)
	w.cut(first, last, last-first)
	w.cut(last, w.to, w.to-min(last, w.to))
}

func (w *window) cut(from, to, step uint32) {
	for ; from < to; from += step {
		w.spans = append(w.spans, Span{from, from + step})
	}
}

// useZone has k count days of q's zone, if all days of the window are in kept hours: only hours can be added up to
// other days than the store's.
func (q *Query) useZone(k *kept) {
	if q.Zone == nil || q.From.IsZero() {
		return
	}
	if from := q.Zone.Floor(clock.HourOf(q.From)); from >= k.firstHour && from >= k.days.Begin(k.firstDay) {
		k.foreign = q.Zone.Name() != k.days.Name()
		k.firstDay, k.days = q.Zone.Day(from), q.Zone
	}
}

// DaysOf returns the zone whose days the window of q has now: that of q, or the store's.
func (hs *Hits) DaysOf(q Query) *zone.Zone {
	k := hs.kept(hs.now())
	q.useZone(&k)
	return k.days
}

func windowError(field, code, format string, args ...any) error {
	return invalid.Error{{Field: field, Code: code, Message: fmt.Sprintf(format, args...)}}
}
