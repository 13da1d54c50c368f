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
)

func limitOf(t testing.TB, text string) rate.Limit {
	t.Helper()
	l, err := rate.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
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
				if got := a.ask(c.method, c.path, c.body); got.status != c.answer {
					t.Fatalf("request %d: got %d %s, want %d", i+1, got.status, got.body, c.answer)
				}
			}
			for range 2 {
				got := a.ask(c.method, c.path, c.body)
				if after := strconv.Itoa(int(c.wait / time.Second)); got.status != 429 || got.header.Get("Retry-After") != after {
					t.Fatalf("got %d, Retry-After %q, want 429 and %s", got.status, got.header.Get("Retry-After"), after)
				}
			}
			st.now.Add(int64(c.wait/time.Millisecond) - 1)
			if got := a.ask(c.method, c.path, c.body); got.status != 429 || got.header.Get("Retry-After") != "1" {
				t.Errorf("a millisecond early: got %d, Retry-After %q", got.status, got.header.Get("Retry-After"))
			}
			st.now.Add(1)
			if got := a.statuses(2, c.method, c.path, c.body); got[0] != c.answer || got[1] != 429 {
				t.Errorf("in time: got %v, want %d and 429", got, c.answer)
			}
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
		if got := c.ask(c.method, c.path, c.body); got.status != c.want {
			t.Errorf("%s: got %d %s, want %d", name, got.status, got.body, c.want)
		}
	}
}

func TestKnownCodesAreRedirectedWhateverTheLimits(t *testing.T) {
	st := limitedSite(t, nil)
	st.shorten(`{"url":"http://a/","alias":"known"}`)
	a := asker{t, st.from("192.0.2.1"), []string{bearer(st.member("ann@example.com"))}}
	if got := a.statuses(5, "GET", "/unknown", ""); got[4] != 429 {
		t.Fatalf("got %v", got)
	}
	a.statuses(5, "GET", "/api/v1/me", "")
	for range 20 {
		r := a.ask("GET", "/known", "")
		if r.status != 302 || r.header.Get("RateLimit") != "" || r.header.Get("RateLimit-Policy") != "" {
			t.Fatalf("got %+v", r)
		}
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
		if got := c.ask("GET", "/x", ""); got.status != c.want {
			t.Errorf("%s: got %d, want %d", name, got.status, c.want)
		}
	}
	for i, got := range (asker{t, proxy, nil}).statuses(10, "GET", "/x", "") {
		if got != 404 {
			t.Fatalf("a trusted proxy of itself, request %d: got %d", i, got)
		}
	}
	if got := (asker{t, st.publicAt, nil}).statuses(10, "GET", "/x", ""); got[9] != 404 {
		t.Errorf("through a socket of this machine: got %v", got)
	}
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
		if got := try(c.a, c.email); got != c.want {
			t.Errorf("%q: got %d, want %d", c.email, got, c.want)
		}
	}
	if got := st.metric(`shunt_rate_limited_total{scope="logins"}`); got != "2" {
		t.Errorf("got %s refusals, want 2", got)
	}
}

func TestAdminsAreExemptFromLimits(t *testing.T) {
	st := limitedSite(t, nil)
	a := asker{t, st.from("192.0.2.1"), []string{bearer(st.token)}}
	for i := range 20 {
		if r := a.ask("GET", "/api/v1/me", ""); r.status != 200 || r.header.Get("RateLimit") != "" {
			t.Fatalf("call %d: got %+v", i, r)
		}
		if r := a.ask("POST", "/api/v1/shorten", `{"url":"http://a/"}`); r.status != 201 {
			t.Fatalf("create %d: got %+v", i, r)
		}
	}
	admin, err := st.accounts.OldestAdmin()
	if err != nil {
		t.Fatal(err)
	}
	a.lines = []string{bearer(st.issue(account.CallerOf(admin), account.LinksRead))}
	if got := a.statuses(4, "GET", "/api/v1/me", ""); got[3] != 429 {
		t.Errorf("an admin's token without the scope: got %v, want 429 at last", got)
	}
}

func TestADisabledLimitRefusesAndStatesNothing(t *testing.T) {
	st := limitedSite(t, func(o *Options) { o.RateLimits = limit.Limits{} })
	a := asker{t, st.from("192.0.2.1"), []string{bearer(st.member("ann@example.com"))}}
	for _, c := range [][3]string{
		{"POST", "/api/v1/shorten", `{"url":"http://a/"}`}, {"GET", "/api/v1/me", ""}, {"GET", "/nosuchcode", ""},
		{"POST", "/api/v1/session", `{"email":"ann@example.com","password":"wrong wrong wrong"}`},
	} {
		for range 10 {
			if r := a.ask(c[0], c[1], c[2]); r.status == 429 || r.header.Get("RateLimit") != "" || r.header.Get("RateLimit-Policy") != "" {
				t.Fatalf("%s %s: got %+v", c[0], c[1], r)
			}
		}
	}
}

func TestAnAnswerStatesTheRestOfTheLimit(t *testing.T) {
	st := limitedSite(t, nil)
	a := asker{t, st.from("192.0.2.1"), []string{bearer(st.member("ann@example.com"))}}
	want := func(r reply, status int, policy, left string) {
		t.Helper()
		if r.status != status || r.header.Get("RateLimit-Policy") != policy || r.header.Get("RateLimit") != left {
			t.Errorf("got %d\n%s\n%s\nwant %d\n%s\n%s", r.status, r.header.Get("RateLimit-Policy"), r.header.Get("RateLimit"), status, policy, left)
		}
	}
	const creates, calls = `"creates";q=4;w=4, "address-creates";q=4;w=4`, `"calls";q=3;w=3, "address-calls";q=3;w=3`
	want(a.ask("POST", "/api/v1/shorten", `{"url":"http://a/"}`), 201, creates, `"creates";r=3;t=1, "address-creates";r=3;t=1`)
	want(a.ask("GET", "/api/v1/me", ""), 200, calls, `"calls";r=2;t=1, "address-calls";r=2;t=1`)
	want(asker{t, a.ln, nil}.ask("GET", "/api/v1/me", ""), 401, `"address-calls";q=3;w=3`, `"address-calls";r=1;t=2`)
	st.now.Add(500)
	want(a.ask("GET", "/api/v1/me", ""), 200, calls, `"calls";r=1;t=2, "address-calls";r=0;t=3`)
	r := a.ask("GET", "/api/v1/me", "")
	want(r, 429, calls, `"calls";r=1;t=2, "address-calls";r=0;t=3`) // a refused call is not counted for the token
	if r.problem() != "rate_limited" || r.header.Get("Retry-After") != "1" || r.header.Get("Cache-Control") != "no-store" {
		t.Errorf("got %+v", r)
	}
	// RFC 9651: a list of strings with integer parameters.
	member := `"[a-z-]+"(;[a-z]+=[0-9]+)+`
	for _, name := range []string{"RateLimit-Policy", "RateLimit"} {
		if !regexp.MustCompile("^" + member + "(, " + member + ")*$").MatchString(r.header.Get(name)) {
			t.Errorf("%s is malformed: %s", name, r.header.Get(name))
		}
	}
	if got := st.metric(`shunt_rate_limited_total{scope="calls"}`); got != "1" {
		t.Errorf("got %s refusals, want 1", got)
	}
}

func TestTooManyMissesGetASmallUncachedPage(t *testing.T) {
	st := limitedSite(t, nil)
	a := asker{t, st.from("192.0.2.1"), nil}
	a.statuses(3, "GET", "/nosuchcode", "")
	page, problem := a.ask("GET", "/nosuchcode", ""), a.ask("GET", "/nosuchcode", "", "Accept: application/json")
	if page.status != 429 || page.header.Get("Content-Type") != "text/html; charset=utf-8" || len(page.body) > 2000 {
		t.Errorf("got %+v", page)
	}
	if problem.status != 429 || problem.problem() != "rate_limited" {
		t.Errorf("got %+v", problem)
	}
	for _, r := range []reply{page, problem} {
		if r.header.Get("Cache-Control") != "no-store" || r.header.Get("Retry-After") != "60" ||
			r.header.Get("RateLimit") != `"misses";r=0;t=180` || r.header.Get("RateLimit-Policy") != `"misses";q=3;w=180` {
			t.Errorf("got %v", r.header)
		}
	}
	if got := st.metric(`shunt_rate_limited_total{scope="misses"}`); got != "2" {
		t.Errorf("got %s refusals, want 2", got)
	}
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
		if err := ask(c.n); (err == nil) != c.allowed {
			t.Errorf("request %d: got %v, want allowed: %v", i, err, c.allowed)
		}
	}
	caller.Scopes = []account.Scope{account.Admin}
	if err := ask(rate.MaxCost); err != nil {
		t.Errorf("an admin: got %v", err)
	}
}

func TestABulkCountsAsItsNumberOfCreates(t *testing.T) {
	st := limitedSite(t, nil)
	a := asker{t, st.from("192.0.2.1"), []string{bearer(st.member("ann@example.com"))}}
	item := `{"url":"http://a/"}`
	if r := a.ask("POST", "/api/v1/shorten/bulk", "["+item+","+item+","+item+"]"); r.status != 200 {
		t.Fatalf("got %+v", r)
	}
	if r := a.ask("POST", "/api/v1/shorten/bulk", "["+item+","+item+"]"); r.problem() != "rate_limited" {
		t.Errorf("two with room for one: got %+v", r)
	}
}

func TestALoginThatSucceedsCostsNoAttempt(t *testing.T) {
	st := limitedSite(t, func(o *Options) { o.RateLimits.Calls = rate.Limit{} })
	st.person("ann@example.com", account.RoleMember)
	a := asker{t, st.from("192.0.2.1"), nil}
	logIn := func(n int, password string) []int {
		return a.statuses(n, "POST", "/api/v1/session", fmt.Sprintf(`{"email":"ann@example.com","password":%q}`, password))
	}
	if got := logIn(7, password); !slices.Equal(got, slices.Repeat([]int{200}, 7)) {
		t.Errorf("right passwords: got %v, want 200", got)
	}
	if got := append(logIn(2, "wrong wrong wrong"), logIn(1, password)...); !slices.Equal(got, []int{401, 401, 429}) {
		t.Errorf("after two wrong ones: got %v, want 401, 401, 429", got)
	}
}
