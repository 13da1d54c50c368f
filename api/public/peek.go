package public

import (
	"net/netip"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/auth"
	"shunt/api/exchange"
	"shunt/api/redirect"
	"shunt/api/turnstile"
	"shunt/api/wire/http1"
	"shunt/engine"
)

// A peeker finds links for the pages about them.
type peeker struct {
	redirects *redirect.Redirector
	limiter   *auth.Limiter
	pages     Pages
	now       exchange.Clock
	ask       Ask
}

// Ask asks another server about a code that this one does not know, for a client of a network. It reports whether this
// server knows it now.
type Ask func(k engine.KeyView, network netip.Addr, now time.Time) bool

// peek returns the link of code as a redirect would find it now. If a request for code would not be
// redirected, peek answers with the page of that outcome and returns found == false.
func (p *peeker) peek(ctx *fasthttp.RequestCtx, code []byte) (link redirect.Peeked, found bool) {
	now, key := p.now.Of(ctx), engine.KeyView{Domain: DomainOf(ctx, p.pages.Domains), Code: code}
	folds := p.pages.Domains.SettingsOf(key.Domain).Folds
	link, o := p.redirects.Peek(p.key(ctx), key, folds, now.UnixMilli())
	if o == redirect.UnknownCode && p.ask(key, p.key(ctx).Network, now) {
		link, o = p.redirects.Peek(p.key(ctx), key, folds, now.UnixMilli())
	}
	if o == redirect.Redirected {
		return link, true
	}
	if o.IsUnknown() && !p.limiter.MayMiss(ctx, p.limiter.Proxies.ClientAddr(ctx, http1.PeerAddr(ctx)), now) {
		o = redirect.TooManyMisses
	}
	p.pages.Answer(ctx, o)
	return link, false
}

// key returns the key by which a turnstile limits the client of a request.
func (p *peeker) key(ctx *fasthttp.RequestCtx) turnstile.Key {
	return auth.StrangerKey(ctx, p.limiter.Proxies)
}
