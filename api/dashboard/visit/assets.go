package visit

import (
	"crypto/sha256"
	"encoding/hex"
	"html/template"
	"io/fs"
	"maps"
	"path"
	"strings"
	"sync"

	"github.com/valyala/fasthttp"

	"shunt/api/chart"
	"shunt/api/fetch"
	"shunt/api/page"
	"shunt/api/words"
	"shunt/api/worldmap"
)

// policy is the Content-Security-Policy of the pages: nothing inline, nothing from elsewhere.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// iconPolicy is the policy of an answer that has an icon in it. An image that is part of a page runs nothing and asks
// nobody; no other answer may have one, so that whoever got HTML into a page could not show pictures with it.
var iconPolicy = strings.Replace(policy, "img-src 'self'", "img-src 'self' data:", 1)

// ShowIcon returns the address of the icon of a page that was fetched, for the answer to this request; "" if there is
// none.
func (r *Request) ShowIcon(p *fetch.Page) template.URL {
	icon := p.IconURL()
	if icon != "" {
		r.Ctx.Response.Header.Set("Content-Security-Policy", iconPolicy)
	}
	return template.URL(icon)
}

// views are the pages by their language, and the files that they load.
type views struct {
	languages        map[*words.Catalog]*view
	assets           map[string]asset // by path
	styleURL, mapURL string
}

// A view is the pages in a language.
type view struct {
	scriptURL string
	pages     func() map[string]*template.Template // by name; read when the first one is asked for
}

// Parse returns c with its templates read, for any number of dashboards.
func Parse(c Content) Content {
	c.views = parseViews(c)
	return c
}

// parseViews reads what all dashboards of c have in common: the files, and the languages of the program.
func parseViews(c Content) views {
	v := views{languages: make(map[*words.Catalog]*view), assets: make(map[string]asset)}
	v.styleURL = v.addAsset("style.css", "text/css; charset=utf-8", page.BaseStyle+page.Compact(c.Style+chart.Style+worldmap.Style))
	v.mapURL = v.addAsset("map.svg", "image/svg+xml", worldmap.Shapes)
	for _, language := range words.New().All() {
		v.add(c, language)
	}
	return v
}

// with returns v with more languages.
func (v views) with(c Content, languages *words.Languages) views {
	v.languages, v.assets = maps.Clone(v.languages), maps.Clone(v.assets)
	for _, language := range languages.All() {
		if v.languages[language] == nil {
			v.add(c, language)
		}
	}
	return v
}

// add adds a language.
func (v *views) add(c Content, language *words.Catalog) {
	script := page.CompactScript(c.Script)
	if language != nil {
		script = strings.Replace(script, "const words = {};", "const words = "+language.Script(c.Script)+";", 1)
	}
	v.languages[language] = &view{
		scriptURL: v.addAsset("script.js", "text/javascript; charset=utf-8", script),
		pages:     sync.OnceValue(func() map[string]*template.Template { return parsePages(c, language) }),
	}
}

// parsePages reads the templates of c in a language. Each page has the layout, the parts and a file of its own.
func parsePages(c Content, language *words.Catalog) map[string]*template.Template {
	base := template.Must(template.New("layout.html").Funcs(functions(language)).Funcs(c.Functions).ParseFS(c.Templates, "templates/layout.html", "templates/parts/*.html"))
	for _, t := range base.Templates() {
		language.Translate(t.Tree)
	}
	pages := make(map[string]*template.Template)
	files, _ := fs.Glob(c.Templates, "templates/*.html")
	for _, file := range files {
		name := path.Base(file)
		if name == "layout.html" {
			continue
		}
		t := template.Must(template.Must(base.Clone()).ParseFS(c.Templates, file))
		for _, part := range t.Templates() {
			if part.Tree != nil && part.Tree.ParseName == name {
				language.Translate(part.Tree)
			}
		}
		pages[strings.TrimSuffix(name, ".html")] = t
	}
	return pages
}

// MapURL returns the address of the shapes of a map of the world.
func (d *Dashboard) MapURL() string { return d.views.mapURL }

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
