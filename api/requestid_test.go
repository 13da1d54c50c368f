package api

import (
	"fmt"
	"net"
	"regexp"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/auth"
	"shunt/api/exchange"
	"shunt/engine/expect"
)

var requestIDForm = regexp.MustCompile(`^[0-9A-Za-z]{16}$`)

func TestAnIDIsTakenIfItIsSafeElseMade(t *testing.T) {
	st := newSite(t, nil)
	longest := strings.Repeat("0aZ_-x", 11)[:64]
	for name, c := range map[string]struct {
		lines []string
		taken string // empty: another id is made
	}{
		"one":                   {[]string{"X-Request-Id: aB-0_9"}, "aB-0_9"},
		"another spelling":      {[]string{"x-request-ID:  a "}, "a"},
		"the longest":           {[]string{"X-Request-Id: " + longest}, longest},
		"none":                  {nil, ""},
		"an empty one":          {[]string{"X-Request-Id:"}, ""},
		"too long":              {[]string{"X-Request-Id: " + longest + "x"}, ""},
		"two lines":             {[]string{"X-Request-Id: a", "X-Request-Id: b"}, ""},
		"two equal lines":       {[]string{"X-Request-Id: a", "X-Request-Id: a"}, ""},
		"a list":                {[]string{"X-Request-Id: a, b"}, ""},
		"a quote":               {[]string{`X-Request-Id: a"`}, ""},
		"a letter beyond ASCII": {[]string{"X-Request-Id: é"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := st.get("/api/v1/me", c.lines...)
			got := r.header.Values(exchange.HeaderRequestID)
			expect.That(t, len(got) == 1 && (c.taken == "" || got[0] == c.taken) && (c.taken != "" || requestIDForm.MatchString(got[0])),
				"got %q, want %q", got, c.taken)
		})
	}
	a, b := st.get("/_/api").header.Get(exchange.HeaderRequestID), st.get("/_/api").header.Get(exchange.HeaderRequestID)
	expect.That(t, a != b, "two requests have the id %s", a)
}

func TestEveryAnswerOfTheAPIAndPagesHasItsID(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(`{"url":"http://a.example/","alias":"known"}`)
	const line = "X-Request-Id: from-a-proxy"
	for _, c := range []struct {
		method, path string
		lines        []string
		status       int
		unread       bool // the server has not read the id
	}{
		{"GET", "/api/v1/openapi.json", nil, 200, false},
		{"GET", "/api/v1/links", nil, 401, false},
		{"GET", "/api/v1/links", []string{"Authorization: Bearer x", "Authorization: Bearer x"}, 400, false},
		{"PUT", "/api/v1/links", nil, 405, false},
		{"GET", "/api/v1/nothing", nil, 404, false},
		{"POST", "/api/v1/session", nil, 415, false},
		{"GET", "/", nil, 200, false},
		{"GET", "/known+", nil, 200, false},
		{"GET", "/known.svg", nil, 200, false},
		{"GET", "/robots.txt", nil, 200, false},
		{"GET", "/not//a/code", nil, 404, false},
		{"GET", "/_/", nil, 303, false},
		{"GET", "/_/sign-in", nil, 200, false},
		{"GET", "/_/nothing", nil, 404, false},
		{"GET", "/known", []string{"Content-Length: 1", "Content-Length: 2"}, 400, true},
		{"GET", "/" + strings.Repeat("x", 20_000), nil, 414, true},
	} {
		r := send(t, st.publicAt, c.method, requestText(c.method, c.path, "", append(c.lines, line)...))
		if id := r.header.Get(exchange.HeaderRequestID); r.status != c.status || id != "from-a-proxy" && (!c.unread || !requestIDForm.MatchString(id)) {
			t.Errorf("%s %.30s: got %d with the id %q, want %d", c.method, c.path, r.status, id, c.status)
		}
	}
	for _, path := range []string{"/known", "/unknown", "/unknown/too", "/un.known"} {
		id := st.get(path, line).header.Values(exchange.HeaderRequestID)
		expect.That(t, id == nil, "%s, which is a code: got the id %q", path, id)
	}
	r := send(t, st.localAt, "GET", requestText("GET", "/api/v1/me", "", line))
	expect.Equal(t, r.header.Get(exchange.HeaderRequestID), "from-a-proxy", "the socket")
}

func TestAFailedRequestIsFoundInTheLogByItsID(t *testing.T) {
	st := newSite(t, nil)
	st.person("ann@example.com", account.RoleAdmin)
	cookie := st.logIn("ann@example.com")
	st.spoil("u\x00\x00\x00\x02")
	for i, path := range []string{"/api/v1/users", "/_/users"} {
		id := fmt.Sprintf("failed-%d", i)
		r := st.get(path, cookie, "X-Request-Id: "+id)
		expect.That(t, r.status == 500 && r.header.Get(exchange.HeaderRequestID) == id && strings.Count(st.log.String(), "request_id="+id+"\n") == 1,
			"%s: got %d with the id %q, and the log\n%s", path, r.status, r.header.Get(exchange.HeaderRequestID), st.log)
	}
	st.router.limiter = nil
	r := st.get("/api/v1/me", "X-Request-Id: in-a-panic")
	expect.That(t, r.status == 500 && r.header.Get(exchange.HeaderRequestID) == "in-a-panic" && strings.Contains(st.log.String(), "request_id=in-a-panic"),
		"a panic: got %d with the id %q", r.status, r.header.Get(exchange.HeaderRequestID))
}

func TestHandlersGetTheOriginOfTheirCaller(t *testing.T) {
	st := newSite(t, nil)
	st.person("ann@example.com", account.RoleMember)
	cookie := st.logIn("ann@example.com")
	var got account.Origin
	note := endpoint{"GET", "/origin", anyScope, func(_ *fasthttp.RequestCtx, caller account.Caller) error {
		got = caller.Origin
		return nil
	}, 0}
	ask := func(by auth.Authenticate, line string) {
		ctx := new(fasthttp.RequestCtx)
		var request fasthttp.Request
		name, value, _ := strings.Cut(line, ": ")
		request.Header.Set(name, value)
		ctx.Init(&request, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}, nil)
		exchange.NameRequest(ctx)
		got = account.Origin{}
		err := st.router.call(ctx, by, note.demand(), note.handle)
		expect.That(t, err == nil && got.RequestID == exchange.RequestID(ctx) && !got.Local, "%.12s: got %+v, %v", line, got, err)
	}
	ask(st.auth.OverNetwork, "Authorization: Bearer "+st.token)
	ask(st.auth.OverNetwork, cookie)
	ask(st.auth.OverSocket, "Accept: */*")
}
