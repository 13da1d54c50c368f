package shares

import (
	"cmp"
	"html/template"
	"slices"
	"strings"

	"shunt/api/chart"
	"shunt/api/naming"
	"shunt/api/ops"
	"shunt/api/worldmap"
	"shunt/engine"
)

// A List is the hits of a window by one dimension.
type List struct {
	Title  string
	Map    template.HTML // of countries; empty: none
	Bars   template.HTML
	More   template.HTML // bars that are folded at first; empty: none
	Folded int           // how many More has
	None   string        // why there is nothing to show; empty: there is
}

// Lists are all lists of a page.
type Lists []List

// Mapped reports whether one of the lists has a map.
func (l Lists) Mapped() bool { return slices.ContainsFunc(l, func(x List) bool { return x.Map != "" }) }

// A Page is what lists must know of the page that they are on.
type Page struct {
	Path        func(name, value string) string // returns the address of the figures by a filter; nil: there are none
	Map         string                          // the address of worldmap.Shapes
	NoCountries string                          // why no country is known
}

// Of returns the lists of figures.
func (p Page) Of(f *ops.Figures) Lists {
	var all Lists
	for _, d := range []struct {
		list, title string
		values      []ops.ValueFigures
	}{
		{"referrers", "Referrers", f.Referrers}, {"devices", "Devices", f.Devices}, {"browsers", "Browsers", f.Browsers}, {"countries", "Countries", f.Countries},
	} {
		shown := List{Title: d.title}
		switch {
		case len(d.values) == 0:
			shown.None = "No hits in this time."
		case d.list == "countries" && allOther(d.values):
			shown.None = p.NoCountries
		default:
			rows := p.rows(d.list, d.values)
			shown.Bars, shown.More = bars(rows, f.Hits)
			shown.Folded = len(rows) - unfolded
			if d.list == "countries" {
				shown.Map = p.draw(d.values, f.Hits)
			}
		}
		all = append(all, shown)
	}
	return all
}

// A breakdown with more than maxUnfolded values shows the first unfolded ones, and has the others
// folded.
const (
	maxUnfolded = 15
	unfolded    = 10
)

// bars draws the rows of a breakdown; more are those that are folded at first.
func bars(rows []chart.Row, hits uint64) (first, more template.HTML) {
	if len(rows) <= maxUnfolded {
		return chart.Bars(rows, hits), ""
	}
	return chart.Bars(rows[:unfolded], hits), chart.Bars(rows[unfolded:], hits)
}

// allOther reports whether no value of a breakdown is known.
func allOther(values []ops.ValueFigures) bool {
	return len(values) == 1 && values[0].Value == ops.OtherValues
}

// rows returns the lines of a list: hosts of one site are one line, and the line of all others is the last one.
func (p Page) rows(list string, values []ops.ValueFigures) (rows []chart.Row) {
	var rest []chart.Row
	at := make(map[string]int) // of sites, in rows
	hosts := make(map[string][]ops.ValueFigures)
	for _, v := range values {
		l := labelOf(list, v.Value)
		row := chart.Row{Label: l.label, Value: v.Hits, Flag: l.flag, Note: l.note, Path: p.path(parameterOf(list), v.Value)}
		switch name := siteIn(list, v.Value); {
		case v.Value == ops.OtherValues:
			rest = []chart.Row{{Label: restOf(list, len(values)-1), Value: v.Hits, Rest: true}}
		case name == "":
			rows = append(rows, row)
		default:
			if i, found := at[name]; found {
				rows[i].Value += v.Hits
			} else {
				at[name], row.Path = len(rows), p.path(site, name)
				rows = append(rows, row)
			}
			hosts[name] = append(hosts[name], v)
		}
	}
	for name, all := range hosts {
		if len(all) > 1 {
			rows[at[name]].Note = noteOf(all)
		}
	}
	slices.SortStableFunc(rows, func(a, b chart.Row) int { return cmp.Compare(b.Value, a.Value) })
	return append(rows, rest...)
}

func (p Page) path(name, value string) string {
	if p.Path == nil {
		return ""
	}
	return p.Path(name, value)
}

// siteIn returns the site that a value of a list belongs to; "" of all that are no hosts of one.
func siteIn(list, value string) string {
	if list != "referrers" {
		return ""
	}
	return naming.Site(value)
}

// maxNoted is how many hosts a note names.
const maxNoted = 3

// noteOf names the hosts of a site with their hits.
func noteOf(hosts []ops.ValueFigures) string {
	var parts []string
	for _, v := range hosts[:min(maxNoted, len(hosts))] {
		parts = append(parts, v.Value+" "+chart.Grouped(v.Hits))
	}
	if more := len(hosts) - maxNoted; more > 0 {
		parts = append(parts, chart.Grouped(uint64(more))+" more")
	}
	return strings.Join(parts, ", ")
}

// restOf says what hits have that are in no other line of a list with n values.
func restOf(list string, n int) string {
	switch {
	case n < engine.ShownValues && list != "referrers":
		return "Unknown" // countries, devices and browsers are counted exactly
	case list == "countries":
		return "Others and unknown"
	}
	return "Other"
}

// draw returns the map of countries.
func (p Page) draw(values []ops.ValueFigures, hits uint64) template.HTML {
	var countries []worldmap.Country
	for _, v := range values {
		if v.Value != ops.OtherValues {
			text := chart.Grouped(v.Hits) + " (" + chart.Share(v.Hits, hits) + ")"
			countries = append(countries, worldmap.Country{Code: v.Value, Name: naming.Country(v.Value), Hits: v.Hits, Text: text})
		}
	}
	return worldmap.HTML(countries, hits, p.Map)
}

// Hosts returns the values that a filter chose as a list; nil if there is one at most.
func Hosts(f *ops.Filtered, path func(name, value string) string) *List {
	if len(f.Values) < 2 {
		return nil
	}
	var rows []chart.Row
	left := f.Chosen
	for _, v := range f.Values {
		rows = append(rows, chart.Row{Label: v.Value, Value: v.Hits, Path: path(referrer, v.Value)})
		left -= min(left, v.Hits)
	}
	if left > 0 {
		rows = append(rows, chart.Row{Label: "Other", Value: left, Rest: true})
	}
	l := &List{Title: "Hosts", Folded: len(rows) - unfolded}
	l.Bars, l.More = bars(rows, f.Chosen)
	return l
}
