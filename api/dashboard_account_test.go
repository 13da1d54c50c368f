package api

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"shunt/api/account"
	"shunt/engine/expect"
)

func TestSessionsAreListedAndEnded(t *testing.T) {
	st := newSite(t, nil)
	here := st.browseAs("ann@example.com", account.RoleMember)
	st.now.Add(1000)
	there, third := st.browse("ann@example.com"), st.browse("ann@example.com")
	ben := st.browseAs("ben@example.com", account.RoleMember)
	p := here.open("/_/account")
	n := strings.Count(p.body, `data-label="Last use"`)
	expect.That(t, n == 3 && strings.Count(p.body, "this one") == 1, "got %d sessions: %s", n, p.text())
	sessions, err := st.accounts.ListSessions(2)
	expect.NoError(t, err)
	c, err := st.accounts.AuthenticateSession(cookieValue(there))
	expect.NoError(t, err)
	for _, of := range []*plainBrowser{ben, there} { // a session of somebody else is not ended
		of.post("/_/account/sessions", formType, "session="+c.SessionID)
		p := there.get("/_/account")
		expect.Equal(t, p.status == 200, of == ben, "got %d", p.status)
	}
	c, err = st.accounts.AuthenticateSession(cookieValue(third))
	expect.NoError(t, err)
	here.post("/_/account/sessions", formType, "session="+c.SessionID)
	here.open("/_/account").want("The session has ended.")
	p = third.get("/_/account")
	expect.That(t, p.status == 303 && len(sessions) == 3, "the third session: got %d", p.status)
	for _, none := range []string{"", "none", strings.Repeat("x", 1000)} {
		here.post("/_/account/sessions", formType, "session="+none).expect(t, fmt.Sprintf("%.10q", none), 303)
	}
	here.open("/_/account")
}

func cookieValue(b *plainBrowser) string { return b.cookie[strings.IndexByte(b.cookie, '=')+1:] }

func TestSigningOutEverywhereEndsSessionsAndStreamsAtOnce(t *testing.T) {
	t.Parallel()
	st := newSite(t, nil)
	here := st.browseAs("ann@example.com", account.RoleMember)
	there := st.browse("ann@example.com")
	c, r := liveAt(t, st.realAddress(), "/_/live", there.cookie, "Accept-Encoding: gzip")
	expect.MustThat(t, c != nil, "got %+v", r)
	expect.That(t, c.header.Get("Content-Encoding") == "" && c.header.Get("Cache-Control") == "no-store", "got %v", c.header)
	c.want(figuresEvent(0, 0))
	here.post("/_/account/sessions", formType, "session=all")
	c.want(`event: end|data: {"reason":"unauthorized"}`)
	st.awaitStreams(0)
	p := there.get("/_/account")
	expect.That(t, p.status == 303 && here.cookie == "", "got %d, with %q", p.status, here.cookie)
}

func TestAPasswordIsChangedByWhoKnowsIt(t *testing.T) {
	st := limitedSite(t, nil)
	here := st.browseAs("ann@example.com", account.RoleMember)
	there := st.browse("ann@example.com")
	token := here.fill(here.open("/_/tokens"), "/_/tokens", "name", "n").at("token")
	st.secret(token)
	here.at = st.from("192.0.2.1")
	change := func(current, new string) *shown {
		t.Helper()
		st.now.Add(2000)
		form := here.open("/_/account").form("/_/account/password")
		return here.submit(form.with("current-password", current, "new-password", new))
	}
	for range 5 { // not counted: they say nothing about the password
		p := change("wrong", "short")
		expect.MustThat(t, p.status == 422 && p.at("new-error") != "" && p.at("current-error") == "", "a short one: got %d %s", p.status, p.text())
	}
	for i, want := range []int{422, 422, 429} {
		p := change("wrong", "another password")
		expect.That(t, p.status == want && (want != 422 || p.at("current-error") == "Is not your password.") &&
			!strings.Contains(p.body, "another password"), "%d: got %d %s", i, p.status, p.text())
	}
	st.now.Add(60_000)
	change(goodPassword, "another password").expect(t, "", 303)
	here.open("/_/account").want("Your password is changed.")
	there.get("/_/").expect(t, "the other session", 303)
	st.callAs(token, "GET", "/me", "").expect(t, "the token", 200)
}

func TestAFormThatIsTooLongToKeepSaysSo(t *testing.T) {
	_, b := withAnn(t, nil)
	b.cookie = ""
	for n, lost := range map[int]bool{8: false, 47 << 10: false, 50 << 10: true} {
		form := (&htmlForm{action: "/_/links/new"}).with("title", strings.Repeat("ä", n/6), "new-password", goodPassword)
		p := b.submit(form)
		got := strings.Contains(p.text(), "too long to keep")
		expect.That(t, p.status == 401 && got == lost && !strings.Contains(p.body, goodPassword), "%d bytes: got %d, lost %v", n, p.status, got)
		again := b.fill(p, "/_/sign-in", "email", "ann@example.com", "password", "wrong") // a wrong password loses nothing
		answer := b.submit(again.form("/_/sign-in").with("password", goodPassword))
		expect.MustThat(t, answer.status == 303 && answer.header.Get("Location") == "/_/links/new",
			"%d bytes: got %d to %s", n, answer.status, answer.header.Get("Location"))
		b.ask("HEAD", "/_/links/new", "", "")
		b.get("/_/tokens")
		if got := b.open("/_/links/new").form("/_/links/new").values.Get("title"); (got == form.values.Get("title")) == lost {
			t.Errorf("%d bytes: %d are filled in", n, len(got))
		}
		expect.Equal(t, b.open("/_/links/new").form("/_/links/new").values.Get("title"), "", "%d bytes: it is filled in twice", n)
		b.cookie = ""
	}
}

func TestAKeptFormKeepsTheOwnerInItsPath(t *testing.T) {
	st := newSite(t, nil)
	admin := st.browseAs("owner@example.com", account.RoleAdmin)
	st.shorten(`{"url":"https://a.example/","alias":"x"}`)
	admin.cookie = ""
	p := admin.post("/_/link/x/edit?owner=all", formType, url.Values{"title": {"other"}}.Encode())
	answer := admin.submit(p.form("/_/sign-in").with("email", "owner@example.com", "password", goodPassword))
	expect.MustEqual(t, answer.header.Get("Location"), "/_/link/x/edit?owner=all")
	admin.open("/_/link/x/edit?owner=all").want("Nothing has been sent yet")
}

func TestHostilePathsAreMissingPages(t *testing.T) {
	st := newSite(t, nil)
	b := st.browseAs("owner@example.com", account.RoleAdmin)
	for _, path := range []string{
		"/_/links/", "/_/%2e%2e/", "/_/%2e%2e/links", "/_/../links", "/_/./links", "/_//links", "/_/link/", "/_/link/%00", "/_/link/%ff%fe", "/_/link/\xff\xfe", "/_/link/x%2fedit",
		"/_/link/" + strings.Repeat("x", 4000), "/_/link/%", "/_/link/%zz", "/_/link/x/", "/_/link//edit", "/_/*", "/_/{code}", "/_/link/{code}", "/_/link/javascript:alert(1)",
		"/_/users/-1", "/_/users/99999999999999999999", "/_/users/%31%00", "/_/tokens/%0d%0aX:y/revoke", "/_/assets/", "/_/assets/0/style.css", "/_/logo", "/_/\x80",
	} {
		p := b.get(path)
		expect.That(t, (p.status == 404 || p.status == 400) && p.header.Get("X") == "" &&
			(p.status != 404 || slices.Contains([]string{"text/html; charset=utf-8"}, p.header.Get("Content-Type"))), "%.60q: got %d %.200s", path, p.status, p.text())
	}
	expect.That(t, !strings.Contains(st.log.String(), "level=ERROR"), "got the log\n%s", st.log)
}
