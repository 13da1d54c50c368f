package dashboard

import (
	"embed"
	"html/template"
	"sync"

	"shunt/api/dashboard/fieldtext"
	"shunt/api/dashboard/visit"
)

//go:embed templates
var templates embed.FS

//go:embed style.css
var style string

//go:embed script.js
var script string

// pages returns all pages.
func pages() visit.Content {
	var all []visit.Row
	for _, r := range rows() {
		all = append(all, visit.Row{Method: r.method, Path: r.path, Who: r.who, Handle: of(r.page)})
	}
	return visit.Content{
		Rows: all, Templates: templates, Style: style, Script: script, AskToSignIn: of((*request).askToSignIn),
		Functions: template.FuncMap{"redirect": fieldtext.RedirectMeaning, "query": fieldtext.QueryMeaning, "value": valueText, "folded": foldedText, "size": sizeText, "seconds": seconds},
	}
}

// A request is a visitor's request for a page, whose methods are the pages.
type request struct{ *visit.Request }

// of returns the handler of a page or form.
func of(page func(*request) error) func(*visit.Request) error {
	return func(v *visit.Request) error { return page(&request{v}) }
}

// What package api needs of a dashboard, and gives to it.
type (
	Dashboard = visit.Dashboard
	Options   = visit.Options
	Sessions  = visit.Sessions
	Stream    = visit.Stream
)

// Root is the path of the overview; the paths of all pages begin with it.
const Root = visit.Root

// New returns the dashboard. It starts no goroutine.
func New(o Options) *Dashboard { return visit.New(o, parsed()) }

// parsed reads the templates once: that takes 20 ms, and programs of tests make hundreds of dashboards.
var parsed = sync.OnceValue(func() visit.Content { return visit.Parse(pages()) })
