package api

import (
	"net"
	"net/netip"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/rate"
)

// RateLimits are how often clients may ask; each may be off, which is the zero Limit. Redirects of known codes have none, and
// neither have callers with the scope admin, nor the socket of local commands. An address is the client's; an IPv6 one stands
// for its /64; trusted proxies have no limit as addresses.
type RateLimits struct {
	Creates       rate.Limit // of links: for each token, and for each address
	Calls         rate.Limit // other API requests: for each token, and for each address
	Logins        rate.Limit // attempts, for each account and address
	AddressLogins rate.Limit // attempts, for each address
	Misses        rate.Limit // unknown codes, for each address
}

// DefaultRateLimits returns the limits of the contract.
func DefaultRateLimits() RateLimits {
	return RateLimits{
		Creates:       rate.Limit{Events: 200, Period: time.Second, Burst: 2000},
		Calls:         rate.Limit{Events: 1000, Period: time.Second, Burst: 1000},
		Logins:        rate.Limit{Events: 5, Period: 15 * time.Minute, Burst: 5},
		AddressLogins: rate.Limit{Events: 20, Period: 15 * time.Minute, Burst: 20},
		Misses:        rate.Limit{Events: 300, Period: time.Minute, Burst: 300},
	}
}

// A rule is a limit that is in force. Its table is nil if it is off.
type rule struct {
	name   string // in the fields of an answer
	policy string // its member of RateLimit-Policy
	table  *rate.Table
}

func newRule(name string, l rate.Limit, epoch time.Time) rule {
	if l.Off() {
		return rule{name: name}
	}
	quota, window := l.Quota()
	return rule{name, `"` + name + `";q=` + strconv.Itoa(quota) + ";w=" + strconv.Itoa(window), rate.NewTable(l, epoch)}
}

// A ruleScope is the label of rate_limited_total.
type ruleScope uint8

const (
	createRules ruleScope = iota
	callRules
	loginRules
	missRules
	numRuleScopes
)

var ruleScopes = [numRuleScopes]string{"creates", "calls", "logins", "misses"}

// rules are the limits of a server. What a scope limits is counted first for the token or account, then for the address.
type rules struct {
	own       [numRuleScopes]rule // by token, or by account and address
	byAddress [numRuleScopes]rule
	refused   [numRuleScopes]atomic.Uint64
}

func newRules(l RateLimits, epoch time.Time) *rules {
	r := new(rules)
	r.own[createRules], r.byAddress[createRules] = newRule("creates", l.Creates, epoch), newRule("address-creates", l.Creates, epoch)
	r.own[callRules], r.byAddress[callRules] = newRule("calls", l.Calls, epoch), newRule("address-calls", l.Calls, epoch)
	r.own[loginRules], r.byAddress[loginRules] = newRule("logins", l.Logins, epoch), newRule("address-logins", l.AddressLogins, epoch)
	r.byAddress[missRules] = newRule("misses", l.Misses, epoch)
	return r
}

// isLimited tells whether a request has come over the network, and not through a socket that only this machine can open.
func isLimited(ctx *fasthttp.RequestCtx) bool {
	_, tcp := ctx.RemoteAddr().(*net.TCPAddr)
	return tcp
}

// addressKey names whom a request of client is counted for as an address, nobody if a trusted proxy has not said for whom it
// asks.
func (s *Server) addressKey(client netip.Addr) (key [16]byte, counted bool) {
	return networkOf(client).As16(), !s.proxies.trust(client)
}

// An allowance is what is left of the rules that a request came under.
type allowance struct {
	rules    [2]*rule
	verdicts [2]rate.Verdict
	n        int
}

// take takes cost events by one rule. It returns false if they are too many.
func (a *allowance) take(r *rule, key []byte, at time.Time, cost int) bool {
	if r.table == nil {
		return true
	}
	v := r.table.Take(key, at, cost)
	a.rules[a.n], a.verdicts[a.n] = r, v
	a.n++
	return v.Allowed
}

// limit counts a request of that scope for owner, if there is one, and for the client's address, and refuses it if that is
// too much for either. What is refused for the address has been counted for the owner.
func (s *Server) limit(ctx *fasthttp.RequestCtx, scope ruleScope, owner []byte, cost int) error {
	if !isLimited(ctx) {
		return nil
	}
	var a allowance
	at, allowed := s.timeOf(ctx), true
	if owner != nil {
		allowed = a.take(&s.rules.own[scope], owner, at, cost)
	}
	if key, counted := s.addressKey(s.proxies.clientAddr(ctx, peerAddr(ctx))); allowed && counted {
		allowed = a.take(&s.rules.byAddress[scope], key[:], at, cost)
	}
	a.write(&ctx.Response.Header)
	if allowed {
		return nil
	}
	s.rules.refused[scope].Add(1)
	seconds := wholeSeconds(a.verdicts[a.n-1].Wait)
	ctx.Response.Header.Set(fasthttp.HeaderRetryAfter, strconv.FormatInt(seconds, 10))
	return refuse(kindRateLimited, "try again in %d s; see RateLimit-Policy for the limits", seconds)
}

// write tells a client of its allowance (draft-ietf-httpapi-ratelimit-headers-11): for each policy the quota q in a window of w
// seconds, what remains of it, and the seconds t until it is whole again.
func (a *allowance) write(h *fasthttp.ResponseHeader) {
	if a.n == 0 {
		return
	}
	var policies, left [128]byte
	p, l := policies[:0], left[:0]
	for i, r := range a.rules[:a.n] {
		if i > 0 {
			p, l = append(p, ", "...), append(l, ", "...)
		}
		p = append(p, r.policy...)
		l = append(append(append(l, '"'), r.name...), `";r=`...)
		l = strconv.AppendInt(l, int64(a.verdicts[i].Remaining), 10)
		l = strconv.AppendInt(append(l, ";t="...), wholeSeconds(a.verdicts[i].Full), 10)
	}
	h.SetBytesV("RateLimit-Policy", p)
	h.SetBytesV("RateLimit", l)
}

func wholeSeconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }

// mayCall counts an API request, of caller if somebody is known, before its body is looked at. A creating one counts as one
// create.
func (s *Server) mayCall(ctx *fasthttp.RequestCtx, caller account.Caller, creates bool) error {
	if caller.Has(account.Admin) {
		return nil
	}
	scope := callRules
	if creates {
		scope = createRules
	}
	return s.limit(ctx, scope, ownerKey(caller), 1)
}

// mayCreateMore counts n more creates, from 1 to rate.MaxCost, of a request that creates more than one.
func (s *Server) mayCreateMore(ctx *fasthttp.RequestCtx, caller account.Caller, n int) error {
	if n < 1 || caller.Has(account.Admin) {
		return nil
	}
	return s.limit(ctx, createRules, ownerKey(caller), n)
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

// mayLogIn counts an attempt to log in as email, before a password is looked at. It may be attempted from one address so often
// for one account, in whatever case or form its name is written, and so often for all of them.
func (s *Server) mayLogIn(ctx *fasthttp.RequestCtx, email string) error {
	key, _ := s.addressKey(s.proxies.clientAddr(ctx, peerAddr(ctx)))
	return s.limit(ctx, loginRules, append(key[:], account.LoginName(email)...), 1)
}

// mayMiss counts a request for an unknown code. If it is one too many for its address, it has the fields that say so.
func (s *Server) mayMiss(ctx *fasthttp.RequestCtx, client netip.Addr) bool {
	r := &s.rules.byAddress[missRules]
	key, counted := s.addressKey(client)
	if r.table == nil || !counted || !isLimited(ctx) {
		return true
	}
	var a allowance
	if a.take(r, key[:], s.timeOf(ctx), 1) {
		return true
	}
	s.rules.refused[missRules].Add(1)
	a.write(&ctx.Response.Header)
	ctx.Response.Header.Set(fasthttp.HeaderRetryAfter, strconv.FormatInt(wholeSeconds(a.verdicts[0].Wait), 10))
	return false
}
