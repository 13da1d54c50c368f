package public

import (
	"bytes"
	_ "embed"
	"log/slog"

	"github.com/valyala/fasthttp"

	"shunt/api/auth"
	"shunt/api/brand"
	"shunt/api/docs"
	"shunt/api/exchange"
	"shunt/api/page"
	"shunt/api/redirect"
	"shunt/api/turnstile"
	"shunt/api/urlpath"
	"shunt/engine"
)

// This file serves the public paths that are not codes and not of the API.

// A Router passes requests to the pages of this site.
type Router struct {
	pages     Pages
	redirects *redirect.Redirector
	dashboard fasthttp.RequestHandler // of the paths that begin with page.Root, except for fixed ones; nil: none
	fixed     map[string]handler      // by path
	ofCode    []codePage

	Previews *Previews
	QRCodes  *QRCodes
}

// A codePage is a page about a link. Its path is the code and the suffix; no link has a code with such an end
// (engine.Reserved).
type codePage struct {
	suffix []byte
	serve  handler
}

// Options are what the pages need.
type Options struct {
	BaseURL      string // without a slash at its end
	Site         page.Site
	RootRedirect string // the target of /; empty: a page
	Pages        Pages
	Redirects    *redirect.Redirector
	Engine       *engine.Engine
	Limiter      *auth.Limiter
	Cores        *turnstile.Turnstile    // for all work that keeps a core busy
	Dashboard    fasthttp.RequestHandler // of the paths that begin with page.Root, except for fixed ones; nil: none
	Ask          Ask
	Now          exchange.Clock
	Log          *slog.Logger
}

// New returns the router of the pages.
func New(o Options) *Router {
	find := &peeker{redirects: o.Redirects, limiter: o.Limiter, pages: o.Pages, now: o.Now, ask: o.Ask}
	p := &Router{
		pages: o.Pages, redirects: o.Redirects, dashboard: o.Dashboard,
		Previews: newPreviews(find, o.Engine, o.Log), QRCodes: newQRCodes(find, o.BaseURL, o.Log, o.Cores),
	}
	p.fixed = map[string]handler{
		"/":            serveRoot(o.Pages, o.RootRedirect),
		"/robots.txt":  serveRobots,
		"/favicon.ico": serveIcon,
		DocsPath:       serveDocs(o.BaseURL, o.Site),
	}
	p.ofCode = []codePage{
		{[]byte("+"), p.Previews.serve},
		{[]byte(".svg"), p.QRCodes.serveSVG},
		{[]byte(".png"), p.QRCodes.servePNG},
	}
	if logo := o.Site.Brand.Logo; logo != nil {
		p.fixed[page.LogoPath] = serveLogo(logo)
	}
	return p
}

// pageAt returns the page that a raw path names, nil if there is none. The path of a page about a link
// may be spoilt like that of the link (urlpath.SpoiltCode), but has no query from an ampersand on.
func (p *Router) pageAt(path []byte) (serve handler, code []byte) {
	if serve := p.fixed[string(path)]; serve != nil {
		return serve, nil
	}
	if serve, code = p.codePageAt(path); serve == nil {
		serve, code = p.codePageAt(urlpath.Clean(path))
	}
	return serve, code
}

// codePageAt returns the page about a link that path names, nil if there is none.
func (p *Router) codePageAt(path []byte) (serve handler, code []byte) {
	code, found := bytes.CutPrefix(path, []byte("/"))
	if !found {
		return nil, nil
	}
	for _, page := range p.ofCode {
		if code, found := bytes.CutSuffix(code, page.suffix); found && urlpath.IsCode(code) {
			return page.serve, code
		}
	}
	return nil, nil
}

// IsFixed reports whether path is of a page that is the same on every node of a cluster.
func (p *Router) IsFixed(path []byte) bool { return p.fixed[string(path)] != nil }

// Serve answers requests whose path is neither a code nor of the API.
func (p *Router) Serve(ctx *fasthttp.RequestCtx, path []byte) {
	serve, code := p.pageAt(path)
	switch {
	case serve == nil && p.dashboard != nil && bytes.HasPrefix(path, []byte(page.Root)):
		p.dashboard(ctx)
	case serve == nil:
		p.redirects.CountPath()
		p.pages.Answer(ctx, redirect.UnknownCode)
	case !ctx.IsGet() && !ctx.IsHead():
		p.pages.Answer(ctx, redirect.WrongMethod)
	default:
		serve(ctx, code)
	}
}

// serveRoot returns GET /: a redirect to target or, if that is empty, a page.
func serveRoot(pages Pages, target string) handler {
	location := engine.AppendASCII(nil, []byte(target))
	return func(ctx *fasthttp.RequestCtx, _ []byte) {
		if target != "" {
			ctx.SetStatusCode(fasthttp.StatusFound)
			ctx.Response.Header.SetCanonical(exchange.NameLocation, location)
			ctx.Response.Header.SetCanonical(exchange.NameCacheControl, redirect.NeverStore)
			return
		}
		ctx.Response.Header.Set("Cache-Control", "public, max-age=300")
		pages.write(ctx, pages.Landing)
	}
}

// logoPolicy is the Content-Security-Policy of the logo: a script in an SVG image never runs, also
// if somebody opens the image by itself.
const logoPolicy = "default-src 'none'; sandbox"

// serveLogo returns GET /_/logo, which everybody may see.
func serveLogo(logo *brand.Logo) handler {
	document := docs.NewDocument(logo.Bytes)
	return func(ctx *fasthttp.RequestCtx, _ []byte) {
		guardPage(ctx, logoPolicy)
		writeCompressed(ctx, document, logo.Type)
	}
}

//go:embed assets/robots.txt
var robotsText []byte

//go:embed assets/favicon.ico
var iconImage []byte

func serveRobots(ctx *fasthttp.RequestCtx, _ []byte) {
	writeAsset(ctx, "text/plain; charset=utf-8", robotsText)
}

func serveIcon(ctx *fasthttp.RequestCtx, _ []byte) {
	writeAsset(ctx, "image/x-icon", iconImage)
}

// writeAsset sends a file that browsers may cache for a day.
func writeAsset(ctx *fasthttp.RequestCtx, contentType string, body []byte) {
	guardPage(ctx, page.AssetPolicy)
	h := &ctx.Response.Header
	h.Set("Cache-Control", "public, max-age=86400")
	h.SetContentType(contentType)
	ctx.Response.SetBodyRaw(body)
}
