package public

import (
	"bytes"
	"cmp"
	_ "embed"
	"log/slog"

	"github.com/valyala/fasthttp"

	"shunt/api/auth"
	"shunt/api/brand"
	"shunt/api/docs"
	"shunt/api/domain"
	"shunt/api/exchange"
	"shunt/api/page"
	"shunt/api/problem"
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

	nonce func(host, token string) (text string, ok bool) // see Options

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
	Nonce        func(host, token string) (text string, ok bool) // what a check of a domain asks for under NoncePath; nil: nothing
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
		Previews: newPreviews(find, o.Engine, o.Log), QRCodes: newQRCodes(find, o.Log, o.Cores),
	}
	p.nonce = o.Nonce
	p.fixed = map[string]handler{
		"/":            serveRoot(o.Pages, o.RootRedirect),
		"/robots.txt":  o.Pages.serveRobots,
		"/favicon.ico": serveIcon,
		DocsPath:       serveDocs(o.BaseURL, o.Site, o.Pages.Languages),

		"/.well-known/apple-app-site-association": p.serveAppLinks(func(d *domain.Domain) string { return d.AppSiteAssociation }),
		"/.well-known/assetlinks.json":            p.serveAppLinks(func(d *domain.Domain) string { return d.AssetLinks }),
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
// may be spoilt like that of the link (urlpath.SpoiltCode), but has no query from an ampersand on, unless
// its domain keeps ends.
func (p *Router) pageAt(path []byte, keepsEnds bool) (serve handler, code []byte) {
	if serve := p.fixed[string(path)]; serve != nil {
		return serve, nil
	}
	if serve, code = p.codePageAt(path); serve != nil {
		return serve, code
	}
	if keepsEnds {
		return p.codePageAt(urlpath.Plain(path))
	}
	return p.codePageAt(urlpath.Clean(path))
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

// LinkOfPage returns the code of the link that a page is about; nil if path is not that of such a page.
func (p *Router) LinkOfPage(path []byte, keepsEnds bool) []byte {
	_, code := p.pageAt(path, keepsEnds)
	return code
}

// IsFixed reports whether path is of a page that is the same on every node of a cluster.
func (p *Router) IsFixed(path []byte) bool { return p.fixed[string(path)] != nil }

// Serve answers requests whose path is neither a code nor of the API.
func (p *Router) Serve(ctx *fasthttp.RequestCtx, path []byte) {
	serve, code := p.pageAt(path, p.pages.domain(ctx).KeepsEnds)
	switch {
	case p.answersNonce(ctx, path):
	case serve == nil && p.dashboard != nil && bytes.HasPrefix(path, []byte(page.Root)):
		p.dashboard(ctx)
	case serve == nil:
		p.redirects.CountPath(engine.DefaultDomain)
		p.pages.Answer(ctx, redirect.UnknownCode)
	case !ctx.IsGet() && !ctx.IsHead():
		p.pages.Answer(ctx, redirect.WrongMethod)
	default:
		serve(ctx, code)
	}
}

// ServeDomain answers requests on a domain other than the default one whose path is not a code. The API and the
// dashboard are on the default domain only.
func (p *Router) ServeDomain(ctx *fasthttp.RequestCtx, path []byte) {
	serve, code := p.pageAt(path, p.pages.domain(ctx).KeepsEnds)
	switch {
	case p.answersNonce(ctx, path):
	case bytes.HasPrefix(path, []byte(apiPrefix)):
		exchange.WriteProblem(ctx, problem.Problem{Kind: problem.NotFound, Detail: "the API is not on this domain"})
	case bytes.HasPrefix(path, []byte(page.Root)) && string(path) != page.LogoPath:
		p.pages.answerError(ctx, redirect.UnknownCode)
	case serve == nil:
		p.redirects.CountPath(DomainOf(ctx, p.pages.Domains))
		p.pages.Answer(ctx, redirect.UnknownCode)
	case !ctx.IsGet() && !ctx.IsHead():
		p.pages.Answer(ctx, redirect.WrongMethod)
	case string(path) == "/":
		p.pages.serveDomainRoot(ctx)
	default:
		serve(ctx, code)
	}
}

// NoncePath begins the path at which a server asks one of its hosts whether it leads here.
const NoncePath = "/.well-known/shunt-check/"

// answersNonce answers a server that asks whether a host leads here, if path is that of such a question.
func (p *Router) answersNonce(ctx *fasthttp.RequestCtx, path []byte) bool {
	token, found := bytes.CutPrefix(path, []byte(NoncePath))
	if !found || p.nonce == nil {
		return false
	}
	host, err := engine.HostName(string(ctx.Host()))
	if err != nil {
		return false
	}
	text, ok := p.nonce(host, string(token))
	if ok {
		ctx.Response.Header.Set("Cache-Control", "no-store")
		ctx.SetBodyString(text)
	}
	return ok
}

// apiPrefix begins the paths of the API.
const apiPrefix = "/api/"

// serveDomainRoot is GET / on a domain other than the default one.
func (s Pages) serveDomainRoot(ctx *fasthttp.RequestCtx) {
	if to := s.domain(ctx).RootURL; to != "" {
		redirectTo(ctx, to)
		return
	}
	ctx.Response.Header.Set("Cache-Control", "public, max-age=300")
	ctx.Response.Header.Set("Vary", "Accept-Language")
	s = s.in(ctx)
	s.writeOnce(ctx, s.DomainLanding(s.domain(ctx).Host))
}

// serveRoot returns GET / on the default domain: a redirect to where that domain says, or to target, or a page.
func serveRoot(pages Pages, target string) handler {
	return func(ctx *fasthttp.RequestCtx, _ []byte) {
		if to := cmp.Or(pages.Domains.Default().RootURL, target); to != "" {
			redirectTo(ctx, to)
			return
		}
		ctx.Response.Header.Set("Cache-Control", "public, max-age=300")
		ctx.Response.Header.Set("Vary", "Accept-Language")
		mine := pages.in(ctx)
		mine.write(ctx, mine.Landing)
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

// robotsNone is the robots.txt of a domain of which nothing is to be crawled.
const robotsNone = "User-agent: *\nDisallow: /\n"

func (s Pages) serveRobots(ctx *fasthttp.RequestCtx, _ []byte) {
	text := robotsText
	switch robots := s.domain(ctx).Robots; robots {
	case domain.RobotsDefault:
	case domain.RobotsNone:
		text = []byte(robotsNone)
	default:
		text = []byte(robots)
	}
	writeAsset(ctx, "text/plain; charset=utf-8", text)
}

// serveAppLinks returns what serves a document that telephones ask a host for, to open its links in an app: that of the
// domain. Without one there is nothing at the path.
func (p *Router) serveAppLinks(of func(d *domain.Domain) string) handler {
	return func(ctx *fasthttp.RequestCtx, _ []byte) {
		d := p.pages.domain(ctx)
		document := of(d)
		if document == "" {
			p.redirects.CountPath(d.Number)
			p.pages.Answer(ctx, redirect.UnknownCode)
			return
		}
		guardPage(ctx, page.AssetPolicy)
		h := &ctx.Response.Header
		h.Set("Cache-Control", "public, max-age=3600")
		h.SetContentType("application/json")
		ctx.Response.SetBodyString(document)
	}
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
