package visit

import (
	"bytes"
	"fmt"
	"html/template"
	"strings"
)

// A frame is what the layout shows around a page.
type frame struct {
	Title               string
	Site                string
	Mark                template.HTML // of the site: its logo or its name
	Support             string        // the address to ask at; empty: none
	StyleURL, ScriptURL string
	Nav                 []navItem // empty: nobody is signed in
	User                string
	Conditions          []notice // of the server
	Notice              *notice  // of the form that was sent before
	Docs                string
	Page                any // what the page's own template shows
}

type navItem struct {
	Path, Name string
	Current    bool
}

// navigation is the menu; a page belongs to the entry whose path begins its own, or to the one that
// it names.
var navigation = []struct {
	path, name string
	admin      bool
	below      string // paths that begin so belong to it, too
}{
	{"/_/", "Overview", false, ""},
	{"/_/links", "Links", false, "/_/link"},
	{"/_/tokens", "Tokens", false, ""},
	{"/_/transfer", "Import and export", false, ""},
	{"/_/misses", "Misses", true, ""},
	{"/_/users", "Users", true, ""},
	{"/_/audit", "Audit log", true, ""},
	{"/_/system", "System", true, ""},
}

func (r *Request) navigation() (items []navItem) {
	at := r.path()
	for _, n := range navigation {
		if n.admin && !r.Admin() {
			continue
		}
		current := at == n.path || n.path != Root && strings.HasPrefix(at, n.path+"/") || n.below != "" && strings.HasPrefix(at, n.below)
		items = append(items, navItem{n.path, n.name, current})
	}
	return items
}

// large are the pages that can keep a core busy for more than a millisecond while they are drawn: 50
// links take 3 ms, the lines of 1,000 addresses 20.
var large = map[string]bool{
	"overview": true, "links": true, "link": true, "link-bulk": true, "tokens": true, "users": true, "misses": true, "transfer": true,
	"system": true, "audit": true,
}

// Show answers with the page of that name: a file in templates. data is what it shows. It must not
// be called in a turn, because large pages take one.
func (r *Request) Show(status int, name, title string, data any) error {
	f := frame{
		Title: title, Site: r.Site.Name(), Mark: template.HTML(r.Site.Mark()), Support: r.Site.Brand.SupportURL, Docs: r.Site.Docs,
		StyleURL: r.views.styleURL, ScriptURL: r.views.scriptURL,
		Conditions: r.conditions(), Page: data,
	}
	if r.SignedIn() {
		f.Nav, f.User = r.navigation(), r.Caller.User.Name
		f.Notice = r.takeNotice()
	}
	var b bytes.Buffer
	draw := func() error { return r.views.pages[name].ExecuteTemplate(&b, "layout.html", f) }
	var err error
	if large[name] {
		err = r.Calls.InTurn(r.Caller, draw)
	} else {
		err = draw()
	}
	if err != nil {
		return fmt.Errorf("page %s: %w", name, err)
	}
	r.Ctx.Response.Header.SetContentType("text/html; charset=utf-8")
	r.Ctx.SetStatusCode(status)
	r.Ctx.Response.SetBodyRaw(b.Bytes())
	return nil
}

// conditions are what keeps the server from doing all of its work.
func (r *Request) conditions() (all []notice) {
	if !r.Engine.Ready() {
		return []notice{{Kind: "warning", Text: "The server has just started and is still loading its links. Try again in a few seconds."}}
	}
	if r.Engine.ReadOnly() {
		all = append(all, notice{Kind: "warning", Text: "Nothing can be changed at present, because the server's disk is almost full. Links still redirect, and hits are still counted."})
	}
	if m := r.Engine.Metrics(); m.JournalUnprotected > 0 || m.JournalStandby || r.Stalled() {
		all = append(all, notice{Kind: "warning", Text: "The server's disk does not answer at present. Links still redirect, and hits are still counted, but changes may have to wait."})
	}
	return all
}
