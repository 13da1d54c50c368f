package doors

import (
	"fmt"
	"slices"
	"strings"

	"github.com/valyala/fasthttp"

	"shunt/api/doors/door"
	"shunt/api/doors/kutt"
	"shunt/api/doors/polr"
	"shunt/api/doors/shlink"
	"shunt/api/doors/yourls"
)

// table has all doors.
var table = []row{
	{name: "yourls", paths: []string{yourls.Path}, open: yourls.Open, variants: []variant{{"unique", yourls.OpenUnique}}},
	{name: "shlink", paths: []string{shlink.Path}, open: shlink.Open, ownCORS: true},
	{name: "kutt", paths: []string{kutt.Links, kutt.Health}, open: kutt.Open},
	{name: "polr", paths: []string{polr.Path}, open: polr.Open},
}

// A row is a door: its name in --doors, which is also the label route of the metrics, and the paths that it answers.
type row struct {
	name  string
	paths []string                         // and all below each of them
	open  func(h *door.House) door.Handler // called once

	variants []variant // other ways in which it may be open
	ownCORS  bool      // it lets pages of other origins in itself, whatever --cors-origin says
}

// A variant is a door that answers some requests in another way. Its name follows that of the door, and a colon.
type variant struct {
	name string
	open func(h *door.House) door.Handler
}

// Names returns the names of all doors.
func Names() (names []string) {
	for _, r := range table {
		names = append(names, r.name)
	}
	return names
}

// Chosen are the doors that an operator has named.
type Chosen []row

// Named returns the doors with these names. Of one that is named twice, the first counts.
func Named(names []string) (c Chosen, err error) {
	for _, text := range names {
		name, of, special := strings.Cut(text, ":")
		i := slices.IndexFunc(table, func(r row) bool { return r.name == name })
		if i < 0 {
			return nil, fmt.Errorf("%q must be one of %s", text, strings.Join(Names(), ", "))
		}
		r := table[i]
		if special {
			v := slices.IndexFunc(r.variants, func(v variant) bool { return v.name == of })
			if v < 0 {
				return nil, fmt.Errorf("%q is no way in which the door %s may be open", text, name)
			}
			r.open = r.variants[v].open
		}
		if !slices.ContainsFunc(c, func(r row) bool { return r.name == name }) {
			c = append(c, r)
		}
	}
	return c, nil
}

// What a server passes to doors.
type (
	House      = door.House
	Credential = door.Credential
	Action     = door.Action
)

// Doors are those that are open; nil: none.
type Doors struct{ open []Door }

// A Door is one that is open.
type Door struct {
	Name    string
	OwnCORS bool // it lets pages of other origins in itself
	paths   []string
	answer  door.Handler
}

// Answer answers a request, whose query ctx has no longer.
func (d *Door) Answer(ctx *fasthttp.RequestCtx, path, query string) {
	d.answer(&door.Request{Ctx: ctx, Path: path, Query: query})
}

// Open opens the doors.
func (c Chosen) Open(h *door.House) *Doors {
	d := new(Doors)
	for _, r := range c {
		d.open = append(d.open, Door{r.name, r.ownCORS, r.paths, r.open(h)})
	}
	return d
}

// At returns the door that answers a raw path: the one with the longest path that it is below; nil if there is none.
// Paths of doors have one spelling, as those of the API have, because what stands before the server may guard them by
// their beginning.
func (d *Doors) At(path []byte) (at *Door) {
	if d == nil {
		return nil
	}
	longest := 0
	for i := range d.open {
		for _, own := range d.open[i].paths {
			if len(own) > longest && isBelow(path, own) {
				at, longest = &d.open[i], len(own)
			}
		}
	}
	return at
}

// MayWrite reports whether a request for a raw path, which need not be that of a door, may change something. At a door
// a GET may, too: clients of other shorteners create links by it.
func (d *Doors) MayWrite(ctx *fasthttp.RequestCtx, path []byte) bool {
	return !ctx.IsGet() && !ctx.IsHead() || d.At(path) != nil
}

// isBelow reports whether path is own, or below it.
func isBelow(path []byte, own string) bool {
	return len(path) >= len(own) && string(path[:len(own)]) == own && (len(path) == len(own) || path[len(own)] == '/')
}
