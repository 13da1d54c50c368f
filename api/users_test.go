package api

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"shunt/api/account"
	"shunt/api/problem"
	"shunt/api/turnstile"
	"shunt/engine/expect"
)

func TestAnAdminMakesEditsAndDeletesUsers(t *testing.T) {
	st := newSite(t, nil)
	want := `{"id":2,"email":"ann@example.com","role":"member","has_password":true,"created_at":"2026-01-02T03:04:05Z"}` + "\n"
	r := st.call("POST", "/users", `{"email":"Ann@Example.com","password":"`+st.secret(goodPassword)+`"}`)
	r.need(t, "", 201, bodyOf(want), header("Location", "/api/v1/users/2"))
	cookie := st.logIn("ann@example.com")
	r = st.call("GET", "/users", "")
	expect.That(t, r.status == 200 && strings.HasSuffix(r.body, ","+strings.TrimSpace(want)+"]}\n"), "the list: got %s", r.body)
	r = st.call("PATCH", "/users/2", `{"email":"anna@example.com","role":null}`)
	if want := strings.Replace(want, "ann@", "anna@", 1); r.status != 200 || r.body != want {
		t.Errorf("edit: got %+v, want %s", r, want)
	}
	st.as([]string{cookie}, "GET", "/me", "").expect(t, "the session after an edit", 200, "anna@")
	st.call("PATCH", "/users/2", `{"password":"`+st.secret("another password")+`"}`).expect(t, "a new password", 200)
	st.as([]string{cookie}, "GET", "/me", "").expect(t, "the session after a new password", 401)
	st.call("DELETE", "/users/2", "").expect(t, "delete", 204)
	for _, path := range []string{"/users/2", "/users/3", "/users/0", "/users/02", "/users/x", "/users/4294967297"} {
		del, patch := st.call("DELETE", path, ""), st.call("PATCH", path, `{}`)
		expect.That(t, del.status == 404 && patch.status == 404, "%s: got %+v and %+v, want 404", path, del, patch)
	}
}

func TestABadUserRequestChangesNothing(t *testing.T) {
	st := newSite(t, nil)
	st.person("ann@example.com", account.RoleMember)
	before := st.call("GET", "/users", "").body
	for _, c := range []struct{ method, path, body, want string }{
		{"POST", "/users", `{}`, "email:required"},
		{"POST", "/users", `{"email":null}`, "email:required"},
		{"POST", "/users", `{"email":"ANN@example.com"}`, "email:taken"},
		{"POST", "/users", `{"email":"x","role":"king"}`, "email:invalid role:unknown"},
		{"POST", "/users", `{"email":"x@y.z","password":"short"}`, "password:too_short"},
		{"POST", "/users", `{"email":"x@y.z","password":""}`, "password:too_short"},
		{"POST", "/users", `{"email":1,"role":2,"password":3,"x":4}`, "email:type role:type password:type x:unknown"},
		{"POST", "/users?x=1", `{"email":"x@y.z"}`, "x:unknown"},
		{"PATCH", "/users/2", `{"email":"admin"}`, "email:invalid"},
		{"PATCH", "/users/2", `{"password":""}`, "password:too_short"},
		{"PATCH", "/users/1", `{"role":"member"}`, "role:last_admin"},
		{"PATCH", "/users/1", `{"role":""}`, "role:unknown"},
		{"PATCH", "/users/2?x=1", `{}`, "x:unknown"},
		{"DELETE", "/users/1", "", ":last_admin"},
		{"DELETE", "/users/1?links=keep", "", ":last_admin"},
		{"DELETE", "/users/2?links=drop", "", "links:range"},
		{"DELETE", "/users/2?x=1", "", "x:unknown"},
		{"GET", "/users?x=1", "", "x:unknown"},
	} {
		st.call(c.method, c.path, c.body).expect(t, fmt.Sprintf("%s %s %s", c.method, c.path, c.body), 422, fieldsOf(c.want))
	}
	expect.Equal(t, st.call("GET", "/users", "").body, before)
}

func TestLinksSurviveTheirOwnerOnlyOnRequest(t *testing.T) {
	st := newSite(t, nil)
	ann := st.member("ann@example.com")
	st.callAs(ann, "POST", "/shorten", `{"url":"http://a/","alias":"x"}`).need(t, "", 201)
	st.call("DELETE", "/users/2", "").expect(t, "without a word about the links", 422, fieldsOf("links:required"), "links=keep")
	st.callAs(ann, "GET", "/me", "").expect(t, "after that", 200)
	st.call("DELETE", "/users/2?links=keep", "").expect(t, "links=keep", 204)
	st.callAs(ann, "GET", "/me", "").expect(t, "the token of a deleted user", 401)
	st.get("/x").expect(t, "the link", 302)
	st.call("GET", "/links/x?owner=2", "").expect(t, "the link for an admin", 200, `"owner":2,`)
	st.call("DELETE", "/links/x?owner=2", "").expect(t, "deleting it", 204)
	ben := st.member("ann@example.com") // the address again
	st.callAs(ben, "GET", "/me", "").expect(t, "the address again", `"id":3,`)
}

func TestEachRefusalOfAccountsHasItsProblem(t *testing.T) {
	for err, want := range map[error]*problem.Kind{
		account.ErrUnauthorized: problem.Unauthorized, account.ErrNoUser: problem.NotFound, account.ErrNoToken: problem.NotFound,
		account.ErrNoSetupCode: problem.NotFound,
		account.ErrOverloaded:  problem.Overloaded,
	} {
		r, known := problem.Of(fmt.Errorf("wrapped: %w", err))
		expect.That(t, r.Kind == want && known, "%v: got %v, want %v", err, r.Kind, want)
	}
}

func TestTheListOfTokensShowsTheLastUse(t *testing.T) {
	st := newSite(t, nil)
	ann := st.member("ann@example.com", account.LinksRead, account.TokensWrite)
	st.now.Add(90_000)
	st.callAs(ann, "POST", "/tokens", `{"name":"unused"}`).expect(t, "a new token", 201, `"last_used_at":null`)
	r := st.callAs(ann, "GET", "/tokens", "")
	expect.That(t, strings.Count(r.body, `"last_used_at":null`) == 1 && strings.Contains(r.body, `"last_used_at":"2026-01-02T03:05:35Z"`),
		"got %s", r.body)
}

// askForSetup opens a setup link in the ways that people and programs do, before and after the code
// is used, and returns what it is answered without the code itself: its page may show it to who has
// sent it.
func (a *access) askForSetup() (answers string) {
	a.t.Helper()
	_, code := a.setupLink(fmt.Sprintf(`{"user":%d}`, a.owner.ID))
	form := "code=" + code + "&password=" + url.QueryEscape(goodPassword)
	ask := func() {
		for _, path := range []string{"/_/setup?code=", "/setup?code=", "/_/setup/", "/api/v1/setup-links?code="} {
			for _, method := range []string{"GET", "HEAD", "POST", "PUT"} {
				head := []string{"Referer: http://127.0.0.1:8080/_/setup?code=" + code, "Content-Type: application/x-www-form-urlencoded"}
				r := send(a.t, a.publicAt, method, requestText(method, path+code, form, head...))
				answers += strings.ReplaceAll(r.body, code, "")
			}
		}
		answers += a.as([]string{"Authorization: Bearer " + code}, "GET", "/me", "").body
		answers += a.as([]string{"Cookie: shunt_session=" + code}, "GET", "/me", "").body
		answers += a.callAs(a.token, "GET", "/misses", "").body
	}
	ask()
	if _, cookie, err := a.accounts.UseSetupCode(turnstile.Key{}, code, "", goodPassword); err == nil {
		a.secret(cookie)
	}
	ask()
	return answers
}

// The log is checked whenever a site ends. It is longest here: every kind of answer, and rows that
// cannot be read.
func TestNoSecretIsLoggedMeasuredOrAnswered(t *testing.T) {
	a := newAccess(t)
	bodies := ""
	eachAccess(func(request, column string, want int) {
		_, path, _ := strings.Cut(request, " ")
		_, missing := a.fresh(path)
		bodies += a.ask(column, request, missing).body
	})
	for _, body := range []string{
		annsLogin, `{"email":"owner@example.com","password":"` + goodPassword + `"`, `{"password":"` + goodPassword + `"}`,
		`["` + goodPassword + `"]`, `{"email":"` + goodPassword + `","password":"` + goodPassword + `","role":"` + goodPassword + `"}`,
	} {
		for _, path := range []string{"/session", "/users", "/tokens", "/shorten"} {
			bodies += a.post(path, body).body + a.call("POST", path, body).body
		}
	}
	issued := map[string]bool{}
	for line := range strings.Lines(bodies) { // a new token is shown once, to the caller that requested it
		if _, rest, found := strings.Cut(line, `"token":"`); found {
			issued[rest[:42]] = true
			bodies = strings.ReplaceAll(bodies, line, "")
			a.secret(rest[:42])
		}
	}
	bodies += a.askForSetup()
	expect.That(t, len(issued) != 0, "no token was issued on the way")
	a.spoil(fmt.Sprintf("u\x00\x00\x00%c", a.owner.ID))
	for _, column := range []string{"owner", "page", "admin"} {
		for _, request := range []string{"GET /me", "POST /session", "GET /users"} {
			_, path, _ := strings.Cut(request, " ")
			r := a.ask(column, request, path)
			bodies += r.body
		}
	}
	expect.That(t, strings.Contains(a.log.String(), "request failed") && strings.Contains(bodies, `"code":"internal"`),
		"a row that cannot be read is not noticed")
	a.wantNothingSecretIn("an answer", bodies)
	a.wantNothingSecretIn("the metrics", send(t, a.adminAt, "GET", requestText("GET", "/metrics", "")).body)
	expect.That(t, strings.Contains(strings.Join(a.secrets.texts, " "), goodPassword) && len(a.secrets.texts) >= 10,
		"only %d secrets were looked for", len(a.secrets.texts))
}
