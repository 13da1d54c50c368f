package visit

import (
	"bytes"
	"fmt"
	"html/template"
	"slices"
	"strings"
)

// A frame is what the layout shows around a page.
type frame struct {
	Title               any    // a text, or a Name
	Language            string // of the page, for its attribute lang
	Site                string
	Mark                template.HTML // of the site: its logo or its name
	Support             string        // the address to ask at; empty: none
	StyleURL, ScriptURL string
	Nav                 []navItem // empty: nobody is signed in
	Below               []navItem // the pages of the group that this page belongs to; empty: of none
	User                string
	Conditions          []notice // of the server
	Notice              *notice  // of the form that was sent before
	Zone                string   // that the browser has told
	Docs                string
	Page                any // what the page's own template shows
}

type navItem struct {
	Path, Name string
	Current    bool
}

// has reports whether the page at a path is the item's, or below it.
func (n navItem) has(path string) bool {
	return path == n.Path || n.Path != Root && strings.HasPrefix(path, n.Path+"/")
}

// navigation is the menu.
var navigation = []navItem{
	{Path: Root, Name: "Overview"}, {Path: Root + "links", Name: "Links"}, {Path: Root + "tags", Name: "Tags"}, {Path: Root + "folders", Name: "Folders"},
	{Path: Root + "tokens", Name: "Tokens"}, {Path: Root + "transfer", Name: "Move and export"},
}

// administration are the pages of admins alone. They stand behind one entry of the menu, which leads to the first of
// them.
var administration = []navItem{
	{Path: Root + "users", Name: "Users"}, {Path: Root + "all-tokens", Name: "All tokens"}, {Path: Root + "domains", Name: "Domains"}, {Path: Root + "misses", Name: "Broken links"},
	{Path: Root + "audit", Name: "Audit log"}, {Path: Root + "system", Name: "System"},
}

// pages are those of the menu without those of admins. Tags are of one user, and a viewer rarely has links.
func (r *Request) pages() []navItem {
	if r.Edits() {
		return navigation
	}
	return slices.DeleteFunc(slices.Clone(navigation), func(n navItem) bool { return n.Path == Root+"tags" })
}

// A Place is a page of the menu.
type Place struct{ Path, Name string }

// Places returns all pages of the menu that the visitor may see.
func (r *Request) Places() (all []Place) {
	items := r.pages()
	if r.Admin() {
		items = slices.Concat(items, administration)
	}
	for _, n := range items {
		all = append(all, Place{n.Path, n.Name})
	}
	return all
}

// navigation returns the menu, and the pages of the group that the page belongs to.
func (r *Request) navigation() (items, below []navItem) {
	items, _ = marked(r.pages(), r.Path())
	of := ""
	switch by := r.Path() == Root+"by"; {
	case strings.HasPrefix(r.Path(), Root+"link/"), r.Path() == Root+"compare", by && r.Query("code") != "":
		of = Root + "links"
	case by && r.Query("tag") != "":
		of = Root + "tags"
	case by:
		of = Root
	}
	if i := slices.IndexFunc(items, func(n navItem) bool { return n.Path == of }); i >= 0 {
		items[i].Current = true
	}
	if !r.Admin() {
		return items, nil
	}
	below, inside := marked(administration, r.Path())
	items = append(items, navItem{Path: below[0].Path, Name: "Admin", Current: inside})
	if !inside {
		below = nil
	}
	return items, below
}

// marked returns items with the one marked that has the page at path; any: there is one.
func marked(items []navItem, path string) (all []navItem, any bool) {
	all = slices.Clone(items)
	for i := range all {
		all[i].Current = all[i].has(path)
		any = any || all[i].Current
	}
	return all, any
}

// large are the pages that can keep a core busy for more than a millisecond while they are drawn: 50
// links took 3 ms, the lines of 1,000 addresses 20.
var large = map[string]bool{
	"overview": true, "links": true, "link": true, "compare": true, "tag-figures": true, "by": true, "link-bulk": true, "tokens": true, "all-tokens": true, "users": true, "misses": true, "transfer": true,
	"system": true, "audit": true, "go": true, "folders": true,
}

// Show answers with the page of that name: a file in templates. title is a text, or a Name. data is what the page
// shows. Show must not be called in a turn, because large pages take one.
func (r *Request) Show(status int, name string, title, data any) error {
	language := r.Language()
	view := r.views.languages[language]
	f := frame{
		Title: title, Site: r.Site.Name(), Mark: template.HTML(r.Site.Mark()), Support: r.Site.Brand.SupportURL, Docs: r.Site.Docs,
		StyleURL: r.views.styleURL, ScriptURL: view.scriptURL, Language: language.Tag(),
		Conditions: r.conditions(), Page: data,
	}
	if r.SignedIn() {
		f.Nav, f.Below = r.navigation()
		f.User = r.Caller.User.Name
		f.Notice, f.Zone = r.takeNotice(), r.Remembered(ToldZone)
	}
	var b bytes.Buffer
	draw := func() error { return view.pages()[name].ExecuteTemplate(&b, "layout.html", f) }
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
