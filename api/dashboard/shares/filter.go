package shares

import (
	"strings"

	"shunt/api/naming"
	"shunt/api/ops"
	"shunt/engine"
)

// A Filter is a value that hits are asked for by, or a site with all of its hosts.
type Filter struct {
	ops.Filter
	Name  string // the parameter in the address
	Value string // as there
	Kind  string // Country
	Label string // Germany
	Flag  string // of a country
	Note  string // what people need beside the label; empty: nothing
}

// A kind is one way to ask for hits. Sites and referrers are values of one list.
type kind struct{ name, list, title string }

// The parameters of filters.
const (
	site     = "site"
	referrer = "referrer"
	country  = "country"
	device   = "device"
	browser  = "browser"
)

var kinds = []kind{
	{site, "referrers", "Referrer"}, {referrer, "referrers", "Referrer"}, {country, "countries", "Country"},
	{device, "devices", "Device"}, {browser, "browsers", "Browser"},
}

// ReadFilter reads the filter in an address, which query returns the parameters of. ok: it has exactly one, and that
// may be a value.
func ReadFilter(query func(name string) string) (f Filter, ok bool) {
	for _, k := range kinds {
		value := query(k.name)
		if value == "" {
			continue
		}
		if ok || len(value) > engine.MaxReferrerBytes || k.name == country && naming.Flag(value) == "" || k.name == site && !naming.IsSite(value) {
			return Filter{}, false
		}
		f, ok = k.filter(value), true
	}
	return f, ok
}

// filter returns the filter for a value.
func (k kind) filter(value string) Filter {
	f := Filter{Name: k.name, Value: value, Kind: k.title}
	f.List, f.Has = k.list, func(v string) bool { return v == value }
	if k.name == site {
		f.Label, f.Has = value, func(v string) bool { return naming.Site(v) == value }
		return f
	}
	row := labelOf(k.list, value)
	f.Label, f.Flag, f.Note = row.label, row.flag, row.note
	return f
}

// A label is how people call a value.
type label struct{ label, flag, note string }

func labelOf(list, value string) label {
	switch {
	case list == "countries":
		return label{label: naming.Country(value), flag: naming.Flag(value)}
	case list != "referrers":
		return label{label: naming.Agent(value)}
	case value == engine.DirectReferrer:
		return label{label: "Direct", note: "typed, from an app, or not told"}
	case value == engine.ScanName:
		return label{label: value, note: "scanned"}
	}
	if name := naming.Site(value); name != "" {
		return label{label: name, note: value}
	}
	return label{label: value}
}

// parameterOf returns the parameter by which the lines of a list are asked for.
func parameterOf(list string) string {
	for _, k := range kinds {
		if k.list == list && k.name != site {
			return k.name
		}
	}
	return ""
}

// Keeps says what is kept of hits, and so what a filter cannot show.
func (f *Filter) Keeps() string {
	others := []string{"referrer", "country", "device", "browser"}
	others = without(others, strings.ToLower(f.Kind))
	return "Hits are counted by referrer, by country, by device and by browser, each by itself. So the " + strings.ToLower(f.Kind) +
		" of a hit is not known together with its " + others[0] + ", " + others[1] + " or " + others[2] + ", and visitors are counted for all hits only."
}

func without(words []string, word string) (left []string) {
	for _, w := range words {
		if w != word {
			left = append(left, w)
		}
	}
	return left
}
