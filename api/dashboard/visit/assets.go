package visit

import (
	"crypto/sha256"
	"encoding/hex"
	"html/template"
	"io/fs"
	"path"
	"strings"

	"github.com/valyala/fasthttp"

	"shunt/api/chart"
	"shunt/api/page"
	"shunt/api/worldmap"
)

// policy is the Content-Security-Policy of the pages: nothing inline, nothing from elsewhere.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// views are the templates of the pages by name, and the files that pages load.
type views struct {
	pages                       map[string]*template.Template
	assets                      map[string]asset // by path
	styleURL, scriptURL, mapURL string
}

// Parse returns c with its templates read, for any number of dashboards.
func Parse(c Content) Content {
	c.views = parseViews(c)
	return c
}

// parseViews reads the templates of c. Each page has the layout, the parts and a file of its own.
func parseViews(c Content) views {
	v := views{pages: make(map[string]*template.Template), assets: make(map[string]asset)}
	v.styleURL = v.addAsset("style.css", "text/css; charset=utf-8", page.BaseStyle+page.Compact(c.Style+chart.Style+worldmap.Style))
	v.scriptURL = v.addAsset("script.js", "text/javascript; charset=utf-8", page.CompactScript(c.Script))
	v.mapURL = v.addAsset("map.svg", "image/svg+xml", worldmap.Shapes)
	base := template.Must(template.New("layout.html").Funcs(functions).Funcs(c.Functions).ParseFS(c.Templates, "templates/layout.html", "templates/parts/*.html"))
	files, _ := fs.Glob(c.Templates, "templates/*.html")
	for _, file := range files {
		if name := strings.TrimSuffix(path.Base(file), ".html"); name != "layout" {
			v.pages[name] = template.Must(template.Must(base.Clone()).ParseFS(c.Templates, file))
		}
	}
	return v
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
