package auth

import (
	"net"
	"net/netip"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/exchange"
	"shunt/api/limit"
	"shunt/api/problem"
	"shunt/api/turnstile"
	"shunt/api/wire/conns"
	"shunt/api/wire/http1"
)

// A Limiter counts requests by the rules of package limit, for the caller and for the client's
// network.
type Limiter struct {
	Rules   *limit.Rules
	Proxies *http1.Proxies
	Now     exchange.Clock
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

// StrangerKey returns the key of a client without a login: its network.
func StrangerKey(ctx *fasthttp.RequestCtx, p *http1.Proxies) turnstile.Key {
	return turnstile.Key{Network: countedNetwork(ctx, p, p.ClientAddr(ctx, http1.PeerAddr(ctx)))}
}

// ask adds the rules that apply to a request of that scope: those for owner, unless owner is nil,
// and those for the client's network.
func (l *Limiter) ask(a *limit.Allowance, ctx *fasthttp.RequestCtx, scope limit.Scope, owner []byte) {
	if isLimited(ctx) {
		client := l.Proxies.ClientAddr(ctx, http1.PeerAddr(ctx))
		l.Rules.Ask(a, scope, owner, countedNetwork(ctx, l.Proxies, client))
	}
}

// count counts a request of that scope as cost events, for owner, unless owner is nil, and for the
// client's network. If that is too much for either, it refuses the request and counts nothing.
func (l *Limiter) count(ctx *fasthttp.RequestCtx, scope limit.Scope, owner []byte, cost int) error {
	var a limit.Allowance
	l.ask(&a, ctx, scope, owner)
	wait := a.Take(l.Now.Of(ctx), cost)
	if wait == 0 {
		writeAllowance(&ctx.Response.Header, &a)
		return nil
	}
	seconds := l.refuse(ctx, &a, scope, wait)
	return problem.New(problem.RateLimited, "try again in %d s; see RateLimit-Policy for the limits", seconds)
}

// refuse counts a refused request, and tells the client its allowance a and in how many seconds to
// try again.
func (l *Limiter) refuse(ctx *fasthttp.RequestCtx, a *limit.Allowance, scope limit.Scope, wait time.Duration) (seconds int64) {
	l.Rules.Refuse(scope)
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

// MayCall counts an API request before its body is read, for caller if one is known. A request that
// creates links counts as one create. Calls of an edge itself are not counted: they carry what
// thousands of visitors do, one after the other.
func (l *Limiter) MayCall(ctx *fasthttp.RequestCtx, caller account.Caller, creates bool) error {
	if caller.Has(account.Admin) || caller.Edge != "" {
		return nil
	}
	scope := limit.Calls
	if creates {
		scope = limit.Creates
	}
	return l.count(ctx, scope, ownerKey(caller), 1)
}

// MayCreateMore counts n more creates, from 1 to rate.MaxCost, of a request that creates more than
// one link.
func (l *Limiter) MayCreateMore(ctx *fasthttp.RequestCtx, caller account.Caller, n int) error {
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

// MayLogIn counts an attempt to log in as email, before a password is checked: for the pair of
// account and network, however the name is spelt (case, Unicode form), and for the network. An
// attacker can invent names by the thousand, but not networks: package rate says why an attempt
// that is refused for the network must not be counted for the account.
func (l *Limiter) MayLogIn(ctx *fasthttp.RequestCtx, email string) error {
	return l.count(ctx, limit.Logins, l.loginKey(ctx, email), 1)
}

// HasNotTried takes the count of an attempt back, because no password was checked, or because it was
// right: who knows it guesses nothing.
func (l *Limiter) HasNotTried(ctx *fasthttp.RequestCtx, email string) {
	l.giveBackLogin(ctx, l.loginKey(ctx, email))
}

// MayTrySetup counts an attempt to use a setup code, before the code is looked up: for the network
// as a login is, and for all setup codes together at that network, as if they were one account.
func (l *Limiter) MayTrySetup(ctx *fasthttp.RequestCtx) error {
	return l.count(ctx, limit.Logins, l.networkKey(ctx, setupCodes), 1)
}

// HasNotTriedSetup takes the count of an attempt back, because the code was right: whatever else is
// wrong with the form, its sender guesses nothing.
func (l *Limiter) HasNotTriedSetup(ctx *fasthttp.RequestCtx) {
	l.giveBackLogin(ctx, l.networkKey(ctx, setupCodes))
}

// setupCodes stands for all setup codes among the names of accounts, which have no upper case.
const setupCodes = "SETUP"

func (l *Limiter) giveBackLogin(ctx *fasthttp.RequestCtx, key []byte) {
	var a limit.Allowance
	l.ask(&a, ctx, limit.Logins, key)
	a.GiveBack(l.Now.Of(ctx), 1)
}

// loginKey returns the key of an account at the client's network.
func (l *Limiter) loginKey(ctx *fasthttp.RequestCtx, email string) []byte {
	return l.networkKey(ctx, account.LoginName(email))
}

// networkKey returns the key of name at the client's network.
func (l *Limiter) networkKey(ctx *fasthttp.RequestCtx, name string) []byte {
	key := conns.NetworkOf(l.Proxies.ClientAddr(ctx, http1.PeerAddr(ctx))).As16()
	return append(key[:], name...)
}

// NetworkOf returns the network for which the attempts of a client to open links with a password count; the zero Addr:
// none is known.
func (l *Limiter) NetworkOf(ctx *fasthttp.RequestCtx, client netip.Addr) netip.Addr {
	return countedNetwork(ctx, l.Proxies, client)
}

// MayUnlock counts an attempt to open the link with that id, before a password is compared: for the pair of link and
// network, and for the network. It returns how long the client must wait, 0 if it need not.
func (l *Limiter) MayUnlock(network netip.Addr, id uint64, now time.Time) (wait time.Duration) {
	var a limit.Allowance
	l.Rules.AskUnlock(&a, id, network)
	if wait = a.Take(now, 1); wait > 0 {
		l.Rules.Refuse(limit.Unlocks)
	}
	return wait
}

// HasNotTriedUnlock takes the count of an attempt back, as HasNotTried.
func (l *Limiter) HasNotTriedUnlock(network netip.Addr, id uint64, now time.Time) {
	var a limit.Allowance
	l.Rules.AskUnlock(&a, id, network)
	a.GiveBack(now, 1)
}

// MayMiss counts a request for an unknown code. If that exceeds the limit of its network, it adds
// the header fields of the limit to the answer.
func (l *Limiter) MayMiss(ctx *fasthttp.RequestCtx, client netip.Addr, now time.Time) bool {
	a, wait := l.Rules.TakeForNetwork(limit.Misses, countedNetwork(ctx, l.Proxies, client), now)
	if wait > 0 {
		l.refuse(ctx, a, limit.Misses, wait)
	}
	return wait == 0
}
