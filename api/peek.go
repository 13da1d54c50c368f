package api

import (
	"github.com/valyala/fasthttp"

	"shunt/api/redirect"
	"shunt/api/turnstile"
	"shunt/api/wire"
)

// A peeker finds links for pages about them.
type peeker struct {
	redirects *redirect.Redirector
	limiter   *limiter
	pages     pages
	now       clock
}

// peek returns the link of code as a redirect would find it now. If a redirect would not be
// answered with a location, peek answers with the page of the outcome, and found is false.
func (p *peeker) peek(ctx *fasthttp.RequestCtx, code []byte) (link redirect.Peeked, found bool) {
	link, o := p.redirects.Peek(code, p.now.of(ctx).UnixMilli())
	if o == redirect.Redirected {
		return link, true
	}
	if o == redirect.UnknownCode && !p.limiter.mayMiss(ctx, p.limiter.proxies.ClientAddr(ctx, wire.PeerAddr(ctx))) {
		o = redirect.TooManyMisses
	}
	p.pages.answer(ctx, o)
	return link, false
}

// key names the client of a request, whose work is limited.
func (p *peeker) key(ctx *fasthttp.RequestCtx) turnstile.Key {
	return strangerKey(ctx, p.limiter.proxies)
}
