package api

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/limit"
	"shunt/api/rate"
	"shunt/engine/expect"
)

func limitOf(t testing.TB, text string) rate.Limit {
	t.Helper()
	l, err := rate.Parse(text)
	expect.OK(t, err)
	return l
}

// limitedSite returns a site with limits that tests can use up, which accepts tokens from any
// address.
func limitedSite(t *testing.T, change func(*Options)) *site {
	t.Helper()
	return newSite(t, func(o *Options) {
		o.AllowHTTP = true
		o.RateLimits = limit.Limits{
			Creates: limitOf(t, "1/s:4"), Calls: limitOf(t, "1/s:3"), Misses: limitOf(t, "1/min:3"),
			Logins: limitOf(t, "1/min:2"), AddressLogins: limitOf(t, "1/min:5"),
		}
		if change != nil {
			change(o)
		}
	})
}

// asker sends requests from one address.
type asker struct {
	t     *testing.T
	ln    dialer
	lines []string
}

func (a asker) ask(method, path, body string, lines ...string) reply {
	a.t.Helper()
	lines = append(append(lines, a.lines...), "Content-Type: application/json")
	return send(a.t, a.ln, method, requestText(method, path, body, lines...))
}

// statuses returns the statuses of n equal requests.
func (a asker) statuses(n int, method, path, body string) (got []int) {
	a.t.Helper()
	for range n {
		got = append(got, a.ask(method, path, body).status)
	}
	return got
}

func bearer(token string) string { return "Authorization: Bearer " + token }

func TestEachLimitRefusesExcessAndEndsInTime(t *testing.T) {
	const wrong = `{"email":"ann@example.com","password":"wrong wrong wrong"}`
	for name, c := range map[string]struct {
		method, path, body string
		allowed            int
		answer             int
		wait               time.Duration
	}{
		"creates":              {"POST", "/api/v1/shorten", `{"url":"http://a/"}`, 4, 201, time.Second},
		"calls":                {"GET", "/api/v1/tokens", "", 3, 200, time.Second},
		"calls that fail":      {"GET", "/api/v1/links/none", "", 3, 404, time.Second},
		"creates that fail":    {"POST", "/api/v1/shorten", `{}`, 4, 422, time.Second},
		"logins":               {"POST", "/api/v1/session", wrong, 2, 401, time.Minute},
		"misses":               {"GET", "/nosuchcode", "", 3, 404, time.Minute},
		"misses, spoilt":       {"GET", "/nosuchcode.&x=y", "", 3, 404, time.Minute},
		"misses, escaped":      {"GET", "/%6Eosuchcode%20", "", 3, 404, time.Minute},
		"misses, spoilt page":  {"GET", "/nosuchcode%2Esvg)", "", 3, 404, time.Minute},
		"misses of previews":   {"GET", "/nosuchcode+", "", 3, 404, time.Minute},
		"misses of QR codes":   {"GET", "/nosuchcode.svg", "", 3, 404, time.Minute},
		"misses, another case": {"HEAD", "/nosuchcode/", "", 3, 404, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := limitedSite(t, func(o *Options) {
				if name == "logins" { // an attempt is a call, too
					o.RateLimits.Calls = rate.Limit{}
				}
			})
			a := asker{t, st.from("192.0.2.1"), []string{bearer(st.member("ann@example.com"))}}
			for i := range c.allowed {
				a.ask(c.method, c.path, c.body).need(t, fmt.Sprintf("request %d", i+1), c.answer)
			}
			for range 2 {
				got := a.ask(c.method, c.path, c.body)
				after := strconv.Itoa(int(c.wait / time.Second))
				got.need(t, "", 429, header("Retry-After", after))
			}
			st.now.Add(int64(c.wait/time.Millisecond) - 1)
			a.ask(c.method, c.path, c.body).expect(t, "a millisecond early", 429, header("Retry-After", "1"))
			st.now.Add(1)
			got := a.statuses(2, c.method, c.path, c.body)
			expect.That(t, got[0] == c.answer && got[1] == 429, "in time: got %v, want %d and 429", got, c.answer)
		})
	}
}

func TestLimitsAreCountedSeparately(t *testing.T) {
	st := limitedSite(t, nil)
	ann, bob := st.member("ann@example.com"), st.member("bob@example.com")
	here := st.from("192.0.2.1")
	a := asker{t, here, []string{bearer(ann)}}
	a.statuses(3, "GET", "/api/v1/me", "")
	for name, c := range map[string]struct {
		asker
		method, path, body string
		want               int
	}{
		"the same token elsewhere":      {asker{t, st.from("192.0.2.2"), a.lines}, "GET", "/api/v1/me", "", 429},
		"another token here":            {asker{t, here, []string{bearer(bob)}}, "GET", "/api/v1/me", "", 429},
		"no token here":                 {asker{t, here, nil}, "GET", "/api/v1/me", "", 429},
		"another token elsewhere":       {asker{t, st.from("192.0.2.3"), []string{bearer(bob)}}, "GET", "/api/v1/me", "", 200},
		"an admin's token here":         {asker{t, here, []string{bearer(st.token)}}, "GET", "/api/v1/me", "", 200},
		"a create":                      {a, "POST", "/api/v1/shorten", `{"url":"http://a/"}`, 201},
		"an unknown code":               {a, "GET", "/nosuchcode", "", 404},
		"another path":                  {a, "GET", "/no/such/path", "", 404},
		"a guess of a token":            {asker{t, here, []string{bearer("shunt_guess")}}, "GET", "/api/v1/me", "", 429},
		"a guess of a token, elsewhere": {asker{t, st.from("192.0.2.4"), []string{bearer("shunt_guess")}}, "GET", "/api/v1/me", "", 401},
		"a session that is not there":   {asker{t, st.from("192.0.2.5"), nil}, "DELETE", "/api/v1/session", "", 204},
	} {
		c.ask(c.method, c.path, c.body).expect(t, name, c.want)
	}
}

func TestKnownCodesAreRedirectedWhateverTheLimits(t *testing.T) {
	st := limitedSite(t, nil)
	st.shorten(`{"url":"http://a/","alias":"known"}`)
	a := asker{t, st.from("192.0.2.1"), []string{bearer(st.member("ann@example.com"))}}
	got := a.statuses(5, "GET", "/unknown", "")
	expect.MustEqual(t, got[4], 429, "got %v", got)
	a.statuses(5, "GET", "/api/v1/me", "")
	for range 20 {
		a.ask("GET", "/known", "").need(t, "", 302, header("RateLimit", ""), header("RateLimit-Policy", ""))
	}
}

func TestAddressLimitsCountNetworksAndBelieveTrustedProxies(t *testing.T) {
	st := limitedSite(t, func(o *Options) { o.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")} })
	proxy := st.from("10.0.0.1")
	from := func(addr string) asker { return asker{t, st.from(addr), nil} }
	forwarded := func(addr string) asker { return asker{t, proxy, []string{"X-Forwarded-For: " + addr}} }
	from("192.0.2.1").statuses(3, "GET", "/x", "")
	from("2001:db8:0:1::1").statuses(3, "GET", "/x", "")
	forwarded("192.0.2.7").statuses(3, "GET", "/x", "")
	for name, c := range map[string]struct {
		asker
		want int
	}{
		"the same":                             {from("192.0.2.1"), 429},
		"the same, mapped into IPv6":           {from("::ffff:192.0.2.1"), 429},
		"its neighbour":                        {from("192.0.2.2"), 404},
		"the same /64":                         {from("2001:db8:0:1:ffff::2"), 429},
		"the next /64":                         {from("2001:db8:0:2::1"), 404},
		"the client whom the proxy names":      {forwarded("192.0.2.7"), 429},
		"that client behind another proxy":     {forwarded("192.0.2.7, 10.9.9.9"), 429},
		"that client itself":                   {from("192.0.2.7"), 429},
		"another client of the proxy":          {forwarded("192.0.2.8"), 404},
		"a client that pretends to be a proxy": {asker{t, st.from("192.0.2.1"), []string{"X-Forwarded-For: 192.0.2.99"}}, 429},
	} {
		c.ask("GET", "/x", "").expect(t, name, c.want)
	}
	for i, got := range (asker{t, proxy, nil}).statuses(10, "GET", "/x", "") {
		expect.MustEqual(t, got, 404, "a trusted proxy of itself, request %d", i)
	}
	got := (asker{t, st.publicAt, nil}).statuses(10, "GET", "/x", "")
	expect.Equal(t, got[9], 404, "through a socket of this machine: got %v", got)
}

func TestAnAccountIsOneHoweverItsNameIsWritten(t *testing.T) {
	st := limitedSite(t, func(o *Options) { o.RateLimits.Calls = rate.Limit{} })
	a := asker{t, st.from("192.0.2.1"), nil}
	try := func(a asker, email string) int {
		return a.ask("POST", "/api/v1/session", fmt.Sprintf(`{"email":%q,"password":"wrong wrong wrong"}`, email)).status
	}
	for _, c := range []struct {
		a     asker
		email string
		want  int
	}{
		{a, "ann@bücher.example", 401},
		{a, " ANN@xn--bcher-kva.example", 401},
		{a, "Ann@BÜCHER.example", 429}, // the third of one account
		{asker{t, st.from("192.0.2.2"), nil}, "ann@bücher.example", 401},
		{a, "bob@example.com", 401},
		{a, "cid@example.com", 401},
		{a, "dan@example.com", 401}, // the fifth that was counted for the address
		{a, "eve@example.com", 429},
	} {
		expect.Equal(t, try(c.a, c.email), c.want, "%q", c.email)
	}
	expect.Equal(t, st.metric(`shunt_rate_limited_total{scope="logins"}`), "2", "refusals")
}

func TestAdminsAreExemptFromLimits(t *testing.T) {
	st := limitedSite(t, nil)
	a := asker{t, st.from("192.0.2.1"), []string{bearer(st.token)}}
	for i := range 20 {
		a.ask("GET", "/api/v1/me", "").need(t, fmt.Sprintf("call %d", i), 200, header("RateLimit", ""))
		a.ask("POST", "/api/v1/shorten", `{"url":"http://a/"}`).need(t, fmt.Sprintf("create %d", i), 201)
	}
	admin, err := st.accounts.OldestAdmin()
	expect.OK(t, err)
	a.lines = []string{bearer(st.issue(account.CallerOf(admin), account.LinksRead))}
	got := a.statuses(4, "GET", "/api/v1/me", "")
	expect.Equal(t, got[3], 429, "an admin's token without the scope: got %v at last", got)
}

func TestADisabledLimitRefusesAndStatesNothing(t *testing.T) {
	st := limitedSite(t, func(o *Options) { o.RateLimits = limit.Limits{} })
	a := asker{t, st.from("192.0.2.1"), []string{bearer(st.member("ann@example.com"))}}
	for _, c := range [][3]string{
		{"POST", "/api/v1/shorten", `{"url":"http://a/"}`}, {"GET", "/api/v1/me", ""}, {"GET", "/nosuchcode", ""},
		{"POST", "/api/v1/session", `{"email":"ann@example.com","password":"wrong wrong wrong"}`},
	} {
		for range 10 {
			r := a.ask(c[0], c[1], c[2])
			expect.MustThat(t, r.status != 429 && r.header.Get("RateLimit") == "" && r.header.Get("RateLimit-Policy") == "", "%s %s: got %+v", c[0], c[1], r)
		}
	}
}

func TestAnAnswerStatesTheRestOfTheLimit(t *testing.T) {
	st := limitedSite(t, nil)
	a := asker{t, st.from("192.0.2.1"), []string{bearer(st.member("ann@example.com"))}}
	want := func(r reply, status int, policy, left string) {
		t.Helper()
		r.expect(t, "", status, header("RateLimit-Policy", policy), header("RateLimit", left))
	}
	const creates, calls = `"creates";q=4;w=4, "address-creates";q=4;w=4`, `"calls";q=3;w=3, "address-calls";q=3;w=3`
	want(a.ask("POST", "/api/v1/shorten", `{"url":"http://a/"}`), 201, creates, `"creates";r=3;t=1, "address-creates";r=3;t=1`)
	want(a.ask("GET", "/api/v1/me", ""), 200, calls, `"calls";r=2;t=1, "address-calls";r=2;t=1`)
	want(asker{t, a.ln, nil}.ask("GET", "/api/v1/me", ""), 401, `"address-calls";q=3;w=3`, `"address-calls";r=1;t=2`)
	st.now.Add(500)
	want(a.ask("GET", "/api/v1/me", ""), 200, calls, `"calls";r=1;t=2, "address-calls";r=0;t=3`)
	r := a.ask("GET", "/api/v1/me", "")
	want(r, 429, calls, `"calls";r=1;t=2, "address-calls";r=0;t=3`) // a refused call is not counted for the token
	r.expect(t, "", problemOf("rate_limited"), header("Retry-After", "1"), header("Cache-Control", "no-store"))
	// RFC 9651: a list of strings with integer parameters.
	member := `"[a-z-]+"(;[a-z]+=[0-9]+)+`
	for _, name := range []string{"RateLimit-Policy", "RateLimit"} {
		expect.That(t, regexp.MustCompile("^"+member+"(, "+member+")*$").MatchString(r.header.Get(name)),
			"%s is malformed: %s", name, r.header.Get(name))
	}
	expect.Equal(t, st.metric(`shunt_rate_limited_total{scope="calls"}`), "1", "refusals")
}

func TestTooManyMissesGetASmallUncachedPage(t *testing.T) {
	st := limitedSite(t, nil)
	a := asker{t, st.from("192.0.2.1"), nil}
	a.statuses(3, "GET", "/nosuchcode", "")
	page, problem := a.ask("GET", "/nosuchcode", ""), a.ask("GET", "/nosuchcode", "", "Accept: application/json")
	expect.That(t, page.status == 429 && page.header.Get("Content-Type") == "text/html; charset=utf-8" && len(page.body) <= 2000, "got %+v", page)
	problem.expect(t, "", 429, problemOf("rate_limited"))
	for _, r := range []reply{page, problem} {
		expect.That(t, r.header.Get("Cache-Control") == "no-store" && r.header.Get("Retry-After") == "60" &&
			r.header.Get("RateLimit") == `"misses";r=0;t=180` && r.header.Get("RateLimit-Policy") == `"misses";q=3;w=180`, "got %v", r.header)
	}
	expect.Equal(t, st.metric(`shunt_rate_limited_total{scope="misses"}`), "2", "refusals")
}

func TestACreateOfManyLinksCountsEachLink(t *testing.T) {
	st := limitedSite(t, nil)
	caller := account.Caller{TokenID: "some"}
	ask := func(n int) error {
		var ctx fasthttp.RequestCtx
		ctx.Init(&fasthttp.Request{}, tcpAddr("192.0.2.1"), nil)
		if err := st.limiter.MayCall(&ctx, caller, true); err != nil {
			return err
		}
		return st.limiter.MayCreateMore(&ctx, caller, n-1)
	}
	for i, c := range []struct {
		n       int
		allowed bool
	}{{3, true}, {1, true}, {1, false}} {
		err := ask(c.n)
		expect.That(t, (err == nil) == c.allowed, "request %d: got %v, want allowed: %v", i, err, c.allowed)
	}
	caller.Scopes = []account.Scope{account.Admin}
	expect.NoError(t, ask(rate.MaxCost), "an admin")
}

func TestABulkCountsAsItsNumberOfCreates(t *testing.T) {
	st := limitedSite(t, nil)
	a := asker{t, st.from("192.0.2.1"), []string{bearer(st.member("ann@example.com"))}}
	item := `{"url":"http://a/"}`
	a.ask("POST", "/api/v1/shorten/bulk", "["+item+","+item+","+item+"]").need(t, "", 200)
	a.ask("POST", "/api/v1/shorten/bulk", "["+item+","+item+"]").expect(t, "two with room for one", problemOf("rate_limited"))
}

func TestALoginThatSucceedsCostsNoAttempt(t *testing.T) {
	st := limitedSite(t, func(o *Options) { o.RateLimits.Calls = rate.Limit{} })
	st.person("ann@example.com", account.RoleMember)
	a := asker{t, st.from("192.0.2.1"), nil}
	logIn := func(n int, password string) []int {
		return a.statuses(n, "POST", "/api/v1/session", fmt.Sprintf(`{"email":"ann@example.com","password":%q}`, password))
	}
	expect.Slices(t, logIn(7, goodPassword), slices.Repeat([]int{200}, 7), "right passwords")
	expect.Slices(t, append(logIn(2, "wrong wrong wrong"), logIn(1, goodPassword)...), []int{401, 401, 429}, "after two wrong ones")
}
