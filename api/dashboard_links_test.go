package api

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"shunt/api/account"
	"shunt/api/domain"
	"shunt/engine/expect"
	"shunt/engine/zone"
)

var memberScopes = []account.Scope{account.LinksRead, account.LinksWrite, account.StatsRead}

// listedOn returns the codes of a list that a page shows.
func listedOn(p *shown) string {
	var codes []string
	for n := range p.doc.Descendants() {
		if _, code, ok := strings.Cut(attribute(n, "id"), "short-"); ok && n.Data == "span" {
			codes = append(codes, code)
		}
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
		key := fmt.Sprintf("Idempotency-Key: from-%d", first)
		known(st.t, func() reply {
			return st.callAs(token, "POST", "/shorten/bulk", "["+strings.Join(items, ",")+"]", key)
		}).need(st.t, "", 200)
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
				want, r := st.list(token, query+"&limit=25&cursor="+cursor)
				expect.MustEqual(t, listedOn(page), want.codes(), "page %d (%s)", n, r.body)
				pages = append(pages, path)
				path = page.link("Older")
				expect.MustEqual(t, path == "", want.NextCursor == nil, "page %d: the next is %q, want %v", n, path, want.NextCursor)
				if path != "" {
					cursor = *want.NextCursor
				}
			}
			for n := len(pages) - 1; n > 0; n-- {
				newer := b.open(pages[n]).link("Newer")
				expect.Equal(t, listedOn(b.open(newer)), listedOn(b.open(pages[n-1])), "back from page %d", n+1)
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
		got := listedOn(page)
		expect.That(t, got == want && page.form("/_/links").values.Get("key") != "", "%s: got %q, want %q", state, got, want)
		if want == "" {
			continue
		}
		badges := page.all("span", "badge")
		expect.That(t, len(badges) == 1 && textOf(badges[0]) == state, "%s: got %d badges", state, len(badges))
	}
	b.get("/_/links?state=dead").expect(t, "an unknown state", 422)
}

func TestAListIsSortedAndFilteredAndSaysBy(t *testing.T) {
	st := newSite(t, nil)
	ann := st.person("ann@example.com", account.RoleMember)
	token := st.issue(account.CallerOf(ann), memberScopes...)
	for _, alias := range []string{"first", "second", "third"} {
		st.callAs(token, "POST", "/shorten", `{"url":"https://`+alias+`.example/","alias":"`+alias+`","tags":["all"]}`).need(t, "", 201)
		st.now.Add(25 * time.Hour.Milliseconds())
	}
	for _, hit := range []string{"second", "second", "third"} {
		st.get("/"+hit, "User-Agent: Mozilla/5.0 Firefox/140")
	}
	b := st.browse("ann@example.com")
	for query, want := range map[string]string{
		"": "third second first", "sort=oldest": "first second third", "sort=hits": "second third first", "sort=least": "first third second",
		"sort=changed": "third second first", "sort=visitors": "third second first", "sort=last-hit": "third second first", "sort=unknown": "third second first",
		"never_hit=true": "first", "created_from=2026-01-03": "third second", "created_to=2026-01-02": "first", "q=second+third&sort=match": "", "q=all&sort=match": "third second first",
	} {
		expect.Equal(t, listedOn(b.open("/_/links?"+query)), want, "%q", query)
	}
	page := b.open("/_/links?tag=all&created_from=2026-01-03&sort=hits")
	page.want("2 links", "tag: all", "created from 2026-01-03")
	without := b.open(page.link("Without tag: all"))
	expect.Equal(t, listedOn(without), "second third", "without the tag")
	expect.Equal(t, listedOn(b.open(without.link("Without created from 2026-01-03"))), "second third first", "without a filter")
	expect.Equal(t, page.link("Hits ▼"), "/_/links?created_from=2026-01-03&sort=least&tag=all")
	b.get("/_/links?created_from=soon").expect(t, "a date that is none", 422)
	b.open("/_/links?sort=visitors").want("Visitors, and this order, as of")
}

func TestALinkIsFoundByItsPastedShortAddress(t *testing.T) {
	st := newSite(t, nil)
	st.person("ann@example.com", account.RoleMember)
	b := st.browse("ann@example.com")
	for _, alias := range []string{"one", "two"} {
		b.follow(b.open("/_/links").form("/_/links").with("url", "https://a.example/", "alias", alias))
	}
	for _, q := range []string{"http://127.0.0.1:8080/two", "127.0.0.1:8080/two", " TWO "} {
		expect.Equal(t, listedOn(b.open("/_/links?q="+url.QueryEscape(q))), "two", "%q", q)
	}
}

func TestAnEmptyListSaysHowToGoOn(t *testing.T) {
	st := newSite(t, nil)
	st.person("ann@example.com", account.RoleMember)
	b := st.browse("ann@example.com")
	b.open("/_/links").want("There is no link yet.", "import many")
	b.follow(b.open("/_/links").form("/_/links").with("url", "https://a.example/"))
	page := b.open("/_/links?q=zzz&tag=x")
	page.want("Nothing was found.")
	expect.Equal(t, page.link("Show all links"), "/_/links")
}

func TestTheOldestOfManyLinksIsFound(t *testing.T) {
	st := newSite(t, nil)
	ann := st.person("ann@example.com", account.RoleMember)
	token := st.issue(account.CallerOf(ann), memberScopes...)
	st.callAs(token, "POST", "/shorten", `{"url":"https://rare.example/","alias":"rare"}`).need(t, "", 201)
	st.linksOf(token, 10_010)
	b := st.browse("ann@example.com")
	for _, q := range []string{"rare", "RARE.example", "https://rare.example/", strings.TrimPrefix(st.baseURL, "http://") + "/rare"} {
		expect.Equal(t, listedOn(b.open("/_/links?q="+url.QueryEscape(q))), "rare", "%q", q)
	}
}

func TestAWrongSearchIsAnErrorOfThePage(t *testing.T) {
	st := newSite(t, nil)
	st.person("ann@example.com", account.RoleMember)
	b := st.browse("ann@example.com")
	for query, want := range map[string]string{
		"q=" + strings.Repeat("x+", 17): "The search: must be at most 16 words.",
		"tag=%ff":                       "The tag: has damaged characters.",
		"cursor=AAAA":                   "The address of this page: is not of this list",
	} {
		page := b.get("/_/links?" + query)
		page.want(want)
		expect.That(t, page.status == 422 && page.element("results") != nil, "%.20s: got %d %s", query, page.status, page.body)
	}
}

func TestAdminsSeeTheLinksOfOthersOnRequest(t *testing.T) {
	st := newSite(t, nil)
	ann := st.person("ann@example.com", account.RoleMember)
	st.person("boss@example.com", account.RoleAdmin)
	member, boss := st.browse("ann@example.com"), st.browse("boss@example.com")
	member.follow(member.open("/_/links").form("/_/links").with("url", "https://a.example/", "alias", "anns", "tags", "x"))
	boss.follow(boss.open("/_/links").form("/_/links").with("url", "https://b.example/", "alias", "own"))
	expect.Equal(t, listedOn(boss.open("/_/links")), "own", "an admin's own")
	for owner, want := range map[string]string{"all": "own anns", fmt.Sprint(ann.ID): "anns"} {
		page := boss.open("/_/links?owner=" + owner)
		expect.Equal(t, listedOn(page), want, "owner=%s", owner)
		expect.Equal(t, page.link("a.example"), "/_/link/anns?owner="+owner, "owner=%s: the page of the link", owner)
		expect.Equal(t, page.link("x"), "/_/links?owner="+owner+"&tag=x", "owner=%s: the tag leads to", owner)
	}
	boss.open("/_/links?owner=all").want("ann@example.com")
	expect.That(t, member.open("/_/links").element("owner") == nil, "a member has the field owner")
	page := member.get("/_/links?owner=all")
	expect.That(t, page.status == 403 && (!strings.Contains(page.body, "own") || page.element("short-own") == nil), "a member asks for all links: got %d", page.status)
}

// TestAnOwnerAndADomainAreFilters: a list of one owner, or of one domain, has a chip that leads to the list without it,
// and says how many links it has.
func TestAnOwnerAndADomainAreFilters(t *testing.T) {
	st := newSite(t, nil)
	st.addDomain(domain.Domain{Host: "b.test"})
	ann, ben := st.person("ann@example.com", account.RoleMember), st.person("ben@example.com", account.RoleMember)
	token := st.issue(account.CallerOf(ann), memberScopes...)
	for _, fields := range []string{`"alias":"a"`, `"alias":"b"`, `"alias":"c","domain":"b.test"`} {
		st.callAs(token, "POST", "/shorten", `{"url":"https://a.example/",`+fields+`}`).need(t, fields, 201)
	}
	b := st.browseAs("boss@example.com", account.RoleAdmin)
	of := fmt.Sprintf("/_/links?owner=%d", ann.ID)
	for path, c := range map[string]struct{ total, chip, without string }{
		of:                                     {"3 links", "Without owner: ann@example.com", "/_/links"},
		"/_/links?owner=ann":                   {"3 links", "Without owner: ann@example.com", "/_/links"},
		of + "&domain=b.test":                  {"1 link", "Without domain: b.test", of},
		"/_/links?owner=all":                   {"", "Without owner: all users", "/_/links"},
		"/_/links?owner=all&domain=b.test":     {"1 link", "Without domain: b.test", "/_/links?owner=all"},
		"/_/links?owner=all&q=a&domain=":       {"3 links", "Without owner: all users", "/_/links?q=a"},
		of + "&sort=hits&domain=b.test&q=none": {"", "Without owner: ann@example.com", "/_/links?domain=b.test&q=none&sort=hits"},
	} {
		page := b.open(path)
		expect.Equal(t, page.link(c.chip), c.without, "%s: the list without it", path)
		if c.total != "" {
			page.want(c.total, "Apply to all ("+c.total[:1]+")")
		}
	}
	b.open("/_/links?owner=all").want("Apply to all links")
	page := b.open(fmt.Sprintf("/_/links?owner=%d", ben.ID))
	page.want("Nothing was found.")
	expect.Equal(t, page.link("Show all links"), "/_/links")
	viewer := st.browseAs("eye@example.com", account.RoleViewer).open("/_/links")
	expect.That(t, !strings.Contains(viewer.text(), "owner: "), "a viewer, who sees all, has a filter that cannot be taken away")
}

// TestDaysOfCreationAreTheViewers: at 11:04 UTC the next day has begun in Apia; a viewer elsewhere has days of his own.
func TestDaysOfCreationAreTheViewers(t *testing.T) {
	st := newSite(t, nil)
	st.passTime(8 * 3600_000)
	ann := st.person("ann@example.com", account.RoleAdmin)
	token := st.issue(account.CallerOf(ann), account.AllScopes...)
	st.callAs(token, "POST", "/shorten", `{"url":"https://a.example/","alias":"a"}`).need(t, "", 201)
	b := st.browse("ann@example.com")
	created := func() (days []string) {
		for _, path := range []string{"/_/links", "/_/tokens", "/_/users"} {
			page := b.get(path)
			found := regexp.MustCompile(`<time datetime="(\d{4}-\d\d-\d\d)">`).FindAllStringSubmatch(page.body, -1)
			days = append(days, path+" "+found[len(found)-1][1]) // the first user is older
		}
		return days
	}
	expect.Slices(t, created(), []string{"/_/links 2026-01-02", "/_/tokens 2026-01-02", "/_/users 2026-01-02"}, "in the store's days of UTC")
	apia, err := zone.Load("Pacific/Apia")
	expect.OK(t, err)
	expect.OK(t, st.store.FixZone(apia))
	expect.Slices(t, created(), []string{"/_/links 2026-01-03", "/_/tokens 2026-01-03", "/_/users 2026-01-03"}, "in the store's days of Apia")
	b.remembered = map[string]string{"shunt_zone": "Europe/Berlin"}
	expect.Slices(t, created(), []string{"/_/links 2026-01-02", "/_/tokens 2026-01-02", "/_/users 2026-01-02"}, "in the days of a viewer in Berlin")
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
			expect.That(t, foreign.status == 404 && got == missing.text(),
				"%s as %s: got %d %s, want %s", path, email, foreign.status, foreign.text(), missing.text())
		}
		for path, body := range map[string]string{"/edit": "url=http://b/&version=1&before=", "/delete": "version=1", "/disabled": "disabled=true"} {
			b.post("/_/link/foreign"+path, formType, body).expect(t, fmt.Sprintf("POST %s as %s", path, email), 404)
		}
	}
	page := st.browse("ann@example.com").open("/_/links?made=foreign")
	expect.That(t, !strings.Contains(page.text(), "foreign"), "the page that shows what was made shows a foreign link: %s", page.text())
	st.call("GET", "/links/foreign", "").expect(t, "the link was changed", `"url":"http://a/"`, `"state":"active"`)
}

// cellsOf returns the words of the cells of a link's row.
func cellsOf(p *shown, code string) (cells []string) {
	short := p.element("short-" + code)
	if short == nil {
		return nil
	}
	for n := range short.Parent.Parent.ChildNodes() {
		if n.Data == "td" && attribute(n, "class") != "pick" {
			cells = append(cells, wordsOf(n))
		}
	}
	return cells
}

func TestARowSaysWhatALinkIsAndHowItDoes(t *testing.T) {
	st := newSite(t, nil)
	ann := st.person("ann@example.com", account.RoleMember)
	token := st.issue(account.CallerOf(ann), memberScopes...)
	st.callAs(token, "POST", "/shorten", `{"url":"https://www.example.org/p?q","alias":"named","title":"A <title>","tags":["t1","t2","t3","t4"]}`).need(t, "", 201)
	st.callAs(token, "POST", "/shorten", `{"url":"https://news.example.com/p","alias":"nameless"}`).need(t, "", 201)
	b := st.browse("ann@example.com")
	hit := func(n int) {
		for range n {
			st.get("/named", "User-Agent: Mozilla/5.0 Firefox/140")
		}
	}
	hit(3)
	page := b.open("/_/links")
	got := cellsOf(page, "named")
	expect.MustEqual(t, len(got), 8, "cells: %q", got)
	expect.Equal(t, got[0], "E A <title> http:// 127.0.0.1:8080/named")
	expect.Equal(t, got[1], "www.example.org /p?q t1 t2 t3 +1")
	expect.Equal(t, strings.Join(got[2:6], "|"), "3|3|– not counted yet|active")
	expect.Equal(t, cellsOf(page, "nameless")[0], "N news.example.com http:// 127.0.0.1:8080/nameless", "without a title")
	expect.That(t, len(page.all("svg", "spark")) == 1, "want a line for the one link that was hit: %s", page.body)
	expect.Equal(t, page.link("A <title>"), "/_/link/named")

	st.now.Add(36 * 24 * time.Hour.Milliseconds())
	b = st.browse("ann@example.com") // the session has ended
	hit(2)
	page = b.open("/_/links")
	expect.Equal(t, strings.Join(cellsOf(page, "named")[2:4], "|"), "2|5", "after 36 days")
	page.want("Visitors as of 2026-0")
	b.open("/_/links?sort=visitors").want("Visitors, and this order, as of 2026-0")
}

func TestTheMenuOfARowHasWhatIsDoneWithALink(t *testing.T) {
	st, b := withAnn(t, nil)
	b.follow(b.open("/_/links").form("/_/links").with("url", "https://a.example/", "alias", "one", "tags", "x"))
	page := b.open("/_/links?tag=x")
	menu := page.all("details", "of-row")
	expect.MustEqual(t, len(menu), 1, "menus")
	expect.Equal(t, wordsOf(menu[0]), "More QR code Edit Duplicate Disable Delete")
	for name, want := range map[string]string{
		"QR code": "/_/link/one/qr", "Edit": "/_/link/one/edit", "Duplicate": "/_/links/new?like=one", "Delete": "/_/link/one/delete",
	} {
		expect.Equal(t, page.link(name), want, name)
		expect.That(t, b.get(want).status == 200, "%s leads nowhere", name)
	}
	var switches []string
	for n := range menu[0].Descendants() {
		if n.Data == "button" {
			switches = append(switches, attribute(n, "form"), attribute(n, "formaction"), attribute(n, "name"), attribute(n, "value"))
		}
	}
	expect.Slices(t, switches, []string{"switch", "/_/link/one/disabled", "disabled", "true"})
	list := attribute(page.element("switch").FirstChild, "value")
	expect.Equal(t, list, "/_/links?tag=x")
	page = b.follow(&htmlForm{"/_/link/one/disabled", map[string][]string{"disabled": {"true"}, "list": {list}}})
	expect.That(t, page.path == "/_/links?tag=x" && st.object("one").State == "disabled", "it leads to %s, the link is %s", page.path, st.object("one").State)
	expect.Equal(t, wordsOf(page.all("details", "of-row")[0]), "More QR code Edit Duplicate Enable Delete", "of a disabled link")
	page = b.follow(&htmlForm{"/_/link/one/disabled", map[string][]string{"disabled": {"false"}, "list": {"https://evil.example/"}}})
	expect.Equal(t, page.path, "/_/", "another address is not gone to")
}
