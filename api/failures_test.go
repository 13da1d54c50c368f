package api

import (
	"net/netip"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"

	"shunt/api/account"
	"shunt/engine/expect"
)

// failuresIn returns the lines of a log about failures, without their time.
func failuresIn(log string) (lines []string) {
	for line := range strings.Lines(log) {
		if _, rest, _ := strings.Cut(strings.TrimSpace(line), " "); strings.Contains(rest, "failed") || strings.Contains(rest, "refused") {
			lines = append(lines, rest)
		}
	}
	return lines
}

// failingWays are requests of which each fails once, with the message of its line; empty: no line.
func failingWays(st *site, cookie string) map[string]struct{ raw, message string } {
	form := func(path, body string, lines ...string) string {
		return requestText("POST", path, body, append(lines, "Content-Type: application/x-www-form-urlencoded", ownPage)...)
	}
	const asJSON = "Content-Type: application/json"
	return map[string]struct{ raw, message string }{
		"an unknown token":      {requestText("GET", "/api/v1/me", "", "Authorization: Bearer shunt_x"), "token refused"},
		"a wrong password":      {requestText("POST", "/api/v1/session", `{"email":"ann@example.com","password":"typed-wrongly"}`, asJSON), "login failed"},
		"an unknown user":       {requestText("POST", "/api/v1/session", `{"email":"typed-wrongly","password":"typed-wrongly"}`, asJSON), "login failed"},
		"a form":                {form("/_/sign-in", "email=ann%40example.com&password=typed-wrongly"), "login failed"},
		"a setup code":          {requestText("GET", "/_/setup?code=typed-wrongly", ""), "setup code refused"},
		"a form of a setup":     {form("/_/setup", "code=typed-wrongly&password="+url.QueryEscape(goodPassword)), "setup code refused"},
		"the present password":  {form("/_/account/password", "current-password=typed-wrongly&new-password=another+horse+battery", cookie), "login failed"},
		"no token":              {requestText("GET", "/api/v1/me", ""), ""},
		"an ended session":      {requestText("GET", "/api/v1/me", "", "Cookie: shunt_session="+strings.Repeat("A", 43)), ""},
		"a page without a user": {requestText("GET", "/_/links", ""), ""},
		"a missing scope":       {requestText("GET", "/api/v1/users", "", "Authorization: Bearer "+st.member("bob@example.com", account.LinksRead)), ""},
	}
}

func TestEachFailedLoginAndRefusedTokenHasALine(t *testing.T) {
	for _, clients := range []bool{true, false} {
		st := newSite(t, func(o *Options) { o.LogClients = clients })
		st.person("ann@example.com", account.RoleMember)
		for name, way := range failingWays(st, st.logIn("ann@example.com")) {
			before := len(failuresIn(st.log.String()))
			raw := strings.Replace(way.raw, "\r\n", "\r\nX-Request-Id: the-id\r\n", 1)
			r := send(t, st.from("127.0.0.1"), raw[:strings.IndexByte(raw, ' ')], raw)
			want := []string{}
			if way.message != "" && clients {
				want = []string{`level=WARN msg="` + way.message + `" client=127.0.0.1 request_id=the-id`}
			} else if way.message != "" {
				want = []string{`level=WARN msg="` + way.message + `" request_id=the-id`}
			}
			got := failuresIn(st.log.String())[before:]
			expect.Equal(t, strings.Join(got, "\n"), strings.Join(want, "\n"), "%s, answered %d: got %q, want %q", name, r.status, got, want)
		}
		expect.That(t, !strings.Contains(st.log.String(), "typed-wrongly") && !strings.Contains(st.log.String(), "ann@"),
			"what was typed is in the log:\n%s", st.log)
	}
}

func TestOnlyAClientThatAProxyNamesIsInTheLog(t *testing.T) {
	st := newSite(t, func(o *Options) {
		o.LogClients, o.TrustedProxies = true, []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	})
	for _, c := range []struct{ from, forwarded, want string }{
		{"10.0.0.1", "X-Forwarded-For: 192.0.2.7", " client=192.0.2.7 request_id=the-id"},
		{"10.0.0.1", "Accept: */*", `msg="token refused" request_id=the-id`},
		{"10.0.0.1", "X-Forwarded-For: 10.0.0.9", `msg="token refused" request_id=the-id`},
	} {
		before := len(failuresIn(st.log.String()))
		send(t, st.from(c.from), "GET", requestText("GET", "/api/v1/me", "", "Authorization: Bearer x", "X-Forwarded-Proto: https", "X-Request-Id: the-id", c.forwarded))
		expect.Contains(t, strings.Join(failuresIn(st.log.String())[before:], "\n"), c.want, "from %s, %s", c.from, c.forwarded)
	}
}

// filterOf returns the patterns of cmd/deploy/fail2ban, as fail2ban puts them together.
func filterOf(t *testing.T) (patterns []*regexp.Regexp) {
	text, err := os.ReadFile("../cmd/deploy/fail2ban/filter.d/shunt.conf")
	expect.OK(t, err)
	words := []string{"<ADDR>", `(?P<address>[0-9a-f.:]+)`}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " = ")
		switch {
		case strings.HasPrefix(name, "_"):
			words = append(words, "%("+name+")s", value)
		case name == "failregex", strings.HasPrefix(name, "^"):
			patterns = append(patterns, regexp.MustCompile(strings.NewReplacer(words...).Replace(strings.TrimPrefix(strings.TrimSpace(line), "failregex = "))))
		}
	}
	expect.MustEqual(t, len(patterns), 2, "the filter patterns")
	return patterns
}

func TestTheFilterReadsTheLinesOfFailuresOnly(t *testing.T) {
	patterns := filterOf(t)
	for line, want := range map[string]string{
		`time=2026-01-02T03:04:05.678Z level=WARN msg="login failed" client=192.0.2.7 request_id=a-b_c`:                                         "192.0.2.7",
		`time= level=WARN msg="token refused" client=2001:db8::7 request_id=x`:                                                                  "2001:db8::7",
		`host shunt[12]: time=2026-01-02T03:04:05.678+01:00 level=WARN msg="setup code refused" client=192.0.2.7 request_id=x`:                  "192.0.2.7",
		`{"time":"2026-01-02T03:04:05.678Z","level":"WARN","msg":"login failed","client":"192.0.2.7","request_id":"x"}`:                         "192.0.2.7",
		`time=2026-01-02T03:04:05.678Z level=WARN msg="login failed" request_id=a-b_c`:                                                          "",
		`time=2026-01-02T03:04:05.678Z level=WARN msg="failures not logged" failures=7`:                                                         "",
		`time=2026-01-02T03:04:05.678Z level=WARN msg=x cause="level=WARN msg=\"login failed\" client=192.0.2.7 request_id=x"`:                  "",
		`time=2026-01-02T03:04:05.678Z level=WARN msg=x cause="\n time= level=WARN msg=\"login failed\" client=192.0.2.7 request_id=x"`:         "",
		`{"time":"2026-01-02T03:04:05.678Z","level":"WARN","msg":"x","a":"\"msg\":\"login failed\",\"client\":\"192.0.2.7\"","request_id":"x"}`: "",
	} {
		got := ""
		for _, p := range patterns {
			if m := p.FindStringSubmatch(line); m != nil {
				got = m[p.SubexpIndex("address")]
			}
		}
		expect.Equal(t, got, want, line)
	}
}
