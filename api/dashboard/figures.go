package dashboard

import (
	"html/template"
	"slices"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/chart"
	"shunt/api/dashboard/visit"
	"shunt/api/ops"
)

// A period is a window of time that a page offers: the last hours or days, with the present one.
type period struct {
	Name     string // in the query
	Title    string
	Interval string // hour or day
	buckets  int
}

const day = 24 * time.Hour

// periods are the windows of all pages with figures, the shorter before the longer.
var periods = []period{
	{Name: "24h", Interval: "hour", buckets: 24},
	{Name: "48h", Interval: "hour", buckets: 48},
	{Name: "30d", Interval: "day", buckets: 30},
	{Name: "400d", Interval: "day", buckets: 400},
}

// keptPeriods returns the periods for which figures are kept. One that is kept in part is cut, and
// left out if a shorter one shows as much.
func (r *request) keptPeriods() (all []period) {
	hour, day := r.Engine.KeptSince()
	now, longest := r.Now(), make(map[string]int)
	for _, p := range periods {
		first := day
		if p.Interval == "hour" {
			first = hour
		}
		whole := int(r.beginning(p.Interval, now, 0).Sub(first).Round(p.width()) / p.width()) // without the present one
		p.buckets = min(p.buckets, max(whole, 1))
		if p.buckets <= longest[p.Interval] {
			continue
		}
		longest[p.Interval] = p.buckets
		p.Title = visit.Plural(uint64(p.buckets), p.Interval, p.Interval+"s")
		all = append(all, p)
	}
	return all
}

// width returns the width of the period's buckets.
func (p period) width() time.Duration {
	if p.Interval == "hour" {
		return time.Hour
	}
	return day
}

// since returns the beginning of the period that ends now.
func (r *request) since(p period) time.Time { return r.beginning(p.Interval, r.Now(), 1-p.buckets) }

// beginning returns the beginning of the hour that is n hours after that of t, or of such a day of the store's zone.
func (r *request) beginning(interval string, t time.Time, n int) time.Time {
	if interval == "hour" {
		return t.UTC().Truncate(time.Hour).Add(time.Duration(n) * time.Hour)
	}
	return r.Engine.Zone().DayOf(t, n)
}

// periodNamed returns the period of that name, or the one that a page shows without a name, or the
// first.
func periodNamed(all []period, name, otherwise string) period {
	found := all[0]
	for _, p := range all {
		if p.Name == name {
			return p
		}
		if p.Name == otherwise {
			found = p
		}
	}
	return found
}

// A tab is one choice of a period.
type tab struct {
	Title, Path string
	Current     bool
}

// tabs returns the choices of periods; path is the page's, and ends in "period=".
func tabs(periods []period, path, current string) (all []tab) {
	for _, p := range periods {
		all = append(all, tab{p.Title, path + p.Name, p.Name == current})
	}
	return all
}

// parameters returns names and values as parameters of a call; empty values are left out.
func parameters(pairs ...string) *fasthttp.Args {
	args := &fasthttp.Args{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			args.Set(pairs[i], pairs[i+1])
		}
	}
	return args
}

// moment returns a time as the calls take it; "" for the zero time.
func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// allLists asks for the breakdowns, and for what is apart from hits.
const allLists = "bots,referrers,countries,devices,browsers,error"

// leastDays is the shortest chart of days; one of a young store or link has no more days of nothing before its first hit.
const leastDays = 30

// fromFirstHit returns a series of days without the empty ones at its beginning, as far as they are beyond leastDays.
func fromFirstHit(interval string, series []ops.Bucket) []ops.Bucket {
	first := slices.IndexFunc(series, func(b ops.Bucket) bool { return b.Hits > 0 })
	if interval != "day" || first < 0 || len(series) <= leastDays {
		return series
	}
	return series[min(first, len(series)-leastDays):]
}

// drawn returns the chart of a series; "" if that is empty, or too long for a chart.
func (r *request) drawn(interval string, series []ops.Bucket) (template.HTML, error) {
	c := chart.Chart{ID: "hits", Caption: "Hits and visitors by " + interval, Now: r.Now()}
	if interval == "day" {
		c.Interval, c.Zone = chart.Day, r.Engine.Zone().Place()
	}
	for _, b := range fromFirstHit(interval, series) {
		c.Buckets = append(c.Buckets, chart.Bucket(b))
	}
	if len(c.Buckets) < len(series) && c.Buckets[0].Hits > 0 {
		c.Caption += ", since the first of them"
	}
	if n := len(c.Buckets); n == 0 || n > chart.MaxBuckets {
		return "", nil
	}
	return c.HTML()
}
