package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"shunt/api/account"
	"shunt/engine/expect"
)

func TestWithoutAValidTokenNothingHappens(t *testing.T) {
	st := newSite(t, nil)
	admin, _, err := st.accounts.EnsureAdmin()
	expect.OK(t, err)
	dead, revoked, err := st.accounts.IssueToken(account.CallerOf(admin), account.TokenDraft{Name: "dead"})
	expect.OK(t, err)
	expect.OK(t, st.accounts.RevokeToken(account.Caller{}, admin.ID, dead.ID))
	wrong := []byte(st.token)
	wrong[10] ^= 1
	for name, lines := range map[string][]string{
		"no token":             nil,
		"no scheme":            {"Authorization: " + st.token},
		"basic":                {"Authorization: Basic " + st.token},
		"empty":                {"Authorization: Bearer "},
		"garbage":              {"Authorization: Bearer shunt_x"},
		"one character wrong":  {"Authorization: Bearer " + string(wrong)},
		"revoked":              {"Authorization: Bearer " + revoked},
		"two tokens":           {"Authorization: Bearer " + st.token + " " + st.token},
		"in a cookie":          {"Cookie: token=" + st.token},
		"user header, by HTTP": {"Shunt-User: admin"},
	} {
		t.Run(name, func(t *testing.T) {
			st.unchanged(t, func() {
				// The body is malformed and of the wrong type, but a caller without a token must not learn
				// that.
				r := send(t, st.publicAt, "POST", requestText("POST", "/api/v1/shorten", "{", lines...))
				expect.That(t, r.status == 401 && r.problem() == "unauthorized" && strings.HasPrefix(r.header.Get("WWW-Authenticate"), "Bearer"),
					"got %d %v %s, want 401", r.status, r.header, r.body)
				send(t, st.publicAt, "GET", requestText("GET", "/api/v1/me", "", lines...)).expect(t, "me", 401)
			})
		})
	}
	send(t, st.publicAt, "GET", requestText("GET", "/api/v1/me", "", "authorization: bEARER "+st.token)).expect(t, "scheme in another case", 200)
	expect.Equal(t, st.metric("shunt_auth_failures_total"), "20", "auth_failures_total")
}

func TestATokenMayDoWhatItsScopesAllow(t *testing.T) {
	st := newSite(t, nil)
	all := st.member("all@example.com", account.LinksRead, account.LinksWrite, account.StatsRead, account.TokensWrite)
	st.callAs(all, "POST", "/shorten", `{"url":"http://a/","alias":"x"}`).need(t, "", 201)
	u, err := st.accounts.UserByName("ALL@example.com")
	expect.OK(t, err)
	for _, c := range []struct {
		scope              account.Scope
		method, path, body string
		status             int
	}{
		{account.LinksWrite, "POST", "/shorten", `{"url":"http://a/"}`, 201},
		{account.LinksRead, "GET", "/links/x", "", 200},
		{account.LinksRead, "HEAD", "/links/x", "", 200},
		{account.StatsRead, "GET", "/stats/x", "", 200},
		{account.StatsRead, "HEAD", "/stats/x", "", 200},
		{account.StatsRead, "GET", "/stats/x?include=bots", "", 200},
		{account.StatsRead, "GET", "/stats", "", 200},
		{account.StatsRead, "HEAD", "/stats/x/live", "", 200},
		{account.Admin, "GET", "/misses", "", 200},
		{account.LinksWrite, "PATCH", "/links/x", `{"title":"t"}`, 200},
		{account.LinksWrite, "DELETE", "/links/x", "", 204},
		{account.TokensWrite, "GET", "/tokens", "", 200},
		{account.TokensWrite, "POST", "/tokens", `{"name":"n"}`, 201},
		{account.TokensWrite, "DELETE", "/tokens/none", "", 404},
	} {
		for _, scope := range account.AllScopes[:4] {
			token := st.issue(account.CallerOf(u), scope)
			want := 403
			if scope == c.scope {
				want = c.status
			}
			r := st.callAs(token, c.method, c.path, c.body)
			expect.That(t, r.status == want && (want != 403 || c.method == "HEAD" || r.problem() == "forbidden"),
				"%s %s with %s: got %d %s, want %d", c.method, c.path, scope, r.status, r.body, want)
			st.callAs(token, "GET", "/me", "").expect(t, fmt.Sprintf("me with %s", scope), 200, `"scopes":["`+string(scope)+`"]`)
		}
	}
}

func TestAForeignLinkLooksLikeAMissingOne(t *testing.T) {
	st := newSite(t, nil)
	ann, ben := st.member("ann@example.com"), st.member("ben@example.com")
	st.callAs(ann, "POST", "/shorten", `{"url":"http://a/","alias":"x"}`).need(t, "", 201)
	for _, c := range []struct{ method, path, body string }{
		{"GET", "/links/", ""}, {"PATCH", "/links/", `{"title":"t"}`}, {"PATCH", "/links/", "{}"}, {"DELETE", "/links/", ""}, {"GET", "/stats/", ""},
	} {
		missing, foreign := st.callAs(ben, c.method, c.path+"y", c.body), st.callAs(ben, c.method, c.path+"x", c.body)
		expect.That(t, foreign.status == 404 && foreign.whole() == missing.whole(),
			"%s %s: foreign %+v, missing %+v", c.method, c.path, foreign, missing)
		st.callAs(ben, c.method, c.path+"x?owner=all", c.body).expect(t, c.method+" owner=all without scope admin", problemOf("forbidden"))
		st.call(c.method, c.path+"x?owner=1", c.body).expect(t, c.method+" owner=1 as admin, another's link", 404)
	}
	st.call("GET", "/stats/x?owner=all", "").expect(t, "owner=all as admin", 200)
	st.call("GET", "/links/x?owner=2", "").expect(t, "owner=2 as admin", 200, `"owner":2`)
	for _, query := range []string{"owner=", "owner=0", "owner=x", "owner=all&owner=1", "from=x", "include=hits", "x"} {
		st.call("GET", "/stats/x?"+query, "").expect(t, "?"+query, problemOf("invalid"))
	}
	st.call("PATCH", "/links/x?owner=all", `{"title":"by an admin"}`).expect(t, "patch with owner=all as admin", 200, `"owner":2`)
	st.call("DELETE", "/links/x?owner=all", "").expect(t, "delete with owner=all as admin", 204)
}

func TestATokenIsShownOnceAndEndsAtOnce(t *testing.T) {
	st := newSite(t, nil)
	r := st.call("POST", "/tokens", `{"name":"ci","scopes":["links:write"],"expires_at":"2026-01-02T04:04:05Z"}`)
	var made tokenObject
	err := json.Unmarshal([]byte(r.body), &made)
	expect.MustThat(t, err == nil && r.status == 201 && r.header.Get("Location") == "/api/v1/tokens/"+made.ID, "got %+v, %v", r, err)
	st.call("GET", "/tokens", "").expect(t, "the list", without(made.Token), made.ID, without(`"token"`))
	st.callAs(made.Token, "POST", "/shorten", `{"url":"http://a/"}`).expect(t, "before its end", 201)
	st.now.Add(3_600_000)
	st.callAs(made.Token, "GET", "/me", "").expect(t, "at its expiry", 401)
	st.now.Add(-1)
	st.callAs(made.Token, "GET", "/me", "").expect(t, "a millisecond before", 200)
	st.call("DELETE", "/tokens/"+made.ID, "").expect(t, "revoke", 204)
	st.callAs(made.Token, "GET", "/me", "").expect(t, "revoked", 401)
	st.call("DELETE", "/tokens/"+made.ID, "").expect(t, "revoke again", 404)
}

func TestABadTokenRequestMakesNone(t *testing.T) {
	st := newSite(t, nil)
	maker := st.member("ann@example.com", account.TokensWrite, account.LinksRead)
	for body, want := range map[string]string{
		`{}`:                                    "name:required",
		`{"name":" "}`:                          "name:invalid",
		`{"name":"n","scopes":["links:write"]}`: "scopes[0]:exceeds",
		`{"name":"n","scopes":["admin"]}`:       "scopes[0]:exceeds",
		`{"name":"n","scopes":["links:read","root"]}`:          "scopes[1]:unknown",
		`{"name":"n","scopes":[]}`:                             "scopes:required",
		`{"name":"n","scopes":"links:read"}`:                   "scopes:type",
		`{"name":"n","expires_at":"2020-01-01T00:00:00Z"}`:     "expires_at:past",
		`{"name":"n","user":"admin"}`:                          "user:unknown",
		`{"name":7,"scopes":[1],"expires_at":"tomorrow"}`:      "name:type scopes:type expires_at:format",
		`{"name":"` + strings.Repeat("n", 101) + `","x":null}`: "x:unknown",
	} {
		st.callAs(maker, "POST", "/tokens", body).expect(t, body, 422, fieldsOf(want))
	}
	r := st.callAs(maker, "GET", "/tokens", "")
	expect.Equal(t, strings.Count(r.body, `"id"`), 1, "tokens: got %s", r.body)
}

func TestIfMatchIsHonoured(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(`{"url":"http://a/","alias":"x"}`)
	st.call("GET", "/links/x", "").expect(t, "the link", header("ETag", `"1"`), `"unique":0`)
	for _, tag := range []string{`"2"`, `W/"1"`, `1`, `"01"`, `"0"`, `"x"`, `"2", "3"`, `"18446744073709551615"`} {
		st.call("DELETE", "/links/x", "", "If-Match: "+tag).expect(t, "If-Match: "+tag, 412, problemOf("precondition_failed"))
	}
	for i, tag := range []string{`"1"`, `"2", "1"`, `*`} {
		l := st.shorten(fmt.Sprintf(`{"url":"http://a/","alias":"y%d"}`, i)) // a code that is taken again has another version
		st.call("DELETE", "/links/"+l.Code, "", "If-Match: "+tag).expect(t, "If-Match: "+tag, 204)
	}
	st.call("DELETE", "/links/none", "", `If-Match: "1"`).expect(t, "a missing link", 404)
}

func TestTokensTravelOverHTTPSOnly(t *testing.T) {
	me := func(t *testing.T, st *site, ln dialer, lines ...string) reply {
		lines = append(lines, "Authorization: Bearer "+st.token)
		return send(t, ln, "GET", requestText("GET", "/api/v1/me", "", lines...))
	}
	strict := newSite(t, func(o *Options) { o.TrustedProxies = someProxies.Trusted[:1] })
	for name, c := range map[string]struct {
		peer   string
		lines  []string
		status int
		detail string
	}{
		"loopback":                                {"127.0.0.1", nil, 200, ""},
		"loopback, IPv6":                          {"::1", nil, 200, ""},
		"another machine":                         {"192.0.2.1", nil, 403, "--allow-http"},
		"another machine that says https":         {"192.0.2.1", []string{"X-Forwarded-Proto: https"}, 403, "--allow-http"},
		"loopback proxy after an empty line":      {"127.0.0.1", []string{"X-Forwarded-For:", "X-Forwarded-For: 192.0.2.1"}, 403, "--trusted-proxy"},
		"loopback proxy that is not trusted":      {"127.0.0.1", []string{"X-Forwarded-For: 192.0.2.1"}, 403, "--trusted-proxy"},
		"the same, and it says https":             {"127.0.0.1", []string{"X-Forwarded-Proto: https"}, 403, "--trusted-proxy"},
		"the same, by Forwarded":                  {"127.0.0.1", []string{"Forwarded: for=192.0.2.1;proto=https"}, 403, "--trusted-proxy"},
		"trusted proxy that says https":           {"10.0.0.1", []string{"X-Forwarded-Proto: https"}, 200, ""},
		"trusted proxy that says http":            {"10.0.0.1", []string{"X-Forwarded-Proto: http"}, 403, "X-Forwarded-Proto"},
		"trusted proxy that says both, http last": {"10.0.0.1", []string{"X-Forwarded-Proto: https, http"}, 403, "X-Forwarded-Proto"},
		"trusted proxy that says nothing":         {"10.0.0.1", []string{"X-Forwarded-For: 192.0.2.1"}, 403, "X-Forwarded-Proto"},
		"trusted proxy's own plain request":       {"10.0.0.1", nil, 403, "--allow-http"},
	} {
		t.Run(name, func(t *testing.T) {
			r := me(t, strict, strict.from(c.peer), c.lines...)
			expect.That(t, r.status == c.status && (c.status != 403 || r.problem() == "https_required" && strings.Contains(r.body, c.detail)),
				"got %d %s, want %d %s", r.status, r.body, c.status, c.detail)
		})
	}
	expect.Equal(t, strings.Count(strict.log.String(), "--trusted-proxy"), 1, "warned times, want once:\n%s", strict.log)
	lax := newSite(t, func(o *Options) { o.AllowHTTP = true })
	for _, line := range []string{"X-A: b", "X-Forwarded-For: 192.0.2.1"} {
		me(t, lax, lax.from("192.0.2.1"), line).expect(t, "--allow-http, "+line, 200)
	}
	send(t, strict.from("192.0.2.1"), "GET", requestText("GET", "/nothing", "")).expect(t, "a code over plain HTTP", 404)
}

func TestALocalCommandActsAsAdminOrTheNamedUser(t *testing.T) {
	st := newSite(t, nil)
	ann := st.member("ann@example.com")
	local := func(method, path, body string, lines ...string) reply {
		return send(t, st.localAt, method, requestText(method, path, body, append(lines, "Content-Type: application/json")...))
	}
	local("POST", "/api/v1/shorten", `{"url":"http://a/","alias":"mine"}`).expect(t, "as the admin", 201, `"owner":1`)
	local("POST", "/api/v1/shorten", `{"url":"http://a/","alias":"anns"}`, "Shunt-User: Ann@Example.com").expect(t, "as a member", 201, `"owner":2`)
	st.callAs(ann, "GET", "/links/anns", "").expect(t, "the member's link", 200)
	local("GET", "/api/v1/stats/anns?owner=all", "", "Shunt-User: ann@example.com").expect(t, "a member is no admin here either", problemOf("forbidden"))
	local("GET", "/api/v1/me", "", "Shunt-User: nobody@example.com").expect(t, "as nobody", problemOf("invalid"), fieldsOf("user:unknown"))
	local("POST", "/api/v1/tokens", `{"name":"cli","scopes":["admin"]}`).expect(t, "a token with scope admin", 201)
	local("GET", "/mine", "").expect(t, "a code on the local socket", http.StatusNotFound)
}

func TestUnsupportedMethodsAre405(t *testing.T) {
	st := newSite(t, nil)
	for _, c := range []struct{ method, path, allow string }{
		{"GET", "/shorten", "POST"}, {"PUT", "/shorten", "POST"}, {"OPTIONS", "/shorten", "POST"}, {"BREW", "/shorten", "POST"},
		{"POST", "/stats/x", "GET, HEAD"}, {"PUT", "/links/x", "DELETE, GET, HEAD, PATCH"}, {"DELETE", "/me", "GET, HEAD"},
		{"DELETE", "/tokens", "GET, HEAD, POST"},
	} {
		st.call(c.method, c.path, "").expect(t, fmt.Sprintf("%s %s", c.method, c.path), 405, problemOf("method_not_allowed"), header("Allow", c.allow))
	}
	for _, e := range st.endpoints() {
		path := strings.NewReplacer("{code}", "none", "{id}", "9", "{name}", "none").Replace(e.path)
		plain, slash := st.call("BREW", path, ""), st.call("BREW", path+"/", "")
		expect.That(t, plain.status == 405 && slash.status == 405 && plain.header.Get("Allow") == slash.header.Get("Allow"),
			"%s/: got %d, Allow %q; without the slash %d, %q", path, slash.status, slash.header.Get("Allow"), plain.status, plain.header.Get("Allow"))
	}
	for _, path := range []string{"", "/", "/nothing", "/shorten/x", "/links//", "/stats//", "/stats/a/b", "/stats/a/live//", "/misses//", "/links/%61", "/stats/" + strings.Repeat("x", 65)} {
		st.call("GET", path, "").expect(t, "GET "+path, 404, problemOf("not_found"))
	}
}

func TestUnknownQueryParametersAreRefused(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(`{"url":"http://a/","alias":"x"}`)
	for _, c := range []struct{ method, path, body string }{
		{"GET", "/me", ""}, {"GET", "/tokens", ""}, {"POST", "/tokens", `{"name":"n"}`}, {"DELETE", "/tokens/none", ""},
		{"GET", "/links/x", ""}, {"PATCH", "/links/x", `{"title":"t"}`}, {"DELETE", "/links/x", ""}, {"GET", "/stats/x", ""}, {"GET", "/stats", ""}, {"GET", "/stats/x/live", ""},
		{"GET", "/misses", ""}, {"GET", "/edges", ""}, {"DELETE", "/edges/frankfurt", ""},
	} {
		st.call(c.method, c.path+"?colour=red", c.body).expect(t, fmt.Sprintf("%s %s", c.method, c.path), 422, problemOf("invalid"), fieldsOf("colour:unknown"))
	}
}

func TestTwoAuthorizationLinesAreRefused(t *testing.T) {
	st := newSite(t, nil)
	right, wrong := "Authorization: Bearer "+st.token, "Authorization: Bearer shunt_x"
	member := "authorization: Bearer " + st.member("m@example.com", account.LinksRead)
	for name, lines := range map[string][]string{
		"the right one first": {right, wrong}, "the right one last": {wrong, right}, "equal": {right, right}, "of two users": {right, member},
		"one empty": {right, "Authorization:"}, "another scheme": {"Authorization: Basic YTpi", right}, "three": {right, right, right},
	} {
		for _, e := range st.endpoints() {
			path := strings.NewReplacer("{code}", "victim", "{id}", "1", "{name}", "frankfurt").Replace(e.path)
			st.as(lines, e.method, path, "").expect(t, fmt.Sprintf("%s, %s %s", name, e.method, path), 400, problemOf("bad_request"), closed)
		}
	}
	st.as([]string{right}, "GET", "/me", "").expect(t, "one line", 200)
}

// TestASlashAtTheEndChangesNothing asks for what only the path decides: who may, what is missing, how large a body
// may be.
func TestASlashAtTheEndChangesNothing(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(`{"url":"http://a/","alias":"x"}`)
	large := "[" + strings.Repeat(`{"url":"http://a/"},`, 900)
	large = large[:len(large)-1] + strings.Repeat(" ", 100_000) + "]"
	for _, c := range []struct{ method, path, body, has string }{
		{"GET", "/links/", "", `"code":"x"`}, {"GET", "/links/?limit=1", "", `"code":"x"`}, {"GET", "/links/x/", "", `"code":"x"`}, {"GET", "/stats/x/", "", `"hits":0`},
		{"GET", "/stats/", "", `"hits":0`}, {"PATCH", "/links/x/", `{"title":"t"}`, `"title":"t"`}, {"POST", "/shorten/", `{"url":"http://a/"}`, `"code"`},
		{"POST", "/shorten/bulk/", large, `"created":900`}, {"GET", "/links/y/", "", "not_found"}, {"DELETE", "/links/", "", "method_not_allowed"},
	} {
		st.call(c.method, c.path, c.body).expect(t, fmt.Sprintf("%s %s", c.method, c.path), c.has)
	}
	st.callAs("", "GET", "/links/", "").expect(t, "without a token", problemOf("unauthorized"))
}
