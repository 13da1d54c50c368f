package api

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/limit"
	"shunt/api/turnstile"
	"shunt/engine/expect"
)

// floodSite returns a site with the limits of the contract, which gets logins through a proxy at
// 10.0.0.1 that names its clients.
func floodSite(t *testing.T) (st *site, from func(addr string) asker) {
	st = newSite(t, func(o *Options) {
		o.AllowHTTP, o.RateLimits = true, limit.Default()
		o.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	})
	st.person("ann@example.com", account.RoleMember)
	proxy := st.from("10.0.0.1")
	return st, func(addr string) asker { return asker{t, proxy, []string{"X-Forwarded-For: " + addr}} }
}

// attempt counts an attempt to log in from addr, without a password, and reports whether it is
// allowed.
func (st *site) attempt(addr, email string) bool {
	var ctx fasthttp.RequestCtx
	ctx.Init(&fasthttp.Request{}, tcpAddr(addr), nil)
	return st.limiter.MayLogIn(&ctx, email) == nil
}

// floodPerSecond is a rate that once locked everybody out, after ten minutes to fill the table.
const (
	floodPerSecond = 980
	floodSeconds   = 600
)

// flood tries to log in with invented names, the n-th time from the address that from returns.
func (st *site) flood(seconds int, from func(n int) string) (allowed int) {
	for second := range seconds {
		st.now.Add(1000)
		for i := range floodPerSecond {
			n := second*floodPerSecond + i
			if st.attempt(from(n), fmt.Sprintf("nobody%d@example.com", n)) {
				allowed++
			}
		}
	}
	return allowed
}

func (a asker) logIn(email, password string) int {
	a.t.Helper()
	return a.ask("POST", "/api/v1/session", fmt.Sprintf(`{"email":%q,"password":%q}`, email, password)).status
}

func TestAFloodOfLoginsLocksNobodyOut(t *testing.T) {
	expect.Long(t)
	t.Parallel()
	st, from := floodSite(t)
	allowed := st.flood(floodSeconds, func(int) string { return "192.0.2.1" })
	most := 20 + 20*floodSeconds/900 + 1
	expect.That(t, allowed <= most, "%d attempts of one address were allowed, want %d at most", allowed, most)
	for n := range 100 {
		st.flood(1, func(int) string { return "192.0.2.1" })
		expect.MustEqual(t, from(fmt.Sprintf("198.51.100.%d", n)).logIn("ann@example.com", goodPassword), 200, "a correct login from a new address during the flood, %d", n)
	}
}

func TestAFloodGivesNobodyASixthTry(t *testing.T) {
	t.Parallel()
	st, from := floodSite(t)
	victim := from("198.51.100.1")
	for n := range 5 {
		expect.MustEqual(t, victim.logIn("ann@example.com", "wrong wrong wrong"), 401, "try %d", n+1)
	}
	for range 2 { // five tries of fifteen minutes: one comes back after three
		st.flood(60, func(n int) string { return fmt.Sprintf("203.0.%d.%d", n/250%250, n%250) })
		expect.Equal(t, victim.logIn("ann@example.com", "wrong wrong wrong"), 429, "the sixth try")
	}
	st.now.Add(time.Minute.Milliseconds())
	expect.Equal(t, victim.logIn("ann@example.com", goodPassword), 200, "the next try, when there is one")
}

func TestARefusedLoginUsesUpNoOtherLimit(t *testing.T) {
	st, _ := floodSite(t)
	const office = "192.0.2.1"
	for n := range 100 {
		expect.MustEqual(t, st.attempt(office, "ann@example.com"), n < 5, "try %d", n+1)
	}
	for n := range 15 { // the rest of twenty, for others in the office
		expect.MustThat(t, st.attempt(office, fmt.Sprintf("colleague%d@example.com", n)), "colleague %d: refused", n)
	}
	for range 100 {
		expect.MustThat(t, !st.attempt(office, "bob@example.com"), "the twenty-first attempt of the address was allowed")
	}
	st.now.Add(45 * time.Second.Milliseconds()) // one try comes back
	expect.That(t, st.attempt(office, "bob@example.com"), "what the address was refused was counted for the account")
}

func TestALoginWithoutAPlaceToHashIsNotCounted(t *testing.T) {
	st, from := floodSite(t)
	ann, none := from("192.0.2.1"), account.New(st.table, st.Server.now.Time)
	none.ShareCores(turnstile.New(turnstile.Limits{}))
	some := st.accountCalls.accounts
	st.accountCalls.accounts = none
	for range 50 {
		expect.MustEqual(t, ann.logIn("ann@example.com", goodPassword), 503, "without a place")
	}
	st.accountCalls.accounts = some
	for n := range 5 {
		expect.MustEqual(t, ann.logIn("ann@example.com", goodPassword), 200, "with a place, try %d", n+1)
	}
}

func TestIPv6LoginsAreAlsoCountedForTheSite(t *testing.T) {
	st, _ := floodSite(t)
	site := func(n int) string { return fmt.Sprintf("2001:db8:1:%x::1", n) }
	for n := range 16 * 20 {
		expect.MustThat(t, st.attempt(site(n), fmt.Sprintf("nobody%d@example.com", n)), "attempt %d of a /48, each from another /64: refused", n+1)
	}
	for range 100 {
		expect.MustThat(t, !st.attempt(site(16*20), "ann@example.com"), "the /48 has had its attempts, and got another")
	}
	expect.That(t, st.attempt("2001:db8:2::1", "ann@example.com"), "the next /48: refused")
	st.now.Add(3 * time.Second.Milliseconds()) // 320 in 15 minutes
	expect.That(t, st.attempt(site(16*20), "ann@example.com"), "what was refused for the /48 was counted for the /64 or the account")
}
