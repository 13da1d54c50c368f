package api

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"shunt/api/account"
	"shunt/engine/expect"
)

const annsLogin = `{"email":"ann@example.com","password":"` + goodPassword + `"}`

func TestASessionCookieIsAsSafeAsItsConnection(t *testing.T) {
	for name, c := range map[string]struct {
		peer, line string
		change     func(*Options)
		want       string // before and after the cookie's value; empty: refused
	}{
		"loopback": {"127.0.0.1", "X-A: b", nil, "shunt_session=…; Path=/; Max-Age=2592000; HttpOnly; SameSite=Strict"},
		"trusted proxy by HTTPS": {
			"10.0.0.1", "X-Forwarded-Proto: https", func(o *Options) { o.TrustedProxies = someProxies.Trusted[:1] },
			"__Host-shunt_session=…; Path=/; Max-Age=2592000; HttpOnly; SameSite=Strict; Secure",
		},
		"trusted proxy by HTTP":           {"10.0.0.1", "X-Forwarded-Proto: http", func(o *Options) { o.TrustedProxies = someProxies.Trusted[:1] }, ""},
		"another machine":                 {"192.0.2.1", "X-A: b", nil, ""},
		"another machine that says HTTPS": {"192.0.2.1", "X-Forwarded-Proto: https", nil, ""},
		"--allow-http": {
			"192.0.2.1", "X-A: b", func(o *Options) { o.AllowHTTP = true },
			"shunt_session=…; Path=/; Max-Age=2592000; HttpOnly; SameSite=Strict",
		},
		"--allow-http, proxy with HTTPS": {
			"192.0.2.1", "X-A: b", func(o *Options) { o.AllowHTTP, o.BaseURL = true, "https://sho.rt" },
			"__Host-shunt_session=…; Path=/; Max-Age=2592000; HttpOnly; SameSite=Strict; Secure",
		},
	} {
		t.Run(name, func(t *testing.T) {
			st := newSite(t, c.change)
			st.person("ann@example.com", account.RoleMember)
			ln := st.from(c.peer)
			ask := func(method, path, body string, lines ...string) reply {
				lines = append(lines, "Content-Type: application/json", c.line)
				return send(t, ln, method, requestText(method, "/api/v1"+path, body, lines...))
			}
			r := ask("POST", "/session", annsLogin)
			cookie := r.header.Get("Set-Cookie")
			if c.want == "" {
				r2 := ask("DELETE", "/session", "")
				expect.That(t, r.problem() == "https_required" && r2.problem() == "https_required" && cookie == "",
					"got %+v and %+v, want https_required", r, r2)
				return
			}
			before, behind, _ := strings.Cut(c.want, "…")
			value := strings.TrimSuffix(strings.TrimPrefix(cookie, before), behind)
			expect.MustThat(t, r.status == 200 && before+value+behind == cookie && len(value) == 43,
				"got %d %q, want 200 %q", r.status, cookie, c.want)
			for prefix, want := range map[string]int{"__Host-shunt_session": 401, "shunt_session": 401, strings.TrimSuffix(before, "="): 200} {
				if r := ask("GET", "/me", "", "Cookie: a=b; "+prefix+"="+value); r.status != want && prefix+"=" == before || r.status == 200 && prefix+"=" != before {
					t.Errorf("the cookie as %s: got %d %s", prefix, r.status, r.body)
				}
			}
			r = ask("DELETE", "/session", "", "Cookie: "+before+value, ownPage)
			got, want := r.header.Get("Set-Cookie"), before+strings.Replace(behind, "2592000", "0", 1)
			expect.That(t, r.status == 204 && got == want, "logging out: got %d %q, want 204 %q", r.status, got, want)
			ask("GET", "/me", "", "Cookie: "+before+value).expect(t, "after logging out", problemOf("unauthorized"))
		})
	}
}

func TestOnlyOurOwnPagesChangeThingsWithASession(t *testing.T) {
	st := newSite(t, nil)
	st.person("ann@example.com", account.RoleMember)
	cookie := st.logIn("ann@example.com")
	for name, c := range map[string]struct {
		lines         []string
		change, login int // status of a change with the cookie, and of logging in without it
	}{
		"our page":                             {[]string{ownPage}, 201, 200},
		"our page, whatever Origin says":       {[]string{ownPage, "Origin: http://localhost:8080"}, 201, 200},
		"an older browser":                     {[]string{"Origin: http://127.0.0.1:8080"}, 201, 200},
		"another site":                         {[]string{"Sec-Fetch-Site: cross-site"}, 403, 403},
		"a neighbour":                          {[]string{"Sec-Fetch-Site: same-site"}, 403, 403},
		"the address bar":                      {[]string{"Sec-Fetch-Site: none"}, 403, 403},
		"another site with our Origin":         {[]string{"Sec-Fetch-Site: cross-site", "Origin: http://127.0.0.1:8080"}, 403, 403},
		"another Origin":                       {[]string{"Origin: http://127.0.0.1:8081"}, 403, 403},
		"another scheme":                       {[]string{"Origin: https://127.0.0.1:8080"}, 403, 403},
		"an Origin that begins like ours":      {[]string{"Origin: http://127.0.0.1:8080.evil.example"}, 403, 403},
		"no Origin to speak of":                {[]string{"Origin: null"}, 403, 403},
		"no browser, or one that says nothing": {nil, 403, 200},
	} {
		with := append([]string{cookie}, c.lines...)
		r := st.as(with, "POST", "/shorten", `{"url":"http://a/"}`)
		expect.That(t, r.status == c.change && (c.change != 403 || r.problem() == "forbidden"), "%s: a change: got %d %s, want %d", name, r.status, r.body, c.change)
		if c.change == 403 {
			st.as(with, "DELETE", "/session", "").expect(t, name+": logging out", 403)
		}
		st.as(with, "GET", "/me", "").expect(t, name+": reading", 200)
		st.as(c.lines, "POST", "/session", annsLogin).expect(t, name+": logging in", c.login)
	}
}

// The browser forgets the cookie that a new one replaces, so nobody could end its session.
func TestANewLoginEndsTheSessionWhoseCookieItCameWith(t *testing.T) {
	st := newSite(t, nil)
	st.person("ann@example.com", account.RoleMember)
	st.person("ben@example.com", account.RoleMember)
	_, code := st.setupLink(`{"user":3}`)
	alive := func(cookie string) bool { return st.as([]string{cookie}, "GET", "/me", "").status == 200 }
	other := st.logIn("ann@example.com")
	for _, way := range []struct {
		name string
		in   func(b *plainBrowser)
	}{
		{"POST /session", func(b *plainBrowser) { b.keepCookie(st.post("/session", annsLogin, b.cookie, ownPage)) }},
		{"the form", func(b *plainBrowser) {
			b.submit((&htmlForm{action: "/_/sign-in"}).with("next", "/_/links", "email", "ann@example.com", "password", goodPassword))
		}},
		{"a setup link", func(b *plainBrowser) {
			b.submit((&htmlForm{action: "/_/setup"}).with("code", code, "password", st.secret("another password")))
		}},
	} {
		b := st.browse("ann@example.com")
		old := b.cookie
		if r := st.post("/session", `{"email":"ann@example.com","password":"wrong wrong"}`, old, ownPage); r.status != 401 || !alive(old) {
			t.Errorf("%s: a wrong password: got %d, and the session is alive: %v", way.name, r.status, alive(old))
		}
		way.in(b)
		expect.That(t, b.cookie != old && alive(b.cookie), "%s: there is no new session", way.name)
		expect.That(t, !alive(old), "%s: the session whose cookie it came with is alive", way.name)
	}
	expect.That(t, alive(other), "a session of another browser has ended")
}

func TestATokenTakesPrecedenceOverACookie(t *testing.T) {
	st := newSite(t, nil)
	st.person("ann@example.com", account.RoleMember)
	cookie := st.logIn("ann@example.com")
	st.as([]string{cookie, "Authorization: Bearer " + st.token}, "GET", "/me", "").expect(t, "both", `"email":"admin"`)
	st.as([]string{cookie, "Authorization: Bearer " + st.token}, "POST", "/shorten", `{"url":"http://a/"}`).expect(t, "both, a change by no page", 201)
	st.as([]string{cookie, ownPage, "Authorization: Bearer shunt_x"}, "GET", "/me", "").expect(t, "a wrong token and a good cookie", 401)
	st.as([]string{cookie, "Authorization: Basic YTpi"}, "GET", "/me", "").expect(t, "what a proxy asks for, and a good cookie", 200)
}

func TestAFailedLoginRevealsNothing(t *testing.T) {
	st := newSite(t, nil)
	st.person("ann@example.com", account.RoleMember)
	want := ""
	for _, body := range []string{
		`{"email":"ann@example.com","password":"wrong password"}`, `{"email":"ben@example.com","password":"` + goodPassword + `"}`,
		`{"email":"admin","password":"` + goodPassword + `"}`, `{"email":"no address","password":"x"}`,
		`{"email":"ann@example.com","password":"` + strings.Repeat("x", 2000) + `"}`,
	} {
		r := st.post("/session", body)
		if want == "" {
			want = r.whole()
		}
		expect.That(t, r.problem() == "unauthorized" && r.header.Get("Set-Cookie") == "" && r.whole() == want,
			"%.60s: got %+v, want %s", body, r, want)
	}
	for body, want := range map[string]string{
		`{}`: ":required", `{"email":"ann@example.com"}`: ":required", `{"email":1,"password":null}`: "email:type",
		`{"email":"a","password":"b","x":1}`: "x:unknown",
	} {
		st.post("/session", body).expect(t, body, 422, fieldsOf(want))
	}
	for _, method := range []string{"POST", "DELETE"} {
		st.as(nil, method, "/session?x=1", "").expect(t, method+" with a parameter", fieldsOf("x:unknown"))
	}
	expect.Equal(t, st.metric("shunt_auth_failures_total"), "5", "auth_failures_total")
}

// An open connection does not remember its caller.
func TestRevokingWorksOnOpenConnections(t *testing.T) {
	st := newSite(t, nil)
	ann := st.person("ann@example.com", account.RoleMember)
	issued, text, err := st.accounts.IssueToken(account.CallerOf(ann), account.TokenDraft{Name: "n"})
	expect.NoError(t, err)
	cookie := st.logIn("ann@example.com")
	for name, c := range map[string]struct {
		line string
		end  func()
	}{
		"token":   {"Authorization: Bearer " + st.secret(text), func() { expect.NoError(t, st.accounts.RevokeToken(account.Caller{}, ann.ID, issued.ID)) }},
		"session": {cookie, func() { st.as([]string{cookie, ownPage}, "DELETE", "/session", "") }},
	} {
		conn, err := st.publicAt.Dial()
		expect.OK(t, err)
		defer conn.Close()
		answers := bufio.NewReader(conn)
		for _, want := range []int{200, 401} {
			expect.OK(t, expect.Err(io.WriteString(conn, requestText("GET", "/api/v1/me", "", c.line))))
			readReply(t, answers, "GET").expect(t, name, want)
			if want == 200 {
				c.end()
			}
		}
	}
}

func TestALiveStreamEndsWithItsSession(t *testing.T) {
	t.Parallel()
	st := newSite(t, nil)
	st.person("ann@example.com", account.RoleMember)
	cookie := st.logIn("ann@example.com")
	st.as([]string{cookie, ownPage}, "POST", "/shorten", `{"url":"http://a/","alias":"x"}`).need(t, "", 201)
	conn, err := st.publicAt.Dial()
	expect.OK(t, err)
	defer conn.Close()
	expect.OK(t, expect.Err(io.WriteString(conn, requestText("GET", "/api/v1/stats/x/live", "", cookie))))
	lines := bufio.NewScanner(conn)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "data: ") {
	}
	st.as([]string{cookie, ownPage}, "DELETE", "/session", "").need(t, "", 204)
	rest := ""
	for lines.Scan() {
		rest += lines.Text() + "\n"
	}
	expect.Contains(t, rest, `{"reason":"unauthorized"}`)
}

func TestADemotionEndsStreamsAndExportsOfOthersLinks(t *testing.T) {
	t.Parallel()
	st := newSite(t, nil)
	n := st.exported(st.token)
	st.shorten(`{"url":"http://a/","alias":"x"}`)
	boss := st.person("boss@example.com", account.RoleAdmin)
	token := st.issue(account.CallerOf(boss), account.AllScopes...)
	conn, err := st.publicAt.Dial()
	expect.NoError(t, err)
	defer conn.Close()
	expect.OK(t, expect.Err(io.WriteString(conn, requestText("GET", "/api/v1/stats/x/live?owner=all", "", "Authorization: Bearer "+token))))
	lines := bufio.NewScanner(conn)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "data: ") {
	}
	_, body := st.export(token, "?owner=all")
	st.call("PATCH", fmt.Sprintf("/users/%d", boss.ID), `{"role":"member"}`).need(t, "", 200)
	rest := ""
	for lines.Scan() {
		rest += lines.Text() + "\n"
	}
	expect.Contains(t, rest, `{"reason":"unauthorized"}`, "the stream")
	links, problem, err := readLines(t, body)
	expect.That(t, len(links) != 0 && len(links) < n && problem == "unauthorized" && errors.Is(err, io.ErrUnexpectedEOF),
		"the export: got %d links, problem %q, %v", len(links), problem, err)
}

func TestASessionHasTheRightsOfItsUsersRole(t *testing.T) {
	st := newSite(t, nil)
	boss := st.person("boss@example.com", account.RoleAdmin)
	page := []string{st.logIn("boss@example.com"), ownPage}
	st.as(page, "GET", "/users", "").expect(t, "an admin", 200)
	st.call("PATCH", fmt.Sprintf("/users/%d", boss.ID), `{"role":"member"}`).need(t, "", 200)
	st.as(page, "GET", "/users", "").expect(t, "demoted", problemOf("forbidden"))
	st.as(page, "POST", "/tokens", `{"name":"n"}`).expect(t, "a token made by a page", 201, `"scopes":["links:read","links:write","stats:read","tokens:write"]`)
	st.now.Add((7 * 24 * time.Hour).Milliseconds())
	st.as(page, "GET", "/me", "").expect(t, "a week later", problemOf("unauthorized"))
}
