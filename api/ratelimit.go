package api

import (
	"net"
	"net/netip"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/problem"
	"shunt/api/rate"
	"shunt/api/wire"
)

// RateLimits are how often clients may ask; each may be off, which is the zero Limit. Redirects of known codes have none, and
// neither have callers with the scope admin, nor the socket of local commands. An address is the client's; an IPv6 one stands
// for its /64; trusted proxies have no limit as addresses.
type RateLimits struct {
	Creates       rate.Limit // of links: for each token, and for each address
	Calls         rate.Limit // other API requests: for each token, and for each address
	Logins        rate.Limit // attempts, for each account and address
	AddressLogins rate.Limit // attempts, for each address; for each /48 of IPv6, siteShare times as many
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

// rules are the limits of a server.
type rules struct {
	own       [numRuleScopes]rule // by token, or by account and address
	byAddress [numRuleScopes]rule
	bySite    [numRuleScopes]rule // by the /48 of an IPv6 address
	refused   [numRuleScopes]atomic.Uint64
}

// siteShare is how many times the limit of an address a /48 has. A /48 is what a site is given (RFC
// 6177), and has 65,536 /64: without a limit of its own, whoever has one could attempt 1.3 million
// logins in 15 minutes and fill the table of addresses. 16 times 20 are enough for a provider that
// gives its customers /64 of one /48, as phones get them.
const siteShare = 16

// siteLimit returns l for a /48.
func siteLimit(l rate.Limit) rate.Limit {
	l.Events, l.Burst = min(siteShare*l.Events, rate.MaxEvents), min(siteShare*l.Burst, rate.MaxBurst)
	return l
}

func newRules(l RateLimits, epoch time.Time) *rules {
	r := new(rules)
	r.own[createRules], r.byAddress[createRules] = newRule("creates", l.Creates, epoch), newRule("address-creates", l.Creates, epoch)
	r.own[callRules], r.byAddress[callRules] = newRule("calls", l.Calls, epoch), newRule("address-calls", l.Calls, epoch)
	r.own[loginRules], r.byAddress[loginRules] = newRule("logins", l.Logins, epoch), newRule("address-logins", l.AddressLogins, epoch)
	r.bySite[loginRules] = newRule("site-logins", siteLimit(l.AddressLogins), epoch)
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
	return wire.NetworkOf(client).As16(), !s.proxies.Trust(client)
}

// siteOf returns the /48 of an IPv6 address; counted is false for IPv4.
func siteOf(client netip.Addr) (key [16]byte, counted bool) {
	if !client.Is6() || client.Is4In6() {
		return key, false
	}
	site, _ := client.Prefix(48) // 48 is no error
	return site.Addr().As16(), true
}

// An allowance is what a request asks of the rules that it comes under, from the narrowest to the
// widest, and what is left of them.
type allowance struct {
	address, site [16]byte
	asked         [3]struct {
		rule    *rule
		key     []byte
		verdict rate.Verdict
	}
	n int
}

// under adds a rule that the request comes under.
func (a *allowance) under(r *rule, key []byte) {
	if r.table != nil {
		a.asked[a.n].rule, a.asked[a.n].key = r, key
		a.n++
	}
}

// take takes cost events by every rule, or nothing if they are too many for one of them; then wait
// is the longest time until they are not. It looks at all rules before it takes, so that what one
// refuses leaves no trace in the others. It takes by the widest first, so that an account at an
// address that races for the last attempt of the address is not counted either; a rule that
// refuses although it looked well, because of such a race, gives the wider ones back.
func (a *allowance) take(at time.Time, cost int) (wait time.Duration) {
	for i := range a.asked[:a.n] {
		q := &a.asked[i]
		q.verdict = q.rule.table.Peek(q.key, at, cost)
		wait = max(wait, q.verdict.Wait)
	}
	for i := a.n - 1; i >= 0 && wait == 0; i-- {
		q := &a.asked[i]
		q.verdict = q.rule.table.Take(q.key, at, cost)
		if wait = q.verdict.Wait; wait > 0 {
			a.giveBack(i+1, at, cost)
		}
	}
	return wait
}

// giveBack undoes a take by the rules from the first-th on.
func (a *allowance) giveBack(first int, at time.Time, cost int) {
	for i := first; i < a.n; i++ {
		a.asked[i].rule.table.GiveBack(a.asked[i].key, at, cost)
	}
}

// askFor adds the rules that a request of that scope comes under: for owner, if there is one, and
// for the client's address.
func (s *Server) askFor(a *allowance, ctx *fasthttp.RequestCtx, scope ruleScope, owner []byte) {
	if !isLimited(ctx) {
		return
	}
	if owner != nil {
		a.under(&s.rules.own[scope], owner)
	}
	client := s.proxies.ClientAddr(ctx, wire.PeerAddr(ctx))
	var counted bool
	if a.address, counted = s.addressKey(client); !counted {
		return
	}
	a.under(&s.rules.byAddress[scope], a.address[:])
	if a.site, counted = siteOf(client); counted {
		a.under(&s.rules.bySite[scope], a.site[:])
	}
}

// limit counts a request of that scope for owner, if there is one, and for the client's address,
// and refuses it if that is too much for either. A request that is refused is not counted.
func (s *Server) limit(ctx *fasthttp.RequestCtx, scope ruleScope, owner []byte, cost int) error {
	var a allowance
	s.askFor(&a, ctx, scope, owner)
	wait := a.take(s.timeOf(ctx), cost)
	a.write(&ctx.Response.Header)
	if wait == 0 {
		return nil
	}
	s.rules.refused[scope].Add(1)
	seconds := wholeSeconds(wait)
	ctx.Response.Header.Set(fasthttp.HeaderRetryAfter, strconv.FormatInt(seconds, 10))
	return problem.New(problem.RateLimited, "try again in %d s; see RateLimit-Policy for the limits", seconds)
}

// write tells a client of its allowance (draft-ietf-httpapi-ratelimit-headers-11): for each policy the quota q in a window of w
// seconds, what remains of it, and the seconds t until it is whole again.
func (a *allowance) write(h *fasthttp.ResponseHeader) {
	if a.n == 0 {
		return
	}
	var policies, left [128]byte
	p, l := policies[:0], left[:0]
	for i := range a.asked[:a.n] {
		q := &a.asked[i]
		if i > 0 {
			p, l = append(p, ", "...), append(l, ", "...)
		}
		p = append(p, q.rule.policy...)
		l = append(append(append(l, '"'), q.rule.name...), `";r=`...)
		l = strconv.AppendInt(l, int64(q.verdict.Remaining), 10)
		l = strconv.AppendInt(append(l, ";t="...), wholeSeconds(q.verdict.Full), 10)
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

// mayLogIn counts an attempt to log in as email, before a password is looked at: for the account at
// this address, in whatever case or form its name is written, and for the address. Names are
// invented by the thousand, addresses are not: see package rate for why an attempt that the address
// is refused must not be counted for the account.
func (s *Server) mayLogIn(ctx *fasthttp.RequestCtx, email string) error {
	return s.limit(ctx, loginRules, s.loginKey(ctx, email), 1)
}

// hasNotTried takes back that an attempt was counted, because no password was looked at.
func (s *Server) hasNotTried(ctx *fasthttp.RequestCtx, email string) {
	var a allowance
	s.askFor(&a, ctx, loginRules, s.loginKey(ctx, email))
	a.giveBack(0, s.timeOf(ctx), 1)
}

// loginKey names an account at the client's address.
func (s *Server) loginKey(ctx *fasthttp.RequestCtx, email string) []byte {
	key, _ := s.addressKey(s.proxies.ClientAddr(ctx, wire.PeerAddr(ctx)))
	return append(key[:], account.LoginName(email)...)
}

// mayMiss counts a request for an unknown code. If it is one too many for its address, it has the fields that say so.
func (s *Server) mayMiss(ctx *fasthttp.RequestCtx, client netip.Addr) bool {
	r := &s.rules.byAddress[missRules]
	key, counted := s.addressKey(client)
	if r.table == nil || !counted || !isLimited(ctx) {
		return true
	}
	var a allowance
	a.under(r, key[:])
	wait := a.take(s.timeOf(ctx), 1)
	if wait == 0 {
		return true
	}
	s.rules.refused[missRules].Add(1)
	a.write(&ctx.Response.Header)
	ctx.Response.Header.Set(fasthttp.HeaderRetryAfter, strconv.FormatInt(wholeSeconds(wait), 10))
	return false
}
