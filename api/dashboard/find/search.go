package find

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"shunt/api/dashboard/visit"
)

// Path is the path of the list.
const Path = visit.Root + "links"

// A Search is what the list is asked for.
type Search struct {
	Q, Tag, State string
	From, To      string // days of creation
	NeverHit      string // "true", or empty
	Folder        string // the number of one
	Sort          string // the name of an Order
	Owner         string // empty: the visitor
	Domain        string // a host; empty: all domains

	FolderName, OwnerName string // for people; they are no parameters
	Implied               bool   // the owner is that of an address without one, and so no filter
}

// fields are the parameters of an address, in the order of filters on the page. The last one is no filter.
var fields = []struct {
	name, words string
	of          func(*Search) *string
}{
	{"q", "words: ", func(s *Search) *string { return &s.Q }}, {"tag", "tag: ", func(s *Search) *string { return &s.Tag }},
	{"state", "state: ", func(s *Search) *string { return &s.State }},
	{"created_from", "created from ", func(s *Search) *string { return &s.From }},
	{"created_to", "created until ", func(s *Search) *string { return &s.To }},
	{"never_hit", "never hit", func(s *Search) *string { return &s.NeverHit }},
	{"folder", "folder: ", func(s *Search) *string { return &s.Folder }},
	{"owner", "owner: ", func(s *Search) *string { return &s.Owner }}, {"domain", "domain: ", func(s *Search) *string { return &s.Domain }},
	{"sort", "", func(s *Search) *string { return &s.Sort }},
}

var filters = fields[:len(fields)-1]

// Read returns the search whose parameters value returns.
func Read(value func(name string) string) (s Search) {
	for _, f := range fields {
		*f.of(&s) = value(f.name)
	}
	s.Q, s.Tag = strings.TrimSpace(s.Q), strings.TrimSpace(s.Tag)
	return s
}

// An Order is one of the list.
type Order struct {
	Name            string // in the address
	Title           string
	sort, direction string // of the call
}

// Orders are all of them; the first is that of an address without one.
var Orders = []Order{
	{"", "newest first", "", ""}, {"oldest", "oldest first", "created", "asc"}, {"changed", "last changed", "updated", ""},
	{"hits", "most hits", "hits", ""}, {"least", "fewest hits", "hits", "asc"}, {"visitors", "most visitors", "visitors", ""},
	{"last-hit", "last hit", "last_hit", ""}, {"match", "best match", "relevance", ""},
}

// Order returns the order that s asks for; the first one if there is none of that name.
func (s *Search) Order() Order {
	i := slices.IndexFunc(Orders, func(o Order) bool { return o.Name == s.Sort })
	return Orders[max(i, 0)]
}

// BySums reports whether the order is one of figures that are summed up.
func (s *Search) BySums() bool { return s.Sort == "visitors" || s.Sort == "last-hit" }

// Pairs returns the names and values of the parameters of the call that lists what s asks for, in its order.
func (s *Search) Pairs() (pairs []string) {
	for _, f := range filters {
		pairs = append(pairs, f.name, *f.of(s))
	}
	order := s.Order()
	return append(pairs, "sort", order.sort, "order", order.direction)
}

// Given returns the parameters of the address, those that have a value.
func (s *Search) Given() (given []visit.Parameter) {
	for _, f := range fields {
		if value := *f.of(s); value != "" {
			given = append(given, visit.Parameter{Name: f.name, Value: value})
		}
	}
	return given
}

// A Chip is a filter of the list, and the address of the list without it.
type Chip struct{ Text, Path string }

// Chips returns the filters of s.
func (s *Search) Chips() (all []Chip) {
	for _, f := range filters {
		value := *f.of(s)
		if value == "" || f.name == "owner" && s.Implied {
			continue
		}
		without := *s
		*f.of(&without) = ""
		switch f.name {
		case "never_hit":
			value = ""
		case "folder":
			value = cmp.Or(s.FolderName, value)
		case "owner":
			value = cmp.Or(s.OwnerName, value)
		}
		all = append(all, Chip{f.words + value, without.Address()})
	}
	return all
}

// Of returns the search for the links that an address is about, those with a tag; empty: any.
func Of(w visit.Whose, tag string) *Search {
	return &Search{Tag: tag, Owner: w.Owner, Domain: w.Domain}
}

// Whose returns whose links s asks for.
func (s *Search) Whose() visit.Whose { return visit.Whose{Owner: s.Owner, Domain: s.Domain} }

// Words returns the filters, the order and the owner for people, each a text: those of a filter that is saved.
func (s *Search) Words() (all []string) {
	for _, c := range s.Chips() {
		all = append(all, c.Text)
	}
	if s.Sort != "" {
		all = append(all, s.Order().Title)
	}
	if len(all) == 0 {
		return []string{"all links"}
	}
	return all
}

// SortedBy returns the address of the list in the order of that name.
func (s *Search) SortedBy(name string) string {
	sorted := *s
	sorted.Sort = name
	return sorted.Address()
}

// only reports whether s has no other filters than those of some names.
func (s *Search) only(names ...string) bool {
	for _, f := range filters {
		if *f.of(s) != "" && !slices.Contains(names, f.name) {
			return false
		}
	}
	return true
}

// Empty reports whether the list is of everything: of all links of the visitor, or of all users.
func (s *Search) Empty() bool { return s.only("owner") && (s.Owner == "" || s.Owner == all) }

// all is the owner that stands for all users.
const all = "all"

// Address returns the address of the list, with more parameters; empty ones are left out.
func (s *Search) Address(pairs ...string) string { return s.at(Path, pairs) }

// At returns the address of another page with the parameters of the list.
func (s *Search) At(path string) string { return s.at(path, nil) }

func (s *Search) at(path string, pairs []string) string {
	for _, g := range s.Given() {
		pairs = append(pairs, g.Name, g.Value)
	}
	return visit.Address(path, pairs...)
}

// Query returns the parameters as they stand in the address, in one order whatever their order there.
func (s *Search) Query() string {
	_, query, _ := strings.Cut(s.Address(), "?")
	return query
}

// Parse reads a query. Parameters that a search does not have are left out.
func Parse(query string) Search {
	values, _ := url.ParseQuery(query)
	return Read(values.Get)
}

// Cleared returns the address of the list of everything, of the same owner and domain unless these alone are asked
// for.
func (s *Search) Cleared() string {
	if s.only("owner", "domain") {
		return Path
	}
	return Of(s.Whose(), "").Address()
}
