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
	long(t)
	t.Parallel()
	st, from := floodSite(t)
	allowed := st.flood(floodSeconds, func(int) string { return "192.0.2.1" })
	if most := 20 + 20*floodSeconds/900 + 1; allowed > most {
		t.Errorf("%d attempts of one address were allowed, want %d at most", allowed, most)
	}
	for n := range 100 {
		st.flood(1, func(int) string { return "192.0.2.1" })
		if got := from(fmt.Sprintf("198.51.100.%d", n)).logIn("ann@example.com", password); got != 200 {
			t.Fatalf("a correct login from a new address during the flood, %d: got %d, want 200", n, got)
		}
	}
}

func TestAFloodGivesNobodyASixthTry(t *testing.T) {
	t.Parallel()
	st, from := floodSite(t)
	victim := from("198.51.100.1")
	for n := range 5 {
		if got := victim.logIn("ann@example.com", "wrong wrong wrong"); got != 401 {
			t.Fatalf("try %d: got %d, want 401", n+1, got)
		}
	}
	for range 2 { // five tries of fifteen minutes: one comes back after three
		st.flood(60, func(n int) string { return fmt.Sprintf("203.0.%d.%d", n/250%250, n%250) })
		if got := victim.logIn("ann@example.com", "wrong wrong wrong"); got != 429 {
			t.Errorf("the sixth try: got %d, want 429", got)
		}
	}
	st.now.Add(time.Minute.Milliseconds())
	if got := victim.logIn("ann@example.com", password); got != 200 {
		t.Errorf("the next try, when there is one: got %d, want 200", got)
	}
}

func TestARefusedLoginUsesUpNoOtherLimit(t *testing.T) {
	st, _ := floodSite(t)
	const office = "192.0.2.1"
	for n := range 100 {
		if got := st.attempt(office, "ann@example.com"); got != (n < 5) {
			t.Fatalf("try %d: got allowed == %v", n+1, got)
		}
	}
	for n := range 15 { // the rest of twenty, for others in the office
		if !st.attempt(office, fmt.Sprintf("colleague%d@example.com", n)) {
			t.Fatalf("colleague %d: refused", n)
		}
	}
	for range 100 {
		if st.attempt(office, "bob@example.com") {
			t.Fatal("the twenty-first attempt of the address was allowed")
		}
	}
	st.now.Add(45 * time.Second.Milliseconds()) // one try comes back
	if !st.attempt(office, "bob@example.com") {
		t.Error("what the address was refused was counted for the account")
	}
}

func TestALoginWithoutAPlaceToHashIsNotCounted(t *testing.T) {
	st, from := floodSite(t)
	ann, none := from("192.0.2.1"), account.New(st.table, st.Server.now.Time)
	none.ShareCores(turnstile.New(turnstile.Limits{}))
	some := st.accountCalls.accounts
	st.accountCalls.accounts = none
	for range 50 {
		if got := ann.logIn("ann@example.com", password); got != 503 {
			t.Fatalf("without a place: got %d, want 503", got)
		}
	}
	st.accountCalls.accounts = some
	for n := range 5 {
		if got := ann.logIn("ann@example.com", password); got != 200 {
			t.Fatalf("with a place, try %d: got %d, want 200", n+1, got)
		}
	}
}

func TestIPv6LoginsAreAlsoCountedForTheSite(t *testing.T) {
	st, _ := floodSite(t)
	site := func(n int) string { return fmt.Sprintf("2001:db8:1:%x::1", n) }
	for n := range 16 * 20 {
		if !st.attempt(site(n), fmt.Sprintf("nobody%d@example.com", n)) {
			t.Fatalf("attempt %d of a /48, each from another /64: refused", n+1)
		}
	}
	for range 100 {
		if st.attempt(site(16*20), "ann@example.com") {
			t.Fatal("the /48 has had its attempts, and got another")
		}
	}
	if !st.attempt("2001:db8:2::1", "ann@example.com") {
		t.Error("the next /48: refused")
	}
	st.now.Add(3 * time.Second.Milliseconds()) // 320 in 15 minutes
	if !st.attempt(site(16*20), "ann@example.com") {
		t.Error("what was refused for the /48 was counted for the /64 or the account")
	}
}
