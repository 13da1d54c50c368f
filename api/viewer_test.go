package api

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"shunt/api/account"
	"shunt/api/client"
	"shunt/api/dashboard"
	"shunt/engine/expect"
)

// TestEveryPageIsForItsRoles asks for each page, and sends each form, as a member, as a viewer and as an admin: what
// each gets follows from the row.
func TestEveryPageIsForItsRoles(t *testing.T) {
	browsers := map[account.Role]*plainBrowser{}
	everyRow(t, func(t *testing.T, st *site, _ *plainBrowser, p dashboard.Page, path string) {
		if streams(p) {
			return
		}
		for _, role := range account.Roles {
			if browsers[role] == nil {
				browsers[role] = st.browseAs(string(role)+"@example.com", role)
			}
			of := *browsers[role] // what a form changes of the session is not kept
			of.remembered = nil
			closed := p.Admins && role != account.RoleAdmin || p.Edits && role == account.RoleViewer
			if !closed && p.Method != "GET" { // what forms do is in the tests of their pages
				continue
			}
			before := st.state()
			got, none := of.askFor(p, path), of.get("/_/nothing")
			switch {
			case closed:
				expect.That(t, got.status == 404 && (p.Method != "GET" || got.text() == none.text()), "%s: got %d %s", role, got.status, got.text())
			case !strings.Contains(p.Path, "{"):
				expect.That(t, got.status == 200 || path == "/_/setup" || got.status == 303 || tagOfNobody(path), "%s: got %d %s", role, got.status, got.text())
			case strings.HasPrefix(p.Path, "/_/link/{code}"):
				expect.Equal(t, got.status == 200, role == account.RoleViewer, "%s: a link of somebody else: got %d", role, got.status)
			}
			expect.Equal(t, st.state(), before, "%s: it has changed", role)
		}
	})
}

// tagOfNobody reports whether a page is about a tag that only its owner has.
func tagOfNobody(path string) bool { return strings.HasPrefix(path, "/_/tags/") }

// TestAViewerIsShownNothingThatIsNotAllowed looks at each page that a viewer may see, and at each of its links and
// forms: none leads to a page that a viewer may not see.
func TestAViewerIsShownNothingThatIsNotAllowed(t *testing.T) {
	var viewer *plainBrowser
	seen := 0
	everyRow(t, func(t *testing.T, st *site, _ *plainBrowser, p dashboard.Page, path string) {
		if viewer == nil {
			viewer = st.browseAs("viewer@example.com", account.RoleViewer)
			st.issue(account.CallerOf(st.person("full@example.com", account.RoleViewer)))
		}
		if p.Method != "GET" || streams(p) {
			return
		}
		got := viewer.get(path)
		for n := range got.doc.Descendants() {
			for _, to := range leadsTo(n) {
				if row := rowOf(to.method, to.path); row != nil {
					seen++
					expect.That(t, !row.Edits && !row.Admins, "%s has <%s> to %s %s", path, n.Data, to.method, to.path)
				}
			}
		}
	})
	expect.That(t, seen > 100, "only %d links were looked at", seen)
}

type leading struct{ method, path string }

// leadsTo returns where an element leads.
func leadsTo(n *html.Node) []leading {
	if n.Type != html.ElementNode {
		return nil
	}
	switch {
	case n.Data == "a" && attribute(n, "href") != "":
		return []leading{{"GET", attribute(n, "href")}}
	case n.Data == "form" && attribute(n, "action") != "":
		return []leading{{strings.ToUpper(attribute(n, "method")), attribute(n, "action")}}
	case attribute(n, "formaction") != "":
		return []leading{{"POST", attribute(n, "formaction")}}
	}
	return nil
}

// rowOf returns the page of an address; nil: it is of none.
func rowOf(method, address string) *dashboard.Page {
	path, _, _ := strings.Cut(address, "?")
	for _, p := range dashboard.Pages() {
		form := "^" + regexp.MustCompile(`\\\{[a-z]+\\\}`).ReplaceAllString(regexp.QuoteMeta(p.Path), "[^/]+") + "$"
		if p.Method == method && (p.Path == path || strings.Contains(p.Path, "{") && regexp.MustCompile(form).MatchString(path)) {
			return &p
		}
	}
	return nil
}

func TestAViewerSeesTheLinksOfAllOnPages(t *testing.T) {
	st := newSite(t, nil)
	ann := st.browseAs("ann@example.com", account.RoleMember) // user 2
	ann.post("/_/links", formType, "url=https%3A%2F%2Fexample.com%2F&alias=x&tags=t&key=k")
	st.get("/x", browser).expect(t, "a hit", 302)
	b := st.browseAs("viewer@example.com", account.RoleViewer)
	b.open("/_/").want("The links of all users.")
	list := b.open("/_/links")
	expect.Equal(t, listedOn(list), "x", "the list")
	list.want("user 2")
	expect.That(t, !strings.Contains(list.body, "ann@"), "a viewer is told the address of a user")
	b.open("/_/link/x").want("Hits of all time 1", "user 2")
	b.open("/_/welcome").want("You can see the links and figures of all users.")
	table := b.get("/_/links/export")
	expect.That(t, table.status == 200 && strings.Contains(table.body, "\nx,") && !strings.Contains(table.body, "ann@"), "the list as a file: got %d %s", table.status, table.body)
	b.open("/_/account").want("viewer@example.com, viewer")
	b.post("/_/account/password", formType, "current-password="+goodPassword+"&new-password=another+password").expect(t, "a password of one's own", 303)
}

func TestAViewerMakesTokensThatOnlyRead(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(`{"url":"https://a.example/","alias":"x"}`)
	b := st.browseAs("viewer@example.com", account.RoleViewer)
	page := b.open("/_/tokens")
	for scope, want := range map[string]bool{"links:read": true, "stats:read": true, "links:write": false, "tokens:write": false, "admin": false} {
		expect.Equal(t, page.element("scope-"+scope) != nil, want, "the form offers %s", scope)
	}
	for _, scope := range []string{"links:write", "tokens:write", "admin", "edge"} {
		r := st.as([]string{b.cookie, ownPage}, "POST", "/tokens", fmt.Sprintf(`{"name":"n","scopes":["links:read",%q]}`, scope))
		r.expect(t, scope, problemOf("invalid"))
	}
	r := st.as([]string{b.cookie, ownPage}, "POST", "/tokens", `{"name":"n"}`)
	r.expect(t, "a token", 201)
	var made client.IssuedToken
	expect.OK(t, made.UnmarshalJSON([]byte(r.body)))
	expect.Equal(t, fmt.Sprint(made.Scopes), "[links:read stats:read]", "its scopes")
	token := st.secret(made.Secret)
	st.callAs(token, "GET", "/links/x?owner=all", "").expect(t, "a read", 200)
	st.callAs(token, "GET", "/stats/x?owner=all&interval=day&include=referrers", "").expect(t, "figures", 200)
	st.callAs(token, "GET", "/export?owner=all&include=password_hash", "").expect(t, "hashes of passwords", problemOf("forbidden"))
	for _, call := range [][3]string{
		{"PATCH", "/links/x?owner=all", `{"title":"t"}`}, {"DELETE", "/links/x?owner=all", ""}, {"POST", "/shorten", `{"url":"https://b.example/"}`},
		{"POST", "/tokens", `{"name":"n"}`}, {"GET", "/users", ""}, {"GET", "/audit", ""}, {"GET", "/misses", ""}, {"GET", "/tokens", ""},
	} {
		st.callAs(token, call[0], call[1], call[2]).expect(t, call[0]+call[1], problemOf("forbidden"))
	}
}

// TestADemotionToViewerIsInForceAtOnce demotes a member and an admin, who have a token and a session each.
func TestADemotionToViewerIsInForceAtOnce(t *testing.T) {
	st := newSite(t, nil)
	for _, role := range []account.Role{account.RoleMember, account.RoleAdmin} {
		email := string(role) + "@example.com"
		u := st.person(email, role)
		token := st.issue(account.CallerOf(u), account.CallerOf(u).Scopes...)
		page := []string{st.logIn(email), ownPage}
		write := st.issue(account.CallerOf(u), account.LinksWrite)
		st.callAs(token, "POST", "/shorten", `{"url":"https://a.example/","alias":"of-`+string(role)+`"}`).expect(t, "before", 201)
		st.call("PATCH", fmt.Sprintf("/users/%d", u.ID), `{"role":"viewer"}`).expect(t, "the demotion", 200)
		for name, lines := range map[string][]string{"the token": {"Authorization: Bearer " + token}, "the session": page} {
			st.as(lines, "POST", "/shorten", `{"url":"https://a.example/"}`).expect(t, name+" creates", problemOf("forbidden"))
			st.as(lines, "PATCH", "/links/of-"+string(role), `{"title":"t"}`).expect(t, name+" edits", problemOf("forbidden"))
			st.as(lines, "GET", "/users", "").expect(t, name+" lists users", problemOf("forbidden"))
			st.as(lines, "GET", "/links/of-"+string(role), "").expect(t, name+" reads its own link", 200)
			st.as(lines, "GET", "/links?owner=all", "").expect(t, name+" reads all", 200)
		}
		st.callAs(write, "GET", "/me", "").expect(t, "a token that could only write", problemOf("unauthorized"))
		st.call("PATCH", fmt.Sprintf("/users/%d", u.ID), `{"role":"member"}`).expect(t, "the way back", 200)
		st.callAs(token, "GET", "/links?owner=all", "").expect(t, "a member reads all", problemOf("forbidden"))
		st.callAs(token, "POST", "/shorten", `{"url":"https://a.example/"}`).expect(t, "the token got its scopes back", problemOf("forbidden"))
	}
	me := st.call("GET", "/me", "")
	r := st.call("PATCH", "/users/1", `{"role":"viewer"}`)
	r.expect(t, "the last admin", problemOf("invalid"))
	expect.Contains(t, r.body, "last_admin")
	expect.Equal(t, st.call("GET", "/me", "").body, me.body, "the last admin")
}

func TestAViewerOfDomainsSeesOnlyThese(t *testing.T) {
	st := newDomainFigures(t)
	st.follow("ann a.test ann1", 1)
	st.follow("ben b.test ben1", 2)
	u := st.person("viewer@example.com", account.RoleViewer)
	st.limitTo(u.ID, "a.test", "127.0.0.1")
	u, err := st.accounts.UserByName("viewer@example.com")
	expect.OK(t, err)
	token := st.issue(account.CallerOf(u))
	list := func(query string) string {
		r := st.callAs(token, "GET", query, "")
		r.expect(t, query, 200)
		return strings.Join(codesIn(t, r), " ")
	}
	const both = "/ann1 /ann2 /ben1 /ben2 /x a.test/ann1 a.test/ann2 a.test/ben1 a.test/ben2 a.test/x"
	expect.Equal(t, list("/links?owner=all"), both, "all")
	expect.Equal(t, list("/export?owner=all"), both, "an export")
	expect.Equal(t, list("/links?owner=all&q=ann1"), "/ann1 a.test/ann1", "a search")
	expect.Equal(t, list("/links?owner=all&sort=hits&limit=1"), "a.test/ann1", "the most-hit one")
	expect.Equal(t, list("/links?owner=all&domain=a.test"), "a.test/ann1 a.test/ann2 a.test/ben1 a.test/ben2 a.test/x", "one domain")
	expect.Equal(t, list(fmt.Sprintf("/links?owner=%d", st.ids["ben"])), "/ben1 /ben2 a.test/ben1 a.test/ben2", "a user")
	expect.Contains(t, st.callAs(token, "GET", "/stats?owner=all", "").body, `"hits":1,`)
	for _, path := range []string{"/links?owner=all&domain=b.test", "/links/ben1?owner=all&domain=b.test", "/stats?owner=all&domain=b.test", "/stats/ben1?owner=all&domain=b.test"} {
		st.callAs(token, "GET", path, "").expect(t, path, problemOf("forbidden"))
	}
	st.call("PATCH", fmt.Sprintf("/users/%d", u.ID), `{"domains":["b.test"]}`).need(t, "another limit", http.StatusOK)
	expect.Equal(t, list("/links?owner=all"), "b.test/ann1 b.test/ann2 b.test/ben1 b.test/ben2 b.test/x", "after the limit was changed")
}
