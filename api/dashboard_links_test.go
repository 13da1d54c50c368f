package api

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"shunt/api/account"
)

var memberScopes = []account.Scope{account.LinksRead, account.LinksWrite, account.StatsRead}

// listedOn returns the codes of a list that a page shows.
func listedOn(p *shown) string {
	var codes []string
	for _, cell := range p.all("td", "main") {
		_, code, _ := strings.Cut(attribute(cell.FirstChild, "id"), "short-")
		codes = append(codes, code)
	}
	return strings.Join(codes, " ")
}

// linksOf makes n links of the caller of a token, and returns their codes.
func (st *site) linksOf(token string, n int) {
	st.t.Helper()
	for first := 0; first < n; first += 1000 {
		var items []string
		for i := first; i < min(n, first+1000); i++ {
			items = append(items, fmt.Sprintf(`{"url":"https://h%d.example/p","alias":"l%d","title":"T%d","tags":["t%d"]}`, i%7, i, i, i%2))
		}
		if r := st.callAs(token, "POST", "/shorten/bulk", "["+strings.Join(items, ",")+"]"); r.status != 200 {
			st.t.Fatal(r)
		}
	}
}

func TestPagesOfLinksAreThoseOfTheAPI(t *testing.T) {
	st := newSite(t, nil)
	ann := st.person("ann@example.com", account.RoleMember)
	token := st.issue(account.CallerOf(ann), memberScopes...)
	st.linksOf(token, 230)
	b := st.browse("ann@example.com")
	for _, query := range []string{"", "q=T1", "tag=t1", "q=h3.example&tag=t0", "q=nothing"} {
		t.Run(query, func(t *testing.T) {
			path, cursor := "/_/links?"+query, ""
			var pages []string
			for n := 1; path != ""; n++ {
				page := b.open(path)
				want, r := st.list(token, query+"&limit=50&cursor="+cursor)
				if got := listedOn(page); got != want.codes() {
					t.Fatalf("page %d: got %q, want %q (%s)", n, got, want.codes(), r.body)
				}
				pages = append(pages, path)
				path = page.link("Older")
				if (path == "") != (want.NextCursor == nil) {
					t.Fatalf("page %d: the next is %q, want %v", n, path, want.NextCursor)
				}
				if path != "" {
					cursor = *want.NextCursor
				}
			}
			for n := len(pages) - 1; n > 0; n-- {
				newer := b.open(pages[n]).link("Newer")
				if got, want := listedOn(b.open(newer)), listedOn(b.open(pages[n-1])); got != want {
					t.Errorf("back from page %d: got %q, want %q", n+1, got, want)
				}
			}
		})
	}
}

func TestLinksAreFoundByTheirState(t *testing.T) {
	st, b := withAnn(t, nil)
	for alias, fields := range map[string][]string{"on": {}, "off": {"disabled", "on"}, "old": {"expires_at", "2026-01-02T03:05"}} {
		b.follow(b.open("/_/links").form("/_/links").with(append(fields, "url", "https://a.example/", "alias", alias)...))
	}
	st.now.Add(time.Hour.Milliseconds())
	for state, want := range map[string]string{"active": "on", "disabled": "off", "expired": "old", "exhausted": ""} {
		page := b.open("/_/links?q=&tag=&state=" + state)
		if got := listedOn(page); got != want || page.form("/_/links").values.Get("key") == "" {
			t.Errorf("%s: got %q, want %q", state, got, want)
		}
		if want == "" {
			continue
		}
		if badges := page.all("span", "badge"); len(badges) != 1 || textOf(badges[0]) != state {
			t.Errorf("%s: got %d badges", state, len(badges))
		}
	}
	b.get("/_/links?state=dead").expect(t, "an unknown state", 422)
}

func TestALinkIsFoundByItsPastedShortAddress(t *testing.T) {
	st := newSite(t, nil)
	st.person("ann@example.com", account.RoleMember)
	b := st.browse("ann@example.com")
	for _, alias := range []string{"one", "two"} {
		b.follow(b.open("/_/links").form("/_/links").with("url", "https://a.example/", "alias", alias))
	}
	for _, q := range []string{"http://127.0.0.1:8080/two", "127.0.0.1:8080/two", " TWO "} {
		if got := listedOn(b.open("/_/links?q=" + url.QueryEscape(q))); got != "two" {
			t.Errorf("%q: got %q", q, got)
		}
	}
}

func TestAnEmptyListSaysHowToGoOn(t *testing.T) {
	st := newSite(t, nil)
	st.person("ann@example.com", account.RoleMember)
	b := st.browse("ann@example.com")
	b.open("/_/links").want("There is no link yet.", "create several at once")
	b.follow(b.open("/_/links").form("/_/links").with("url", "https://a.example/"))
	page := b.open("/_/links?q=zzz&tag=x")
	page.want("Nothing was found.")
	if got := page.link("Show all links"); got != "/_/links" {
		t.Errorf("got %q", got)
	}
}

// A page costs 10,000 entries at most, and says so if nothing was found among them.
func TestASearchThatGoesOnSaysSo(t *testing.T) {
	st := newSite(t, nil)
	ann := st.person("ann@example.com", account.RoleMember)
	token := st.issue(account.CallerOf(ann), memberScopes...)
	if r := st.callAs(token, "POST", "/shorten", `{"url":"https://rare.example/","alias":"rare"}`); r.status != 201 {
		t.Fatal(r)
	}
	st.linksOf(token, 10_010)
	b := st.browse("ann@example.com")
	page := b.open("/_/links?q=rare")
	page.want("Nothing found so far.")
	if got := listedOn(b.open(page.link("Search on"))); got != "rare" {
		t.Errorf("the next page: got %q", got)
	}
}

func TestAWrongSearchIsAnErrorOfThePage(t *testing.T) {
	st := newSite(t, nil)
	st.person("ann@example.com", account.RoleMember)
	b := st.browse("ann@example.com")
	for query, want := range map[string]string{
		"q=" + strings.Repeat("x", 300): "The search: must be at most 256 bytes.",
		"tag=%ff":                       "The tag: must be UTF-8.",
		"cursor=AAAA":                   "The address of this page: is not a cursor of this list",
	} {
		page := b.get("/_/links?" + query)
		page.want(want)
		if page.status != 422 || page.element("results") == nil {
			t.Errorf("%.20s: got %d %s", query, page.status, page.body)
		}
	}
}

func TestAdminsSeeTheLinksOfOthersOnRequest(t *testing.T) {
	st := newSite(t, nil)
	ann := st.person("ann@example.com", account.RoleMember)
	st.person("boss@example.com", account.RoleAdmin)
	member, boss := st.browse("ann@example.com"), st.browse("boss@example.com")
	member.follow(member.open("/_/links").form("/_/links").with("url", "https://a.example/", "alias", "anns", "tags", "x"))
	boss.follow(boss.open("/_/links").form("/_/links").with("url", "https://b.example/", "alias", "own"))
	if got := listedOn(boss.open("/_/links")); got != "own" {
		t.Errorf("an admin's own: got %q", got)
	}
	for owner, want := range map[string]string{"all": "own anns", fmt.Sprint(ann.ID): "anns"} {
		page := boss.open("/_/links?owner=" + owner)
		if got := listedOn(page); got != want {
			t.Errorf("owner=%s: got %q, want %q", owner, got, want)
		}
		if path := page.link("http://127.0.0.1:8080/anns"); path != "/_/link/anns?owner="+owner {
			t.Errorf("owner=%s: the page of the link is %q", owner, path)
		}
		if path := page.link("x"); path != "/_/links?owner="+owner+"&tag=x" {
			t.Errorf("owner=%s: the tag leads to %q", owner, path)
		}
	}
	boss.open("/_/links?owner=all").want("ann@example.com")
	if page := member.open("/_/links"); page.element("owner") != nil {
		t.Error("a member has the field owner")
	}
	if page := member.get("/_/links?owner=all"); page.status != 403 || strings.Contains(page.body, "own") && page.element("short-own") != nil {
		t.Errorf("a member asks for all links: got %d", page.status)
	}
}

func TestForeignLinksAreMissingOnPages(t *testing.T) {
	st := newSite(t, nil)
	st.person("ann@example.com", account.RoleMember)
	st.person("boss@example.com", account.RoleAdmin)
	st.shorten(`{"url":"http://a/","alias":"foreign"}`)
	for _, email := range []string{"ann@example.com", "boss@example.com"} {
		b := st.browse(email)
		for _, path := range []string{"/edit", "/delete"} {
			foreign, missing := b.get("/_/link/foreign"+path), b.get("/_/link/missing"+path)
			got, offer := foreign.text(), "Look among the links of all users "
			if email == "boss@example.com" { // an admin learns where to look
				foreign.want(offer)
				got = strings.ReplaceAll(got, offer, "")
			}
			if foreign.status != 404 || got != missing.text() {
				t.Errorf("%s as %s: got %d %s, want %s", path, email, foreign.status, foreign.text(), missing.text())
			}
		}
		for path, body := range map[string]string{"/edit": "url=http://b/&version=1&before=", "/delete": "version=1", "/disabled": "disabled=true"} {
			b.post("/_/link/foreign"+path, formType, body).expect(t, fmt.Sprintf("POST %s as %s", path, email), 404)
		}
	}
	if page := st.browse("ann@example.com").open("/_/links?made=foreign"); strings.Contains(page.text(), "foreign") {
		t.Errorf("the page that shows what was made shows a foreign link: %s", page.text())
	}
	st.call("GET", "/links/foreign", "").expect(t, "the link was changed", `"url":"http://a/"`, `"state":"active"`)
}
