package api

import (
	"github.com/valyala/fasthttp"

	"shunt/api/redirect"
	"shunt/api/turnstile"
	"shunt/api/wire/http1"
	"shunt/engine"
)

// A peeker finds links for the pages about them.
type peeker struct {
	redirects *redirect.Redirector
	limiter   *limiter
	pages     pages
	now       clock
}

// pageKey returns the key of the link that a page is about.
func pageKey(code string) engine.Key { return engine.Key{Domain: engine.DefaultDomain, Code: code} }

// peek returns the link of code as a redirect would find it now. If a request for code would not be
// redirected, peek answers with the page of that outcome and returns found == false.
func (p *peeker) peek(ctx *fasthttp.RequestCtx, code []byte) (link redirect.Peeked, found bool) {
	now := p.now.of(ctx)
	link, o := p.redirects.Peek(p.key(ctx), pageKey(string(code)).View(), now.UnixMilli())
	if o == redirect.Redirected {
		return link, true
	}
	if o == redirect.UnknownCode && !p.limiter.mayMiss(ctx, p.limiter.proxies.ClientAddr(ctx, http1.PeerAddr(ctx)), now) {
		o = redirect.TooManyMisses
	}
	p.pages.answer(ctx, o)
	return link, false
}

// key returns the key by which a turnstile limits the client of a request.
func (p *peeker) key(ctx *fasthttp.RequestCtx) turnstile.Key {
	return strangerKey(ctx, p.limiter.proxies)
}
