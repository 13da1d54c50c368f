package api

import (
	"strings"
	"sync"
	"testing"

	"shunt/api/account"
	"shunt/engine/expect"
)

func TestANewTokenIsShownOnceAndWorks(t *testing.T) {
	st := newSite(t, nil)
	b := st.browseAs("ann@example.com", account.RoleMember)
	p := b.open("/_/tokens")
	p.want("You have no token.", "Read links", "Change links", "Read figures", "Manage tokens")
	expect.That(t, !strings.Contains(p.text(), "Administer"), "a member is offered the scope admin")
	p = b.fill(p, "/_/tokens", "name", "newsletter", "expires", "30")
	token := st.secret(p.at("token"))
	p.want("newsletter", "Read links, Change links, Read figures", "2026-02-01 03:04 UTC", "It is shown only now.")
	if line := p.at("curl"); !strings.Contains(line, "-H 'Authorization: Bearer "+token+"'") || !strings.Contains(line, "http://127.0.0.1:8080/api/v1/shorten") {
		t.Errorf("the line for curl: got %s", line)
	}
	st.callAs(token, "POST", "/shorten", `{"url":"https://example.com"}`).expect(t, "a link with the token", 201)
	again := b.open("/_/tokens")
	expect.That(t, !strings.Contains(again.body, token) && strings.Contains(again.text(), "newsletter"), "a reload shows the token again, or not its name")
}

func TestATokenFormSentTwiceMakesOneToken(t *testing.T) {
	st := newSite(t, nil)
	b := st.browseAs("ann@example.com", account.RoleMember)
	body := b.open("/_/tokens").form("/_/tokens").with("name", "twice").values.Encode()
	var sending sync.WaitGroup
	for range 8 {
		sending.Go(func() {
			b.post("/_/tokens", formType, body).expect(t, "", 303)
		})
	}
	sending.Wait()
	p := b.open("/_/tokens")
	st.secret(p.at("token"))
	n := strings.Count(p.body, `data-label="Allows"`)
	expect.That(t, n == 1 && p.at("token") != "", "got %d tokens, want 1", n)
}

func TestAFormWithAnotherNameMakesAnotherToken(t *testing.T) {
	st := newSite(t, nil)
	b := st.browseAs("ann@example.com", account.RoleMember)
	p := b.open("/_/tokens")
	for _, name := range []string{"one", "two", "two"} { // the visitor goes back to the same form
		if token := b.fill(p, "/_/tokens", "name", name).at("token"); token != "" {
			st.secret(token)
		}
	}
	p = b.open("/_/tokens")
	expect.Equal(t, strings.Count(p.body, `data-label="Allows"`), 2, "got %s", p.text())
}

func TestABadTokenFormKeepsWhatWasTyped(t *testing.T) {
	st := newSite(t, nil)
	b := st.browseAs("ann@example.com", account.RoleMember)
	p := b.open("/_/tokens")
	p = b.fill(p, "/_/tokens", "name", " ", "scope-", "", "expires", "date", "date", "2020-01-01")
	expect.That(t, p.status == 422 && p.at("name-error") == "Must not be empty." && p.at("scopes-error") == "Must allow something." &&
		p.at("expires-error") == "Must be in the future.", "got %d: %q, %q, %q", p.status, p.at("name-error"), p.at("scopes-error"), p.at("expires-error"))
	if f := p.form("/_/tokens"); f.values.Get("name") != " " || f.values.Get("expires") != "date" || f.values.Get("date") != "2020-01-01" || f.values.Has("scope") {
		t.Errorf("what was typed is lost: %v", f)
	}
	for expires, want := range map[string]string{"never": "", "": "Choose one of these.", "soon": "Choose one of these."} {
		if p := b.fill(p, "/_/tokens", "name", "", "scope", "stats:read", "expires", expires); p.status != 422 || p.at("expires-error") != want {
			t.Errorf("expires %q: got %d %q, want %q", expires, p.status, p.at("expires-error"), want)
		}
	}
	p = b.fill(p, "/_/tokens", "name", "x", "scope", "stats:read", "expires", "date", "date", "10000-01-01")
	expect.That(t, p.status == 422 && p.at("expires-error") == "Choose a day, such as 2026-11-21.",
		"the year 10000: got %d %q", p.status, p.at("expires-error"))
	for scope, want := range map[string]string{"admin": "must not allow more than you may do", "x": "must be one of"} {
		if p := b.fill(p, "/_/tokens", "name", "x", "scope", scope, "expires", "never"); p.status != 422 || !strings.Contains(p.text(), want) {
			t.Errorf("scope %s: got %d %s", scope, p.status, p.text())
		}
	}
	p = b.fill(p, "/_/tokens", "name", "good", "scope", "stats:read", "date", "2026-03-01")
	st.secret(p.at("token"))
	p.want("good", "2026-03-01 23:59 UTC")
}

func TestARevokedTokenEndsAtOnce(t *testing.T) {
	st := newSite(t, nil)
	b := st.browseAs("ann@example.com", account.RoleMember)
	other := st.browseAs("ben@example.com", account.RoleAdmin)
	p := b.fill(b.open("/_/tokens"), "/_/tokens", "name", `<b>"x"</b>`)
	token := st.secret(p.at("token"))
	path := p.link("Revoke")
	st.callAs(token, "GET", "/links", "").need(t, "", 200)
	for _, missing := range []string{path, "/_/tokens/none/revoke"} {
		who := other
		if missing != path {
			who = b
		}
		who.get(missing).expect(t, missing, 404)
		who.post(missing, formType, "").expect(t, "POST "+missing, 404)
	}
	p = b.open(path)
	p.want(`Revoke “<b>"x"</b>”?`)
	b.submit(p.form(path)) // and once more, as by a double click
	p = b.fill(p, path)
	p.want(`The token “<b>"x"</b>” is revoked.`, "You have no token.")
	st.callAs(token, "GET", "/links", "").expect(t, "the revoked token", 401)
}

func TestAnExpiredTokenIsShownAsExpired(t *testing.T) {
	st := newSite(t, nil)
	b := st.browseAs("ann@example.com", account.RoleMember)
	p := b.fill(b.open("/_/tokens"), "/_/tokens", "name", "x", "expires", "date", "date", "2026-01-02")
	st.secret(p.at("token"))
	st.now.Add(24 * 3600 * 1000)
	b.open("/_/tokens").want("expired 2026-01-02 23:59 UTC")
}

// With script, the form has the end of the day where the visitor is, too.
func TestATokensLastDayEndsWhereTheVisitorIs(t *testing.T) {
	st := newSite(t, nil)
	b := st.browseAs("ann@example.com", account.RoleMember)
	f := b.open("/_/tokens").form("/_/tokens")
	for name, value := range map[string]string{
		"name": "x", "scope": "stats:read", "expires": "date", "date": "2026-03-01", "date_end": "2026-03-02T04:59:59Z",
	} {
		f.values.Set(name, value)
	}
	b.submit(f)
	p := b.open("/_/tokens")
	st.secret(p.at("token"))
	p.want("2026-03-02 04:59 UTC")
}
