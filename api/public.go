package api

import (
	"bytes"
	_ "embed"
	"fmt"
	"strings"

	"github.com/valyala/fasthttp"

	"shunt/api/page"
	"shunt/api/redirect"
	"shunt/api/wire"
	"shunt/engine"
)

// This file serves the public paths that are not codes and not of the API.

// A publicPage answers GET and HEAD of a path. code is what the path has before the page's suffix.
type publicPage func(s *Server, ctx *fasthttp.RequestCtx, code []byte)

var fixedPages = map[string]publicPage{
	"/":            (*Server).serveRoot,
	"/robots.txt":  (*Server).serveRobots,
	"/favicon.ico": (*Server).serveIcon,
	docsPath:       (*Server).serveDocs,
}

// codePages are the pages of a link, by the suffix after its code. A code cannot have these bytes.
var codePages = []struct {
	suffix []byte
	serve  publicPage
}{
	{[]byte("+"), (*Server).servePreview},
	{[]byte(".svg"), (*Server).serveSVG},
	{[]byte(".png"), (*Server).servePNG},
}

// pageAt returns the page that a raw path names, nil if there is none.
func pageAt(path []byte) (serve publicPage, code []byte) {
	if serve := fixedPages[string(path)]; serve != nil {
		return serve, nil
	}
	code, found := bytes.CutPrefix(path, []byte("/"))
	if !found {
		return nil, nil
	}
	for _, p := range codePages {
		if code, found := bytes.CutSuffix(code, p.suffix); found && engine.ValidCode(code) {
			return p.serve, code
		}
	}
	return nil, nil
}

// servePath handles requests whose path is not a code and not of the API.
func (s *Server) servePath(ctx *fasthttp.RequestCtx, path []byte) {
	serve, code := pageAt(path)
	switch {
	case serve == nil:
		s.redirects.CountPath()
		s.pages.answer(ctx, redirect.UnknownCode)
	case !ctx.IsGet() && !ctx.IsHead():
		s.pages.answer(ctx, redirect.WrongMethod)
	default:
		serve(s, ctx, code)
	}
}

// peek returns the link of code as a redirect would find it now. If the outcome is not Redirected,
// there is nothing to show but the page of the outcome.
func (s *Server) peek(ctx *fasthttp.RequestCtx, code []byte) (redirect.Peeked, redirect.Outcome) {
	peeked, o := s.redirects.Peek(code, s.timeOf(ctx).UnixMilli())
	if o == redirect.UnknownCode && !s.limiter.mayMiss(ctx, s.proxies.ClientAddr(ctx, wire.PeerAddr(ctx))) {
		o = redirect.TooManyMisses
	}
	return peeked, o
}

// rootRedirectOf returns where / leads, in the form of targets; empty: to a page.
func rootRedirectOf(o Options, ownOrigins []string) (string, error) {
	if o.RootRedirect == "" {
		return "", nil
	}
	target, err := engine.TargetPolicy{OwnOrigins: ownOrigins}.Parse(o.RootRedirect)
	if err != nil {
		return "", fmt.Errorf("root redirect %q: %s", o.RootRedirect, strings.TrimPrefix(err.Error(), "url: "))
	}
	return target, nil
}

// serveRoot is GET /.
func (s *Server) serveRoot(ctx *fasthttp.RequestCtx, _ []byte) {
	if s.rootRedirect != "" {
		ctx.SetStatusCode(fasthttp.StatusFound)
		ctx.Response.Header.SetCanonical(headerLocation, []byte(s.rootRedirect))
		ctx.Response.Header.SetCanonical(headerCacheControl, redirect.NeverStore)
		return
	}
	ctx.Response.Header.Set("Cache-Control", "public, max-age=300")
	writeHTML(ctx, s.pages.Landing)
}

//go:embed assets/robots.txt
var robotsText []byte

//go:embed assets/favicon.ico
var iconImage []byte

func (s *Server) serveRobots(ctx *fasthttp.RequestCtx, _ []byte) {
	writeAsset(ctx, "text/plain; charset=utf-8", robotsText)
}

func (s *Server) serveIcon(ctx *fasthttp.RequestCtx, _ []byte) {
	writeAsset(ctx, "image/x-icon", iconImage)
}

// writeAsset sends a file that stays the same for a day at least.
func writeAsset(ctx *fasthttp.RequestCtx, contentType string, body []byte) {
	guardPage(ctx, page.AssetPolicy)
	h := &ctx.Response.Header
	h.Set("Cache-Control", "public, max-age=86400")
	h.SetContentType(contentType)
	ctx.Response.SetBodyRaw(body)
}
