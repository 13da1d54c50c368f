package api

import (
	"net"
	"net/netip"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/limit"
	"shunt/api/problem"
	"shunt/api/turnstile"
	"shunt/api/wire"
)

// A limiter counts requests by the rules of package limit: who asks, from which network, and when.
type limiter struct {
	rules   *limit.Rules
	proxies *wire.Proxies
	now     clock
}

// isLimited reports whether a request came over the network, and not through a socket that only
// this machine can open.
func isLimited(ctx *fasthttp.RequestCtx) bool {
	_, tcp := ctx.RemoteAddr().(*net.TCPAddr)
	return tcp
}

// countedNetwork returns the network for which a request of client is counted. It is the zero Addr,
// which is nobody in particular, if the request came through a socket, or through a trusted proxy
// that has not said for whom it asks.
func countedNetwork(ctx *fasthttp.RequestCtx, p *wire.Proxies, client netip.Addr) netip.Addr {
	if !isLimited(ctx) || p.Trust(client) {
		return netip.Addr{}
	}
	return wire.NetworkOf(client)
}

// strangerKey names a client without a login by its network.
func strangerKey(ctx *fasthttp.RequestCtx, p *wire.Proxies) turnstile.Key {
	return turnstile.Key{Network: countedNetwork(ctx, p, p.ClientAddr(ctx, wire.PeerAddr(ctx)))}
}

// ask adds the rules that a request of that scope comes under: for owner, unless it is nil, and for
// the client's network.
func (l *limiter) ask(a *limit.Allowance, ctx *fasthttp.RequestCtx, scope limit.Scope, owner []byte) {
	if isLimited(ctx) {
		client := l.proxies.ClientAddr(ctx, wire.PeerAddr(ctx))
		l.rules.Ask(a, scope, owner, countedNetwork(ctx, l.proxies, client))
	}
}

// count counts a request of that scope as cost events, for owner, unless it is nil, and for the
// client's network. It refuses the request if that is too much for either; then it is not counted.
func (l *limiter) count(ctx *fasthttp.RequestCtx, scope limit.Scope, owner []byte, cost int) error {
	var a limit.Allowance
	l.ask(&a, ctx, scope, owner)
	wait := a.Take(l.now.of(ctx), cost)
	if wait == 0 {
		writeAllowance(&ctx.Response.Header, &a)
		return nil
	}
	seconds := l.refuse(ctx, &a, scope, wait)
	return problem.New(problem.RateLimited, "try again in %d s; see RateLimit-Policy for the limits", seconds)
}

// refuse counts a refused request, and tells the client of a and in how many seconds to try again.
func (l *limiter) refuse(ctx *fasthttp.RequestCtx, a *limit.Allowance, scope limit.Scope, wait time.Duration) (seconds int64) {
	l.rules.Refuse(scope)
	seconds = limit.WholeSeconds(wait)
	writeAllowance(&ctx.Response.Header, a)
	ctx.Response.Header.Set(fasthttp.HeaderRetryAfter, strconv.FormatInt(seconds, 10))
	return seconds
}

// writeAllowance tells a client of its allowance, if the request came under a rule.
func writeAllowance(h *fasthttp.ResponseHeader, a *limit.Allowance) {
	var policies, left [128]byte
	if p, l := a.AppendFields(policies[:0], left[:0]); len(p) > 0 {
		h.SetBytesV("RateLimit-Policy", p)
		h.SetBytesV("RateLimit", l)
	}
}

// mayCall counts an API request, of caller if somebody is known, before its body is looked at. A
// creating one counts as one create.
func (l *limiter) mayCall(ctx *fasthttp.RequestCtx, caller account.Caller, creates bool) error {
	if caller.Has(account.Admin) {
		return nil
	}
	scope := limit.Calls
	if creates {
		scope = limit.Creates
	}
	return l.count(ctx, scope, ownerKey(caller), 1)
}

// mayCreateMore counts n more creates, from 1 to rate.MaxCost, of a request that creates more than
// one.
func (l *limiter) mayCreateMore(ctx *fasthttp.RequestCtx, caller account.Caller, n int) error {
	if n < 1 || caller.Has(account.Admin) {
		return nil
	}
	return l.count(ctx, limit.Creates, ownerKey(caller), n)
}

// ownerKey names a token or, of sessions, a user; nil if nobody is known.
func ownerKey(caller account.Caller) []byte {
	switch {
	case caller.TokenID != "":
		return append([]byte{'t'}, caller.TokenID...)
	case caller.User.ID != 0:
		return strconv.AppendUint([]byte{'u'}, uint64(caller.User.ID), 10)
	}
	return nil
}

// mayLogIn counts an attempt to log in as email, before a password is looked at: for the account at
// this network, in whatever case or form its name is written, and for the network. An attacker can
// invent names by the thousand, but not networks: see package rate for why an attempt that the
// network is refused must not be counted for the account.
func (l *limiter) mayLogIn(ctx *fasthttp.RequestCtx, email string) error {
	return l.count(ctx, limit.Logins, l.loginKey(ctx, email), 1)
}

// hasNotTried takes back that an attempt was counted, because no password was looked at.
func (l *limiter) hasNotTried(ctx *fasthttp.RequestCtx, email string) {
	var a limit.Allowance
	l.ask(&a, ctx, limit.Logins, l.loginKey(ctx, email))
	a.GiveBack(l.now.of(ctx), 1)
}

// loginKey names an account at the client's network.
func (l *limiter) loginKey(ctx *fasthttp.RequestCtx, email string) []byte {
	key := wire.NetworkOf(l.proxies.ClientAddr(ctx, wire.PeerAddr(ctx))).As16()
	return append(key[:], account.LoginName(email)...)
}

// mayMiss counts a request for an unknown code. If it is one too many for its network, the answer
// has the fields that say so.
func (l *limiter) mayMiss(ctx *fasthttp.RequestCtx, client netip.Addr) bool {
	a, wait := l.rules.TakeForNetwork(limit.Misses, countedNetwork(ctx, l.proxies, client), l.now.of(ctx))
	if wait > 0 {
		l.refuse(ctx, a, limit.Misses, wait)
	}
	return wait == 0
}
