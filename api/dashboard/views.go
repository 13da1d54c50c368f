package dashboard

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"io/fs"
	"path"
	"strings"

	"github.com/valyala/fasthttp"

	"shunt/api/chart"
	"shunt/api/page"
)

//go:embed templates
var templates embed.FS

//go:embed style.css
var style string

//go:embed script.js
var script string

// policy is the Content-Security-Policy of the pages: nothing inline, nothing from elsewhere.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// views are the templates of the pages by name, and the files that pages load.
type views struct {
	pages               map[string]*template.Template
	assets              map[string]asset // by path
	styleURL, scriptURL string
}

// parseViews reads the templates. Each page has the layout, the parts and a file of its own.
func parseViews() views {
	v := views{pages: make(map[string]*template.Template), assets: make(map[string]asset)}
	v.styleURL = v.addAsset("style.css", "text/css; charset=utf-8", page.BaseStyle+page.Compact(style+chart.Style))
	v.scriptURL = v.addAsset("script.js", "text/javascript; charset=utf-8", script)
	base := template.Must(template.New("layout.html").Funcs(functions).ParseFS(templates, "templates/layout.html", "templates/parts/*.html"))
	files, _ := fs.Glob(templates, "templates/*.html")
	for _, file := range files {
		if name := strings.TrimSuffix(path.Base(file), ".html"); name != "layout" {
			v.pages[name] = template.Must(template.Must(base.Clone()).ParseFS(templates, file))
		}
	}
	return v
}

// An asset is a file that pages load. Its path has its hash, so browsers may keep it for ever.
type asset struct {
	mediaType string
	body      []byte
}

func (v *views) addAsset(name, mediaType, text string) (url string) {
	hash := sha256.Sum256([]byte(text))
	url = Root + "assets/" + hex.EncodeToString(hash[:8]) + "/" + name
	v.assets[url] = asset{mediaType, []byte(text)}
	return url
}

func (a asset) serve(ctx *fasthttp.RequestCtx) {
	guard(ctx)
	h := &ctx.Response.Header
	h.Set("Content-Security-Policy", page.AssetPolicy)
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	h.SetContentType(a.mediaType)
	ctx.Response.SetBodyRaw(a.body)
}

// guard restricts what browsers do with a page. Its forms need Referrer-Policy: same-origin,
// because under no-referrer browsers send them with Origin: null.
func guard(ctx *fasthttp.RequestCtx) {
	h := &ctx.Response.Header
	h.Set("Content-Security-Policy", policy)
	h.Set("Referrer-Policy", "same-origin")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
}

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

func (r *request) navigation() (items []navItem) {
	at := r.path()
	for _, n := range navigation {
		if n.admin && !r.admin() {
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

// show answers with the page of that name: a file in templates. data is what it shows. It must not
// be called in a turn, because large pages take one.
func (r *request) show(status int, name, title string, data any) error {
	f := frame{
		Title: title, Site: r.site.Name(), Mark: template.HTML(r.site.Mark()), Support: r.site.Brand.SupportURL, Docs: r.site.Docs,
		StyleURL: r.views.styleURL, ScriptURL: r.views.scriptURL,
		Conditions: r.conditions(), Page: data,
	}
	if r.signedIn() {
		f.Nav, f.User = r.navigation(), r.caller.User.Name
		f.Notice = r.takeNotice()
	}
	var b bytes.Buffer
	draw := func() error { return r.views.pages[name].ExecuteTemplate(&b, "layout.html", f) }
	var err error
	if large[name] {
		err = r.calls.InTurn(r.caller, draw)
	} else {
		err = draw()
	}
	if err != nil {
		return fmt.Errorf("page %s: %w", name, err)
	}
	r.ctx.Response.Header.SetContentType("text/html; charset=utf-8")
	r.ctx.SetStatusCode(status)
	r.ctx.Response.SetBodyRaw(b.Bytes())
	return nil
}

// conditions are what keeps the server from doing all of its work.
func (r *request) conditions() (all []notice) {
	if !r.engine.Ready() {
		return []notice{{Kind: "warning", Text: "The server has just started and is still loading its links. Try again in a few seconds."}}
	}
	if r.engine.ReadOnly() {
		all = append(all, notice{Kind: "warning", Text: "Nothing can be changed at present, because the server's disk is almost full. Links still redirect, and hits are still counted."})
	}
	if m := r.engine.Metrics(); m.JournalUnprotected > 0 || m.JournalStandby || r.stalled() {
		all = append(all, notice{Kind: "warning", Text: "The server's disk does not answer at present. Links still redirect, and hits are still counted, but changes may have to wait."})
	}
	return all
}
