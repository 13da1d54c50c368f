package source

import (
	"errors"
	"slices"
	"strings"
)

// A system is what the links of a file were made with.
type system struct {
	name    string   // in --format
	status  int      // its redirects have; 0: it is not known
	heads   []string // names of values which only its tables have all, "," between those of different tables
	keys    []string // the same for its JSON, also of members before the list of links
	encoded bool     // its codes are percent-encoded
	// alsoAt takes further addresses of a link, which redirect as well; nil: there are none.
	alsoAt func(fields) []string
	// refused returns why a record cannot become a link; nil: every record can.
	refused func(fields) error
}

// systems are all of them, in the order in which they are tried.
var systems = []system{
	{name: "shlink", status: 302, heads: []string{"shortcode", "longurl"}, keys: []string{"shortcode", "longurl"}, encoded: true},
	{name: "bitly", status: 301, heads: []string{"bitlink", ",", "customlink", "destinationurl", ",", "longurl", "link"}, keys: []string{"custombitlinks", ",", "longurl", "link"}, alsoAt: bitlyAddresses},
	{name: "kutt", status: 302, keys: []string{"address", "target"}},
	{name: "dub", status: 302, heads: []string{"shortlink", "destinationurl"}, keys: []string{"key", "url", "shortlink"}},
	{name: "sink", status: 301, keys: []string{"slug", "url", "exportedat", ",", "slug", "url", "redirectwithquery", ",", "id", "slug", "url", "createdat", "updatedat"}},
	{name: golink, status: 302, keys: []string{"short", "long"}, refused: noTemplate},
	{name: "rebrandly", keys: []string{"slashtag", "destination"}},
	{name: "short.io", keys: []string{"originalurl", "path"}},
	{name: yourls, status: 301, heads: []string{"source", "target", "hits"}, keys: []string{"shorturl", "url", "timestamp"}},
	{name: "polr", status: 301},
}

// Systems whose files may have clicks beside their links.
const (
	yourls = "yourls"
	golink = "golink"
)

// other is any system.
var other = system{}

func systemNamed(name string) *system {
	if i := slices.IndexFunc(systems, func(s system) bool { return s.name == name }); i >= 0 {
		return &systems[i]
	}
	return nil
}

// systemOf returns the first system of whose marks has has all of one group; other: there is none.
func systemOf(marks func(*system) []string, has func(name string) bool) *system {
	for i := range systems {
		all, some := true, false
		for _, name := range append(slices.Clone(marks(&systems[i])), ",") {
			switch {
			case name != ",":
				all, some = all && has(name), true
			case all && some:
				return &systems[i]
			default:
				all, some = true, false
			}
		}
	}
	return &other
}

func (s *system) headings() []string { return s.heads }
func (s *system) members() []string  { return s.keys }

// bitlyAddresses takes the addresses of a link of Bitly: the one that it made, and those that its owner chose.
func bitlyAddresses(f fields) []string {
	at := []string{f["link"].text, f["bitlink"].text}
	if f["link"].empty() && f["bitlink"].empty() {
		at[0] = f["id"].text
	}
	at = append(append(at, f["customlink"].text), f["custombitlinks"].list...)
	delete(f, "custombitlinks")
	return slices.DeleteFunc(at, func(text string) bool { return text == "" })
}

var errTemplate = errors.New("its target is a template, which no link has: perhaps forward_path does what it did")

// noTemplate refuses targets that golink works out for each visitor.
func noTemplate(f fields) error {
	if strings.Contains(f["long"].text, "{{") {
		return errTemplate
	}
	return nil
}
