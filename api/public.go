package api

import (
	"bytes"
	_ "embed"

	"github.com/valyala/fasthttp"

	"shunt/api/brand"
	"shunt/api/dashboard"
	"shunt/api/docs"
	"shunt/api/page"
	"shunt/api/redirect"
	"shunt/engine"
)

// This file serves the public paths that are not codes and not of the API.

// publicPages routes requests to the pages of this site.
type publicPages struct {
	pages     pages
	redirects *redirect.Redirector
	dashboard *dashboard.Dashboard  // of the paths that begin with dashboard.Root, except for fixed ones; nil: none
	fixed     map[string]publicPage // by path
	ofCode    []codePage
}

// A codePage is a page about a link. Its path is the code and the suffix; the suffix has bytes that
// a code cannot contain.
type codePage struct {
	suffix []byte
	serve  publicPage
}

func newPublicPages(
	baseURL string, checked checkedOptions, redirects *redirect.Redirector, previews *previews, qrCodes *qrCodes,
	people *dashboard.Dashboard,
) *publicPages {
	p := &publicPages{
		pages: previews.pages, redirects: redirects, dashboard: people,
		fixed: map[string]publicPage{
			"/":            serveRoot(previews.pages, checked.rootRedirect),
			"/robots.txt":  serveRobots,
			"/favicon.ico": serveIcon,
			docsPath:       serveDocs(baseURL, checked.site),
		},
		ofCode: []codePage{
			{[]byte("+"), previews.serve},
			{[]byte(".svg"), qrCodes.serveSVG},
			{[]byte(".png"), qrCodes.servePNG},
		},
	}
	if logo := checked.site.Brand.Logo; logo != nil {
		p.fixed[page.LogoPath] = serveLogo(logo)
	}
	return p
}

// pageAt returns the page that a raw path names, nil if there is none. The path of a page about a link
// may be spoilt like that of the link (matchSpoiltCode), but has no query from an ampersand on.
func (p *publicPages) pageAt(path []byte) (serve publicPage, code []byte) {
	if serve := p.fixed[string(path)]; serve != nil {
		return serve, nil
	}
	if serve, code = p.codePageAt(path); serve == nil {
		serve, code = p.codePageAt(trimmed(unescaped(path)))
	}
	return serve, code
}

// codePageAt returns the page about a link that path names, nil if there is none.
func (p *publicPages) codePageAt(path []byte) (serve publicPage, code []byte) {
	code, found := bytes.CutPrefix(path, []byte("/"))
	if !found {
		return nil, nil
	}
	for _, page := range p.ofCode {
		if code, found := bytes.CutSuffix(code, page.suffix); found && engine.ValidCode(code) {
			return page.serve, code
		}
	}
	return nil, nil
}

// serve answers requests whose path is neither a code nor of the API.
func (p *publicPages) serve(ctx *fasthttp.RequestCtx, path []byte) {
	serve, code := p.pageAt(path)
	switch {
	case serve == nil && p.dashboard != nil && bytes.HasPrefix(path, []byte(dashboard.Root)):
		p.dashboard.Serve(ctx)
	case serve == nil:
		p.redirects.CountPath()
		p.pages.answer(ctx, redirect.UnknownCode)
	case !ctx.IsGet() && !ctx.IsHead():
		p.pages.answer(ctx, redirect.WrongMethod)
	default:
		serve(ctx, code)
	}
}

// serveRoot returns GET /: a redirect to target or, if that is empty, a page.
func serveRoot(pages pages, target string) publicPage {
	location := engine.AppendASCII(nil, []byte(target))
	return func(ctx *fasthttp.RequestCtx, _ []byte) {
		if target != "" {
			ctx.SetStatusCode(fasthttp.StatusFound)
			ctx.Response.Header.SetCanonical(headerLocation, location)
			ctx.Response.Header.SetCanonical(headerCacheControl, redirect.NeverStore)
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
func serveLogo(logo *brand.Logo) publicPage {
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
