package dashboard

import (
	"html/template"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/chart"
	"shunt/api/ops"
)

// A period is a window of time that a page offers, with the width of its buckets.
type period struct {
	Name     string // in the query
	Title    string
	Interval string // hour or day
	back     time.Duration
}

const day = 24 * time.Hour

// periods are the windows of all pages with figures.
var periods = []period{
	{"24h", "24 hours", "hour", 23 * time.Hour},
	{"48h", "48 hours", "hour", 47 * time.Hour},
	{"30d", "30 days", "day", 29 * day},
	{"400d", "400 days", "day", 399 * day},
}

// from returns the beginning of the period that ends at now.
func (p period) from(now time.Time) time.Time { return beginning(p.Interval, now).Add(-p.back) }

// beginning returns the beginning of the hour or day of t, in UTC.
func beginning(interval string, t time.Time) time.Time {
	if interval == "hour" {
		return t.UTC().Truncate(time.Hour)
	}
	return t.UTC().Truncate(day)
}

// periodNamed returns the period of that name, or the one that a page shows without a name.
func periodNamed(name, otherwise string) period {
	found := period{}
	for _, p := range periods {
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

// tabs returns the choices of periods; path is the page's, and ends in "period=" .
func tabs(path, current string) (all []tab) {
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

// A breakdown is the hits of a window by one dimension.
type breakdown struct {
	Title string
	Bars  template.HTML
	None  bool
}

// breakdowns returns the lists of figures.
func breakdowns(f *ops.Figures) []breakdown {
	var all []breakdown
	for _, d := range []struct {
		title  string
		values []ops.ValueFigures
	}{{"Referrers", f.Referrers}, {"Countries", f.Countries}, {"Devices", f.Devices}, {"Browsers", f.Browsers}} {
		rows := make([]chart.Row, len(d.values))
		for i, v := range d.values {
			rows[i] = chart.Row{Label: v.Value, Value: v.Hits, Rest: v.Value == "other" && i == len(d.values)-1}
		}
		all = append(all, breakdown{d.title, chart.Bars(rows, f.Hits), len(rows) == 0})
	}
	return all
}

// drawn returns the chart of a series.
func (r *request) drawn(caption, interval string, series []ops.Bucket) (template.HTML, error) {
	c := chart.Chart{ID: "hits", Caption: caption, Now: r.now()}
	if interval == "day" {
		c.Interval = chart.Day
	}
	for _, b := range series {
		c.Buckets = append(c.Buckets, chart.Bucket(b))
	}
	if len(c.Buckets) == 0 {
		return "", nil
	}
	return c.HTML()
}
