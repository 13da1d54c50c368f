package api

import (
	"bytes"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"shunt/api/account"
	"shunt/api/dashboard"
	"shunt/api/domain"
	"shunt/api/folder"
	"shunt/engine/expect"
)

// pathOf returns a path of a page: of the link x, of its tag t, of user 2, of the token that is named, of b.test, of
// folder 1.
func pathOf(p dashboard.Page, token string) string {
	id := "2"
	if strings.HasPrefix(p.Path, "/_/tokens/") || strings.HasPrefix(p.Path, "/_/all-tokens/") {
		id = token
	}
	folder := "1"
	if strings.HasSuffix(p.Path, "/leave") {
		folder = "2"
	}
	path := strings.NewReplacer("{code}", "x", "{id}", id, "{name}", "frankfurt", "{host}", "b.test", "{folder}", folder).Replace(p.Path)
	if p.Method == "GET" && strings.HasPrefix(path, "/_/tags/") {
		path += "?tag=t"
	}
	if p.Path == "/_/by" || p.Path == "/_/by.csv" {
		path += "?country=DE"
	}
	return path
}

// askFor asks for a page, or sends a form with a value of every field.
func (b *plainBrowser) askFor(p dashboard.Page, path string) *shown {
	b.st.t.Helper()
	if p.Method == "GET" {
		return b.get(path)
	}
	if strings.HasPrefix(path, "/_/link/") { // what becomes of a query; elsewhere it is that of a list
		return b.post(path, formType, strings.Replace(everyField, "query=tag%3Dt", "query=append", 1))
	}
	return b.post(path, formType, everyField)
}

// streams reports whether a page is a stream, which has no end.
func streams(p dashboard.Page) bool { return p.Path == "/_/live" }

// everyField are good values of the fields of all forms, so that each form would do something.
var everyField = url.Values{
	"url": {"https://example.com/"}, "addresses": {"https://example.com/"}, "email": {"new@example.com"}, "role": {"member"}, "links": {"keep"},
	"password": {"another password"}, "current-password": {goodPassword}, "new-password": {"another password"}, "session": {"all"}, "name": {"n"},
	"scope": {"links:read"}, "expires": {"never"}, "disabled": {"true"}, "version": {"1"}, "key": {"k"}, "title": {"t"}, "code": {"c"}, "to": {"1"}, "tag": {"t"}, "do": {"tag"}, "tags": {"t"}, "query": {"tag=t"}, "host": {"new.test"}, "read": {"owner@example.com"}, "language": {"de"}, "undo": {`[["x",1,{"title":"t"}]]`},
}.Encode()

// state returns what forms could change.
func (st *site) state() string {
	st.t.Helper()
	users, err := st.accounts.ListUsers()
	expect.NoError(st.t, err)
	var text strings.Builder
	for _, u := range users {
		sessions, err := st.accounts.ListSessions(u.ID)
		expect.NoError(st.t, err)
		tokens, err := st.accounts.ListTokens(u.ID)
		expect.NoError(st.t, err)
		fmt.Fprint(&text, u, len(sessions), len(tokens))
	}
	return text.String() + fmt.Sprint(st.engine.Metrics().Links) + st.call("GET", "/links/x?owner=2", "").body + st.call("GET", "/domains", "").body + st.call("GET", "/folders?owner=all", "").body
}

// everyRow calls do with each row of the table of pages, on a site with an admin, user 2, who has a
// token, the link x and folder 1, and is a member of folder 2, and with the domain b.test.
func everyRow(t *testing.T, do func(t *testing.T, st *site, admin *plainBrowser, p dashboard.Page, path string)) {
	t.Helper()
	st, admin, token := siteOfRows(t, newSite(t, fetching))
	for _, p := range dashboard.Pages() {
		t.Run(p.Method+" "+p.Path, func(t *testing.T) { do(t, st, admin, p, pathOf(p, token)) })
	}
}

// siteOfRows makes what the paths of pathOf name.
func siteOfRows(t *testing.T, st *site) (_ *site, admin *plainBrowser, token string) {
	t.Helper()
	admin = st.browseAs("owner@example.com", account.RoleAdmin)
	p := admin.post("/_/links", formType, "url=https%3A%2F%2Fexample.com%2F&alias=x&tags=t&key=k")
	expect.MustThat(t, p.status == 303, "%v", p.reply)
	st.addDomain(domain.Domain{Host: "b.test"})
	admin.open("/_/link/x") // which shows the notice of the form
	u, err := st.accounts.UserByName("owner@example.com")
	expect.NoError(t, err)
	st.issue(account.CallerOf(u), account.LinksRead)
	tokens, err := st.accounts.ListTokens(u.ID)
	expect.NoError(t, err)
	_, err = st.folders.Add(account.Caller{}, folder.Folder{Name: "f", Owner: u.ID})
	expect.NoError(t, err)
	_, err = st.folders.Add(account.Caller{}, folder.Folder{Name: "f", Owner: 1, Members: []folder.Member{{User: u.ID, May: folder.Read}}})
	expect.NoError(t, err)
	return st, admin, tokens[0].ID
}

func TestEveryPageOpensGuardedAndAnswersHEAD(t *testing.T) {
	everyRow(t, func(t *testing.T, _ *site, admin *plainBrowser, p dashboard.Page, path string) {
		if p.Method != "GET" || streams(p) {
			return
		}
		want := 200
		switch path {
		case "/_/setup": // without a code
			want = 404
		case "/_/sign-in", "/_/new":
			want = 303
		}
		got := admin.get(path)
		head := admin.ask("HEAD", path, "", "")
		expect.That(t, got.status == want && head.status == want && head.body == "", "got %d, HEAD %d %q", got.status, head.status, head.body)
		for _, name := range []string{"Content-Security-Policy", "Referrer-Policy", "X-Content-Type-Options", "Cache-Control"} { // on redirects, too
			expect.That(t, got.header.Get(name) != "" && head.header.Get(name) == got.header.Get(name),
				"%s: got %q, HEAD %q", name, got.header.Get(name), head.header.Get(name))
		}
		expect.That(t, !strings.Contains(got.header.Get("Content-Security-Policy"), "data:"), "images in pages are allowed: %s", got.header.Get("Content-Security-Policy"))
	})
}

func TestACompressedPageIsTheSamePage(t *testing.T) {
	everyRow(t, func(t *testing.T, st *site, admin *plainBrowser, p dashboard.Page, path string) {
		if p.Method != "GET" || streams(p) || path == "/_/links/export" || path == "/_/sign-in" || path == "/_/new" || path == "/_/system" || strings.HasSuffix(path, ".png") { // a file that is streamed, what leads elsewhere, numbers that change, and what is compressed
			return
		}
		plain := admin.get(path)
		r := st.get(path, admin.cookie, "Accept-Encoding: gzip, deflate, br, zstd")
		text, err := unpack([]byte(r.body), r.header.Get("Content-Encoding"))
		expect.That(t, err == nil && (string(text) == plain.body || strings.Contains(plain.body, `name="key"`)) &&
			r.header.Get("Cache-Control") == "no-store", "got %d bytes (%v), want %d: %v", len(text), err, len(plain.body), r.header)
		expect.Contains(t, r.header.Get("Vary"), "Accept-Encoding")
	})
}

func TestEveryFormOfAnotherSiteIsRefusedAndChangesNothing(t *testing.T) {
	everyRow(t, func(t *testing.T, st *site, admin *plainBrowser, p dashboard.Page, path string) {
		if p.Method == "GET" {
			return
		}
		before := st.state()
		for name, lines := range map[string][]string{
			"another site": {"Sec-Fetch-Site: cross-site"}, "a neighbour": {"Sec-Fetch-Site: same-site"}, "the address bar": {"Sec-Fetch-Site: none"},
			"an opaque origin": {"Origin: null"}, "another origin": {"Origin: http://evil.example"}, "neither field": nil,
			"another site with our Origin": {"Sec-Fetch-Site: cross-site", "Origin: http://127.0.0.1:8080"},
			"another scheme":               {"Origin: https://any.example"}, "another port": {"Origin: http://any.example:81"},
			"a name that begins like ours": {"Origin: http://any.example.evil.example"}, "two sources": {"Sec-Fetch-Site: cross-site", "Sec-Fetch-Site: same-origin"},
		} {
			from := &plainBrowser{st, admin.cookie, lines, st.publicAt, nil}
			if got := from.post(path, formType, everyField); got.status != 403 || got.header.Get("Set-Cookie") != "" {
				t.Errorf("%s: got %d %s", name, got.status, got.text())
			} else {
				got.want("open http://127.0.0.1:8080/_/ in this browser")
			}
		}
		expect.Equal(t, st.state(), before, "it has changed")
	})
}

func TestEveryPageOfUsersAsksToSignIn(t *testing.T) {
	everyRow(t, func(t *testing.T, st *site, _ *plainBrowser, p dashboard.Page, path string) {
		if !p.SignedIn {
			return
		}
		before := st.state()
		for name, cookie := range map[string]string{
			"nobody": "", "garbage": "Cookie: shunt_session=\x80%00;;=\";", "another server's": "Cookie: session=abc; __Host-shunt_session=" + strings.Repeat("A", 43),
			"a hundred": "Cookie: " + strings.Repeat("a=b; ", 100) + "shunt_session=" + strings.Repeat("A", 43), "a long one": "Cookie: shunt_session=" + strings.Repeat("A", 3000),
		} {
			b := &plainBrowser{st, cookie, []string{ownPage}, st.publicAt, nil}
			if p.Method == "GET" {
				got := b.get(path)
				want := "/_/sign-in?next=" + url.QueryEscape(path)
				if path == dashboard.Root {
					want = "/_/sign-in"
				}
				got.expect(t, name, 303, header("Location", want))
				continue
			}
			got := b.post(path, formType, everyField)
			if got.want("Sign in again", "Nothing was changed."); got.status != 401 || strings.Contains(got.body, goodPassword) || strings.Contains(got.body, "another password") {
				t.Errorf("%s: got %d %s", name, got.status, got.body)
			}
		}
		expect.Equal(t, st.state(), before, "it has changed")
	})
}

func TestMembersMissAllThatIsNotTheirs(t *testing.T) {
	var ben *plainBrowser
	everyRow(t, func(t *testing.T, st *site, _ *plainBrowser, p dashboard.Page, path string) {
		if ben == nil {
			ben = st.browseAs("ben@example.com", account.RoleMember)
		}
		foreign := strings.Contains(p.Path, "{") // the link, user and token of somebody else
		if !p.Admins && !foreign {
			return
		}
		before := st.state()
		none := ben.get("/_/nothing")
		got := ben.askFor(p, path)
		expect.That(t, got.status == 404 && (p.Method != "GET" || !p.Admins || got.body == none.body), "got %d %s", got.status, got.text())
		expect.Equal(t, st.state(), before, "it has changed")
	})
}

func TestEveryPageRefusesOtherMethods(t *testing.T) {
	everyRow(t, func(t *testing.T, st *site, admin *plainBrowser, p dashboard.Page, path string) {
		for _, method := range []string{"PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"} {
			got := admin.ask(method, path, "", "")
			if allow := got.header.Get("Allow"); got.status != 405 || !strings.Contains(allow, p.Method) || strings.Contains(allow, "OPTIONS") {
				t.Errorf("%s: got %d, Allow: %s", method, got.status, allow)
			}
		}
	})
}

func TestEveryPageNeedsASafeConnection(t *testing.T) {
	everyRow(t, func(t *testing.T, st *site, admin *plainBrowser, p dashboard.Page, path string) {
		b := &plainBrowser{st, admin.cookie, []string{ownPage}, st.from("192.0.2.1"), nil}
		got := b.askFor(p, path)
		if got.want("Use https://, or start the server with --allow-http."); got.status != 403 {
			t.Errorf("got %d", got.status)
		}
		b.lines = append(b.lines, "Accept: application/json")
		b.askFor(p, path).expect(t, "as JSON", problemOf("https_required"))
	})
}

func TestEveryPageIsCountedByItsRow(t *testing.T) {
	var seen bytes.Buffer
	everyRow(t, func(t *testing.T, st *site, admin *plainBrowser, p dashboard.Page, path string) {
		if p.Method == "GET" && !streams(p) {
			admin.get(path)
			if metrics := st.metricsText(); !strings.Contains(metrics, `route="`+p.Path+`"`) {
				t.Errorf("no route %s", p.Path)
			} else {
				seen.Reset()
				seen.WriteString(metrics)
			}
		}
	})
	for _, text := range []string{"/_/link/x", "/_/users/2", "/_/none", "owner@"} {
		expect.That(t, !strings.Contains(seen.String(), text), "the metrics have %s", text)
	}
}

func (st *site) metricsText() string {
	st.t.Helper()
	return send(st.t, st.adminAt, "GET", requestText("GET", "/metrics", "")).body
}

// apiWords are for those who write programs. Pages have them only where they are about programs. ("CSV UTF-8" is what a
// spreadsheet calls a kind of file.)
var apiWords = regexp.MustCompile(`(?i)scopes? |RFC [0-9]|at byte|(be|valid) UTF-8|\bJSON|cursor|RateLimit|Idempotency|the id of|'s id\b|2\^53|well-formed|parameter`)

func TestErrorsOnPagesAreInTheWordsOfPages(t *testing.T) {
	st := newSite(t, nil)
	st.browseAs("owner@example.com", account.RoleAdmin) // user 2
	b := st.browseAs("ann@example.com", account.RoleMember)
	b.post("/_/links", formType, "url=https%3A%2F%2Fexample.com%2F&alias=x&key=k")
	for _, path := range []string{
		"/_/?owner=all", "/_/?owner=x", "/_/links?owner=all", "/_/links?owner=2", "/_/links?cursor=x", "/_/links?q=%ff", "/_/links?state=x",
		"/_/links?tag=" + strings.Repeat("t", 300), "/_/tags?owner=all", "/_/link/x?owner=all", "/_/link/x?from=x", "/_/link/x?to=0", "/_/link/a%2Fb",
		"/_/link/x/edit?owner=x", "/_/nothing", "/_/audit",
	} {
		page := b.get(path)
		expect.That(t, page.status >= 400 || strings.HasPrefix(path, "/_/link/x?"), "%s: got %d", path, page.status)
		expect.Equal(t, apiWords.FindString(page.text()), "", "%s: %s", path, page.text())
	}
	for _, form := range []struct{ path, fields string }{
		{"/_/links/new", "url=https%3A%2F%2Fa.example%2Fa%5Cb&key=1"}, {"/_/links/new", "url=https%3A%2F%2Fa.example%2F%ff&key=2"},
		{"/_/links/new", "url=https%3A%2F%2Fa.example%2F&max_hits=many&key=3"}, {"/_/links/new", "url=https%3A%2F%2Fa.example%2F&max_hits=-1&key=4"},
		{"/_/links/new", "url=https%3A%2F%2Fa.example%2F&max_hits=99999999999999999999&key=4"},
		{"/_/links/new", "url=https%3A%2F%2Fa.example%2F&expires_at=tomorrow&key=5"}, {"/_/links/new", "url=https%3A%2F%2Fa.example%2F&redirect_status=999&key=6"},
		{"/_/links/new", "url=https%3A%2F%2Fa.example%2F&title=%ff&key=7"}, {"/_/links/new", "url=https%3A%2F%2Fa.example%2F&alias=%ff&key=8"},
		{"/_/links/bulk", "addresses=a+b%0D%0Ahttps%3A%2F%2Fa.example%2F%ff&key=9"}, {"/_/tokens", "name=n&expires=never&key=10"},
		{"/_/tokens", "name=n&expires=never&key=10&scope=admin"}, {"/_/tokens", "name=%ff&expires=never&key=10&scope=admin"},
		{"/_/tokens", "name=n&expires=date&date=x&key=10&scope=links:read"}, {"/_/account/password", "current-password=x&new-password=y"},
		{"/_/link/x/disabled", "disabled=maybe"},
	} {
		page := b.post(form.path, formType, form.fields)
		expect.That(t, page.status >= 400 || form.path == "/_/links/bulk", "%s %s: got %d", form.path, form.fields, page.status)
		expect.Equal(t, apiWords.FindString(page.text()), "", "%s %s: %s", form.path, form.fields, page.text())
	}
}
