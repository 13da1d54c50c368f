package api

import (
	"sync"

	"github.com/valyala/fasthttp"

	"shunt/api/redirect"
	"shunt/api/wire"
)

// scratch is the memory that a redirect needs besides its RequestCtx. Scratches are kept in a pool.
type scratch struct {
	request redirect.Request
	buf     []byte // of Redirector.Answer
}

// scratchBytes is enough for all but one in a thousand locations. A longer location enlarges its
// scratch for good.
const scratchBytes = 512

// front is the handler of the public address: it passes codes to the redirector, everything else to
// the router. It is the hot path, so it calls the redirector itself, without a table of handlers.
type front struct {
	redirects *redirect.Redirector
	proxies   *wire.Proxies
	limiter   *limiter
	pages     pages
	hsts      hsts
	now       clock
	panics    *panicLog
	drain     *wire.Drain
	scratch   sync.Pool               // of *scratch
	routes    fasthttp.RequestHandler // of every path that is not a code
}

func newScratch() any { return &scratch{buf: make([]byte, 0, scratchBytes)} }

// handle answers every request on the public address.
func (f *front) handle(ctx *fasthttp.RequestCtx) {
	defer f.panics.recovered(ctx)
	if f.drain.Begun() {
		ctx.SetConnectionClose()
	}
	path, query := splitURI(ctx.Request.Header.RequestURI())
	if code := matchCode(path); code != nil {
		f.serveCode(ctx, code, query)
		return
	}
	f.hsts.demand(ctx)
	f.routes(ctx)
}

// serveCode calls the redirector for fasthttp.
func (f *front) serveCode(ctx *fasthttp.RequestCtx, code, query []byte) {
	sc := f.scratch.Get().(*scratch)
	method := ctx.Method()
	head := string(method) == fasthttp.MethodHead
	peer := wire.PeerAddr(ctx)
	sc.request = redirect.Request{
		Code:      code,
		Query:     query,
		UserAgent: ctx.UserAgent(),
		Referrer:  ctx.Request.Header.Referer(),
		Country:   f.proxies.CountryCode(ctx, peer),
		Client:    f.proxies.ClientAddr(ctx, peer),
		NowMs:     f.now.of(ctx).UnixMilli(),
		Safe:      head || string(method) == fasthttp.MethodGet,
		Head:      head,
		Prefetch:  redirect.IsPrefetch(ctx.Request.Header.RawHeaders()),
	}
	var a redirect.Answer
	a, sc.buf = f.redirects.Answer(sc.buf[:0], &sc.request)
	if a.Outcome == redirect.Redirected {
		ctx.Response.SetStatusCode(a.Status)
		ctx.Response.Header.SetCanonical(headerLocation, a.Location)
		ctx.Response.Header.SetCanonical(headerCacheControl, a.CacheControl)
	} else {
		if a.Outcome == redirect.UnknownCode && !f.limiter.mayMiss(ctx, sc.request.Client) {
			a.Outcome = redirect.TooManyMisses
		}
		f.hsts.demand(ctx)
		f.pages.answer(ctx, a.Outcome)
	}
	sc.request = redirect.Request{} // nothing of ctx outlives it
	f.scratch.Put(sc)
}
