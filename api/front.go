package api

import (
	"github.com/valyala/fasthttp"
	"shunt/api/wire"

	"shunt/api/redirect"
)

// scratch is what a redirect needs besides its RequestCtx; a pool keeps it.
type scratch struct {
	request redirect.Request
	buf     []byte // of Redirector.Answer
}

// scratchBytes is room for all but one in a thousand locations. A longer location makes its scratch
// larger for good.
const scratchBytes = 512

var (
	headerLocation     = []byte("Location")
	headerCacheControl = []byte("Cache-Control")
)

// handlePublic handles every request on the public address. Codes go to the redirector, everything
// else to the router.
func (s *Server) handlePublic(ctx *fasthttp.RequestCtx) {
	defer s.panics.recovered(ctx)
	if s.drain.Begun() {
		ctx.SetConnectionClose()
	}
	path, query := splitURI(ctx.Request.Header.RequestURI())
	if code := matchCode(path); code != nil {
		s.serveCode(ctx, code, query)
		return
	}
	s.hsts.demand(ctx)
	s.publicRoutes(ctx)
}

// serveCode calls the redirector for fasthttp.
func (s *Server) serveCode(ctx *fasthttp.RequestCtx, code, query []byte) {
	sc := s.scratch.Get().(*scratch)
	method := ctx.Method()
	head := string(method) == fasthttp.MethodHead
	peer := wire.PeerAddr(ctx)
	sc.request = redirect.Request{
		Code:      code,
		Query:     query,
		UserAgent: ctx.UserAgent(),
		Referrer:  ctx.Request.Header.Referer(),
		Country:   s.proxies.CountryCode(ctx, peer),
		Client:    s.proxies.ClientAddr(ctx, peer),
		NowMs:     s.timeOf(ctx).UnixMilli(),
		Safe:      head || string(method) == fasthttp.MethodGet,
		Head:      head,
		Prefetch:  redirect.IsPrefetch(ctx.Request.Header.RawHeaders()),
	}
	var a redirect.Answer
	a, sc.buf = s.redirects.Answer(sc.buf[:0], &sc.request)
	if a.Outcome == redirect.Redirected {
		ctx.Response.SetStatusCode(a.Status)
		ctx.Response.Header.SetCanonical(headerLocation, a.Location)
		ctx.Response.Header.SetCanonical(headerCacheControl, a.CacheControl)
	} else {
		if a.Outcome == redirect.UnknownCode && !s.limiter.mayMiss(ctx, sc.request.Client) {
			a.Outcome = redirect.TooManyMisses
		}
		s.hsts.demand(ctx)
		s.pages.answer(ctx, a.Outcome)
	}
	sc.request = redirect.Request{} // nothing of ctx outlives it
	s.scratch.Put(sc)
}
