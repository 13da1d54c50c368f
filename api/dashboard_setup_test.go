package api

import (
	"strings"
	"testing"

	"shunt/api/account"
	"shunt/engine/expect"
)

func TestTheFirstSetupLeadsToATokenThatWorks(t *testing.T) {
	st := newSite(t, nil)
	expect.NoError(t, st.accounts.RevokeToken(account.Caller{}, 1, st.tokenID()))
	_, code := st.setupLink(`{}`)
	b := st.visitor()
	path := "/_/setup?code=" + code
	for range 3 { // programs that preview links look, too
		b.open(path).want("Choose a password", "E-mail")
	}
	if p := b.fill(b.open(path), "/_/setup", "email", "ann", "password", "short"); p.status != 422 || p.at("email-error") == "" || p.at("password-error") == "" ||
		p.form("/_/setup").values.Get("email") != "ann" || strings.Contains(p.body, `value="short"`) {
		t.Errorf("two mistakes: got %d %s", p.status, p.text())
	}
	form := b.open(path).form("/_/setup").with("email", "ann@example.com", "password", st.secret("another password"))
	answer := b.submit(form)
	to := answer.header.Get("Location")
	expect.MustThat(t, answer.status == 303 && to == "/_/welcome", "got %d to %s", answer.status, to)
	b.submit(form).expect(t, "sent twice", 303, header("Location", "/_/welcome"))
	p := b.open("/_/welcome")
	token := st.secret(p.at("token"))
	r := st.callAs(token, "POST", "/shorten", `{"url":"https://example.com"}`)
	expect.That(t, r.status == 201 && strings.Contains(p.at("curl"), token), "the token: got %d, with the line %s", r.status, p.at("curl"))
	again := b.open("/_/welcome")
	expect.That(t, !strings.Contains(again.body, token), "the token is shown twice")
	for url, want := range map[string]string{"": "", "first.example/page": "https://first.example/page"} { // the form of the first link
		made := b.submit(again.form("/_/links").with("url", url))
		if want == "" {
			expect.That(t, made.status == 422, "a link to nowhere: got %d", made.status)
			continue
		}
		expect.MustEqual(t, made.status, 303, "the first link: %s", made.body)
		b.open(made.header.Get("Location")).want("The link is ready.", want)
		expect.Contains(t, st.callAs(token, "GET", "/links", "").body, `"url":"`+want+`"`)
	}
	for _, p := range []*shown{st.visitor().get(path), st.visitor().submit(form)} {
		if p.want("This link does not work"); p.status != 404 || strings.Contains(p.body, code) {
			t.Errorf("the used code: got %d %s", p.status, p.body)
		}
	}
	st.wantNothingSecretIn("the metrics", st.metricsText())
	st.wantNothingSecretIn("the list of misses", st.browseAs("owner@example.com", account.RoleAdmin).open("/_/misses").body)
}

// tokenID returns the ID of the admin's token.
func (st *site) tokenID() string {
	st.t.Helper()
	tokens, err := st.accounts.ListTokens(1)
	expect.MustThat(st.t, err == nil && len(tokens) == 1, "%v %v", tokens, err)
	return tokens[0].ID
}

func TestALostPasswordIsReplacedAndAllElseEnds(t *testing.T) {
	st := newSite(t, nil)
	old := st.browseAs("ann@example.com", account.RoleMember)
	token := old.fill(old.open("/_/tokens"), "/_/tokens", "name", "n").at("token")
	st.secret(token)
	_, code := st.setupLink(`{"user":2}`)
	_, other := st.setupLink(`{"user":2}`)
	b := st.visitor()
	p := b.fill(b.open("/_/setup?code="+code), "/_/setup", "password", "another password")
	if p.want("Your password is set. All other sessions have ended."); p.path != "/_/" {
		t.Errorf("got %s", p.path)
	}
	old.get("/_/").expect(t, "the old session", 303)
	st.visitor().get("/_/setup?code="+other).expect(t, "the other link", 404)
	st.callAs(token, "GET", "/me", "").expect(t, "the token", 200)
}

func TestTriesOfSetupCodesAreLimitedButNotTypingErrors(t *testing.T) {
	st := limitedSite(t, nil)
	_, code := st.setupLink(`{}`)
	b := st.visitor()
	b.at = st.from("192.0.2.1")
	form := b.open("/_/setup?code=" + code).form("/_/setup")
	for range 20 {
		st.now.Add(1000) // for the limit of all calls
		p := b.submit(form.with("email", "ann", "password", "x"))
		expect.MustEqual(t, p.status, 422, "a typing error %s", p.text())
	}
	for i, want := range []int{404, 404, 429} {
		st.now.Add(1000)
		p := b.get("/_/setup?code=" + code[1:] + "A")
		expect.That(t, p.status == want && (want != 429 || p.header.Get("Retry-After") != ""), "wrong code %d: got %d, want %d", i, p.status, want)
	}
	st.now.Add(1000)
	b.submit(form.with("email", "ann@example.com", "password", goodPassword)).expect(t, "the right one after that", 429)
	b.at = st.from("192.0.2.2")
	for _, wrong := range []string{"", "?code=", "?code=" + code[:21], "?code=%00%ff"} {
		st.now.Add(60_000)
		b.get("/_/setup"+wrong).expect(t, wrong, 404)
	}
	st.now.Add(3_600_000)
	b.submit(form.with("email", "ann@example.com", "password", goodPassword)).expect(t, "an expired code", 404)
}
