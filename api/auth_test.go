package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"shunt/api/account"
)

func TestWithoutAValidTokenNothingHappens(t *testing.T) {
	st := newSite(t, nil)
	admin, _, err := st.accounts.EnsureAdmin()
	if err != nil {
		t.Fatal(err)
	}
	dead, revoked, err := st.accounts.IssueToken(account.CallerOf(admin), account.TokenDraft{Name: "dead"})
	if err != nil {
		t.Fatal(err)
	}
	if err := st.accounts.RevokeToken(account.Caller{}, admin.ID, dead.ID); err != nil {
		t.Fatal(err)
	}
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
				if r.status != 401 || r.problem() != "unauthorized" || !strings.HasPrefix(r.header.Get("WWW-Authenticate"), "Bearer") {
					t.Errorf("got %d %v %s, want 401", r.status, r.header, r.body)
				}
				if r := send(t, st.publicAt, "GET", requestText("GET", "/api/v1/me", "", lines...)); r.status != 401 {
					t.Errorf("me: got %d, want 401", r.status)
				}
			})
		})
	}
	if r := send(t, st.publicAt, "GET", requestText("GET", "/api/v1/me", "", "authorization: bEARER "+st.token)); r.status != 200 {
		t.Errorf("scheme in another case: got %d, want 200", r.status)
	}
	if got := st.metric("shunt_auth_failures_total"); got != "20" {
		t.Errorf("auth_failures_total: got %s, want 20", got)
	}
}

func TestATokenMayDoWhatItsScopesAllow(t *testing.T) {
	st := newSite(t, nil)
	all := st.member("all@example.com", account.LinksRead, account.LinksWrite, account.StatsRead, account.TokensWrite)
	if r := st.callAs(all, "POST", "/shorten", `{"url":"http://a/","alias":"x"}`); r.status != 201 {
		t.Fatal(r)
	}
	u, err := st.accounts.UserByName("ALL@example.com")
	if err != nil {
		t.Fatal(err)
	}
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
			if r.status != want || want == 403 && c.method != "HEAD" && r.problem() != "forbidden" {
				t.Errorf("%s %s with %s: got %d %s, want %d", c.method, c.path, scope, r.status, r.body, want)
			}
			if r := st.callAs(token, "GET", "/me", ""); r.status != 200 || !strings.Contains(r.body, `"scopes":["`+string(scope)+`"]`) {
				t.Errorf("me with %s: got %d %s", scope, r.status, r.body)
			}
		}
	}
}

func TestAForeignLinkLooksLikeAMissingOne(t *testing.T) {
	st := newSite(t, nil)
	ann, ben := st.member("ann@example.com"), st.member("ben@example.com")
	if r := st.callAs(ann, "POST", "/shorten", `{"url":"http://a/","alias":"x"}`); r.status != 201 {
		t.Fatal(r)
	}
	for _, c := range []struct{ method, path, body string }{
		{"GET", "/links/", ""}, {"PATCH", "/links/", `{"title":"t"}`}, {"PATCH", "/links/", "{}"}, {"DELETE", "/links/", ""}, {"GET", "/stats/", ""},
	} {
		missing, foreign := st.callAs(ben, c.method, c.path+"y", c.body), st.callAs(ben, c.method, c.path+"x", c.body)
		if foreign.status != 404 || foreign.whole() != missing.whole() {
			t.Errorf("%s %s: foreign %+v, missing %+v", c.method, c.path, foreign, missing)
		}
		if r := st.callAs(ben, c.method, c.path+"x?owner=all", c.body); r.problem() != "forbidden" {
			t.Errorf("%s owner=all without scope admin: got %+v", c.method, r)
		}
		if r := st.call(c.method, c.path+"x?owner=1", c.body); r.status != 404 {
			t.Errorf("%s owner=1 as admin, another's link: got %+v", c.method, r)
		}
	}
	if r := st.call("GET", "/stats/x?owner=all", ""); r.status != 200 {
		t.Errorf("owner=all as admin: got %+v", r)
	}
	if r := st.call("GET", "/links/x?owner=2", ""); r.status != 200 || !strings.Contains(r.body, `"owner":2`) {
		t.Errorf("owner=2 as admin: got %+v", r)
	}
	for _, query := range []string{"owner=", "owner=0", "owner=x", "owner=all&owner=1", "from=x", "include=hits", "x"} {
		if r := st.call("GET", "/stats/x?"+query, ""); r.problem() != "invalid" {
			t.Errorf("?%s: got %d %s, want 422", query, r.status, r.body)
		}
	}
	if r := st.call("PATCH", "/links/x?owner=all", `{"title":"by an admin"}`); r.status != 200 || !strings.Contains(r.body, `"owner":2`) {
		t.Errorf("patch with owner=all as admin: got %+v", r)
	}
	if r := st.call("DELETE", "/links/x?owner=all", ""); r.status != 204 {
		t.Errorf("delete with owner=all as admin: got %+v", r)
	}
}

func TestATokenIsShownOnceAndEndsAtOnce(t *testing.T) {
	st := newSite(t, nil)
	r := st.call("POST", "/tokens", `{"name":"ci","scopes":["links:write"],"expires_at":"2026-01-02T04:04:05Z"}`)
	var made tokenObject
	if err := json.Unmarshal([]byte(r.body), &made); err != nil || r.status != 201 || r.header.Get("Location") != "/api/v1/tokens/"+made.ID {
		t.Fatalf("got %+v, %v", r, err)
	}
	if r := st.call("GET", "/tokens", ""); strings.Contains(r.body, made.Token) || !strings.Contains(r.body, made.ID) || strings.Contains(r.body, `"token"`) {
		t.Errorf("the list: got %s", r.body)
	}
	if r := st.callAs(made.Token, "POST", "/shorten", `{"url":"http://a/"}`); r.status != 201 {
		t.Errorf("before its end: got %+v", r)
	}
	st.now.Add(3_600_000)
	if r := st.callAs(made.Token, "GET", "/me", ""); r.status != 401 {
		t.Errorf("at its expiry: got %+v", r)
	}
	st.now.Add(-1)
	if r := st.callAs(made.Token, "GET", "/me", ""); r.status != 200 {
		t.Errorf("a millisecond before: got %+v", r)
	}
	if r := st.call("DELETE", "/tokens/"+made.ID, ""); r.status != 204 {
		t.Errorf("revoke: got %+v", r)
	}
	if r := st.callAs(made.Token, "GET", "/me", ""); r.status != 401 {
		t.Errorf("revoked: got %+v", r)
	}
	if r := st.call("DELETE", "/tokens/"+made.ID, ""); r.status != 404 {
		t.Errorf("revoke again: got %+v", r)
	}
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
		if r := st.callAs(maker, "POST", "/tokens", body); r.status != 422 || r.fields() != want {
			t.Errorf("%s: got %d %s, want 422 %s", body, r.status, r.body, want)
		}
	}
	if r := st.callAs(maker, "GET", "/tokens", ""); strings.Count(r.body, `"id"`) != 1 {
		t.Errorf("tokens: got %s, want the maker's one", r.body)
	}
}

func TestIfMatchIsHonoured(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(`{"url":"http://a/","alias":"x"}`)
	if r := st.call("GET", "/links/x", ""); r.header.Get("ETag") != `"1"` || !strings.Contains(r.body, `"unique":0`) {
		t.Errorf("the link: got %+v", r)
	}
	for _, tag := range []string{`"2"`, `W/"1"`, `1`, `"01"`, `"0"`, `"x"`, `"2", "3"`, `"18446744073709551615"`} {
		r := st.call("DELETE", "/links/x", "", "If-Match: "+tag)
		if r.status != 412 || r.problem() != "precondition_failed" {
			t.Errorf("If-Match: %s: got %d %s, want 412", tag, r.status, r.body)
		}
	}
	for i, tag := range []string{`"1"`, `"2", "1"`, `*`} {
		l := st.shorten(fmt.Sprintf(`{"url":"http://a/","alias":"y%d"}`, i)) // a code that is taken again has another version
		if r := st.call("DELETE", "/links/"+l.Code, "", "If-Match: "+tag); r.status != 204 {
			t.Errorf("If-Match: %s: got %d %s, want 204", tag, r.status, r.body)
		}
	}
	if r := st.call("DELETE", "/links/none", "", `If-Match: "1"`); r.status != 404 {
		t.Errorf("a missing link: got %d, want 404", r.status)
	}
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
			if r.status != c.status || c.status == 403 && (r.problem() != "https_required" || !strings.Contains(r.body, c.detail)) {
				t.Errorf("got %d %s, want %d %s", r.status, r.body, c.status, c.detail)
			}
		})
	}
	if n := strings.Count(strict.log.String(), "--trusted-proxy"); n != 1 {
		t.Errorf("warned %d times, want once:\n%s", n, strict.log)
	}
	lax := newSite(t, func(o *Options) { o.AllowHTTP = true })
	for _, line := range []string{"X-A: b", "X-Forwarded-For: 192.0.2.1"} {
		if r := me(t, lax, lax.from("192.0.2.1"), line); r.status != 200 {
			t.Errorf("--allow-http, %s: got %d %s, want 200", line, r.status, r.body)
		}
	}
	if r := send(t, strict.from("192.0.2.1"), "GET", requestText("GET", "/nothing", "")); r.status != 404 {
		t.Errorf("a code over plain HTTP: got %d, want 404", r.status)
	}
}

func TestALocalCommandActsAsAdminOrTheNamedUser(t *testing.T) {
	st := newSite(t, nil)
	ann := st.member("ann@example.com")
	local := func(method, path, body string, lines ...string) reply {
		return send(t, st.localAt, method, requestText(method, path, body, append(lines, "Content-Type: application/json")...))
	}
	if r := local("POST", "/api/v1/shorten", `{"url":"http://a/","alias":"mine"}`); r.status != 201 || !strings.Contains(r.body, `"owner":1`) {
		t.Errorf("as the admin: got %+v", r)
	}
	if r := local("POST", "/api/v1/shorten", `{"url":"http://a/","alias":"anns"}`, "Shunt-User: Ann@Example.com"); r.status != 201 || !strings.Contains(r.body, `"owner":2`) {
		t.Errorf("as a member: got %+v", r)
	}
	if r := st.callAs(ann, "GET", "/links/anns", ""); r.status != 200 {
		t.Errorf("the member's link: got %+v", r)
	}
	if r := local("GET", "/api/v1/stats/anns?owner=all", "", "Shunt-User: ann@example.com"); r.problem() != "forbidden" {
		t.Errorf("a member is no admin here either: got %+v", r)
	}
	if r := local("GET", "/api/v1/me", "", "Shunt-User: nobody@example.com"); r.problem() != "invalid" || r.fields() != "user:unknown" {
		t.Errorf("as nobody: got %+v", r)
	}
	if r := local("POST", "/api/v1/tokens", `{"name":"cli","scopes":["admin"]}`); r.status != 201 {
		t.Errorf("a token with scope admin: got %+v", r)
	}
	if r := local("GET", "/mine", ""); r.status != http.StatusNotFound {
		t.Errorf("a code on the local socket: got %+v, want 404", r)
	}
}

func TestUnsupportedMethodsAre405(t *testing.T) {
	st := newSite(t, nil)
	for _, c := range []struct{ method, path, allow string }{
		{"GET", "/shorten", "POST"}, {"PUT", "/shorten", "POST"}, {"OPTIONS", "/shorten", "POST"}, {"BREW", "/shorten", "POST"},
		{"POST", "/stats/x", "GET, HEAD"}, {"PUT", "/links/x", "DELETE, GET, HEAD, PATCH"}, {"DELETE", "/me", "GET, HEAD"},
		{"DELETE", "/tokens", "GET, HEAD, POST"},
	} {
		r := st.call(c.method, c.path, "")
		if r.status != 405 || r.problem() != "method_not_allowed" || r.header.Get("Allow") != c.allow {
			t.Errorf("%s %s: got %d, Allow %q; want 405, %q", c.method, c.path, r.status, r.header.Get("Allow"), c.allow)
		}
	}
	for _, e := range st.endpoints() {
		path := strings.NewReplacer("{code}", "none", "{id}", "9").Replace(e.path)
		plain, slash := st.call("BREW", path, ""), st.call("BREW", path+"/", "")
		if plain.status != 405 || slash.status != 405 || plain.header.Get("Allow") != slash.header.Get("Allow") {
			t.Errorf("%s/: got %d, Allow %q; without the slash %d, %q", path, slash.status, slash.header.Get("Allow"), plain.status, plain.header.Get("Allow"))
		}
	}
	for _, path := range []string{"", "/", "/nothing", "/shorten/x", "/links//", "/stats//", "/stats/a/b", "/stats/a/live//", "/misses//", "/links/%61", "/stats/" + strings.Repeat("x", 65)} {
		if r := st.call("GET", path, ""); r.status != 404 || r.problem() != "not_found" {
			t.Errorf("GET %s: got %d %s, want 404 and a problem", path, r.status, r.body)
		}
	}
}

func TestUnknownQueryParametersAreRefused(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(`{"url":"http://a/","alias":"x"}`)
	for _, c := range []struct{ method, path, body string }{
		{"GET", "/me", ""}, {"GET", "/tokens", ""}, {"POST", "/tokens", `{"name":"n"}`}, {"DELETE", "/tokens/none", ""},
		{"GET", "/links/x", ""}, {"PATCH", "/links/x", `{"title":"t"}`}, {"DELETE", "/links/x", ""}, {"GET", "/stats/x", ""}, {"GET", "/stats", ""}, {"GET", "/stats/x/live", ""},
		{"GET", "/misses", ""},
	} {
		r := st.call(c.method, c.path+"?colour=red", c.body)
		if r.status != 422 || r.problem() != "invalid" || r.fields() != "colour:unknown" {
			t.Errorf("%s %s: got %d %s, want 422 colour:unknown", c.method, c.path, r.status, r.body)
		}
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
			path := strings.NewReplacer("{code}", "victim", "{id}", "1").Replace(e.path)
			if r := st.as(lines, e.method, path, ""); r.status != 400 || r.problem() != "bad_request" || !r.close {
				t.Errorf("%s, %s %s: got %d %s, close %v; want 400, and the connection closed", name, e.method, path, r.status, r.body, r.close)
			}
		}
	}
	if r := st.as([]string{right}, "GET", "/me", ""); r.status != 200 {
		t.Errorf("one line: got %+v, want 200", r)
	}
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
		if r := st.call(c.method, c.path, c.body); !strings.Contains(r.body, c.has) {
			t.Errorf("%s %s: got %d %.200s, want %s", c.method, c.path, r.status, r.body, c.has)
		}
	}
	if r := st.callAs("", "GET", "/links/", ""); r.problem() != "unauthorized" {
		t.Errorf("without a token: got %d %s", r.status, r.body)
	}
}
