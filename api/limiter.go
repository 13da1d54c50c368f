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
	"shunt/api/wire/conns"
	"shunt/api/wire/http1"
)

// A limiter counts requests by the rules of package limit, for the caller and for the client's
// network.
type limiter struct {
	rules   *limit.Rules
	proxies *http1.Proxies
	now     clock
}

// isLimited reports whether a request came over the network, and not through a socket that only
// this machine can open.
func isLimited(ctx *fasthttp.RequestCtx) bool {
	_, tcp := ctx.RemoteAddr().(*net.TCPAddr)
	return tcp
}

// countedNetwork returns the network for which a request of client is counted. It is the zero Addr
// if no network is known: the request came through a socket, or through a trusted proxy that does
// not name its client.
func countedNetwork(ctx *fasthttp.RequestCtx, p *http1.Proxies, client netip.Addr) netip.Addr {
	if !isLimited(ctx) || p.Trust(client) {
		return netip.Addr{}
	}
	return conns.NetworkOf(client)
}

// strangerKey returns the key of a client without a login: its network.
func strangerKey(ctx *fasthttp.RequestCtx, p *http1.Proxies) turnstile.Key {
	return turnstile.Key{Network: countedNetwork(ctx, p, p.ClientAddr(ctx, http1.PeerAddr(ctx)))}
}

// ask adds the rules that apply to a request of that scope: those for owner, unless owner is nil,
// and those for the client's network.
func (l *limiter) ask(a *limit.Allowance, ctx *fasthttp.RequestCtx, scope limit.Scope, owner []byte) {
	if isLimited(ctx) {
		client := l.proxies.ClientAddr(ctx, http1.PeerAddr(ctx))
		l.rules.Ask(a, scope, owner, countedNetwork(ctx, l.proxies, client))
	}
}

// count counts a request of that scope as cost events, for owner, unless owner is nil, and for the
// client's network. If that is too much for either, it refuses the request and counts nothing.
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

// refuse counts a refused request, and tells the client its allowance a and in how many seconds to
// try again.
func (l *limiter) refuse(ctx *fasthttp.RequestCtx, a *limit.Allowance, scope limit.Scope, wait time.Duration) (seconds int64) {
	l.rules.Refuse(scope)
	seconds = limit.WholeSeconds(wait)
	writeAllowance(&ctx.Response.Header, a)
	ctx.Response.Header.Set(fasthttp.HeaderRetryAfter, strconv.FormatInt(seconds, 10))
	return seconds
}

// writeAllowance writes the client's allowance to the header, if a rule applies to the request.
func writeAllowance(h *fasthttp.ResponseHeader, a *limit.Allowance) {
	var policies, left [128]byte
	if p, l := a.AppendFields(policies[:0], left[:0]); len(p) > 0 {
		h.SetBytesV("RateLimit-Policy", p)
		h.SetBytesV("RateLimit", l)
	}
}

// mayCall counts an API request before its body is read, for caller if one is known. A request that
// creates links counts as one create.
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
// one link.
func (l *limiter) mayCreateMore(ctx *fasthttp.RequestCtx, caller account.Caller, n int) error {
	if n < 1 || caller.Has(account.Admin) {
		return nil
	}
	return l.count(ctx, limit.Creates, ownerKey(caller), n)
}

// ownerKey returns the key of the caller's token or, for a session, of the user; nil if the caller
// is not known.
func ownerKey(caller account.Caller) []byte {
	switch {
	case caller.TokenID != "":
		return append([]byte{'t'}, caller.TokenID...)
	case caller.User.ID != 0:
		return strconv.AppendUint([]byte{'u'}, uint64(caller.User.ID), 10)
	}
	return nil
}

// mayLogIn counts an attempt to log in as email, before a password is checked: for the pair of
// account and network, however the name is spelt (case, Unicode form), and for the network. An
// attacker can invent names by the thousand, but not networks: package rate says why an attempt
// that is refused for the network must not be counted for the account.
func (l *limiter) mayLogIn(ctx *fasthttp.RequestCtx, email string) error {
	return l.count(ctx, limit.Logins, l.loginKey(ctx, email), 1)
}

// hasNotTried takes the count of an attempt back, because no password was checked, or because it was
// right: who knows it guesses nothing.
func (l *limiter) hasNotTried(ctx *fasthttp.RequestCtx, email string) {
	l.giveBackLogin(ctx, l.loginKey(ctx, email))
}

// mayTrySetup counts an attempt to use a setup code, before the code is looked up: for the network
// as a login is, and for all setup codes together at that network, as if they were one account.
func (l *limiter) mayTrySetup(ctx *fasthttp.RequestCtx) error {
	return l.count(ctx, limit.Logins, l.networkKey(ctx, setupCodes), 1)
}

// hasNotTriedSetup takes the count of an attempt back, because the code was right: whatever else is
// wrong with the form, its sender guesses nothing.
func (l *limiter) hasNotTriedSetup(ctx *fasthttp.RequestCtx) {
	l.giveBackLogin(ctx, l.networkKey(ctx, setupCodes))
}

// setupCodes stands for all setup codes among the names of accounts, which have no upper case.
const setupCodes = "SETUP"

func (l *limiter) giveBackLogin(ctx *fasthttp.RequestCtx, key []byte) {
	var a limit.Allowance
	l.ask(&a, ctx, limit.Logins, key)
	a.GiveBack(l.now.of(ctx), 1)
}

// loginKey returns the key of an account at the client's network.
func (l *limiter) loginKey(ctx *fasthttp.RequestCtx, email string) []byte {
	return l.networkKey(ctx, account.LoginName(email))
}

// networkKey returns the key of name at the client's network.
func (l *limiter) networkKey(ctx *fasthttp.RequestCtx, name string) []byte {
	key := conns.NetworkOf(l.proxies.ClientAddr(ctx, http1.PeerAddr(ctx))).As16()
	return append(key[:], name...)
}

// mayMiss counts a request for an unknown code. If that exceeds the limit of its network, it adds
// the header fields of the limit to the answer.
func (l *limiter) mayMiss(ctx *fasthttp.RequestCtx, client netip.Addr, now time.Time) bool {
	a, wait := l.rules.TakeForNetwork(limit.Misses, countedNetwork(ctx, l.proxies, client), now)
	if wait > 0 {
		l.refuse(ctx, a, limit.Misses, wait)
	}
	return wait == 0
}
