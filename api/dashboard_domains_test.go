package api

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"shunt/api/account"
	"shunt/api/domain"
	"shunt/api/domains"
	"shunt/engine/expect"
)

// twins returns a site with a link twin of ann, an admin, in the default domain and in b.test, and her browser. The
// default one has 1 hit, the other 2.
func twins(t *testing.T) (*site, *plainBrowser, string) {
	t.Helper()
	st := newSite(t, nil)
	ann := st.person("ann@example.com", account.RoleAdmin)
	token := st.issue(account.CallerOf(ann), append(slices.Clone(memberScopes), account.Admin)...)
	st.addDomain(domain.Domain{Host: "b.test", Aliases: []string{"www.b.test"}})
	st.callAs(token, "POST", "/shorten", `{"url":"https://default.example/","alias":"twin","tags":["t"]}`).need(t, "", 201)
	st.callAs(token, "POST", "/shorten", `{"url":"https://b.example/","alias":"twin","tags":["t"],"domain":"b.test"}`).need(t, "", 201)
	dial := doors[0].open(t, st)
	for _, host := range []string{"other.test", "b.test", "b.test"} {
		expect.Equal(t, askAs(t, dial, host, "/twin").status, 302, "%s", host)
	}
	return st, st.browse("ann@example.com"), token
}

// twinsNow returns the state and the hits of both links, that of the default domain first; gone: there is none.
func (st *site) twinsNow(token string) string {
	st.t.Helper()
	var all []string
	for _, query := range []string{"", "?domain=b.test"} {
		if st.callAs(token, "GET", "/links/twin"+query, "").status == 404 {
			all = append(all, "gone")
			continue
		}
		l := st.callAs(token, "GET", "/links/twin"+query, "").body
		_, state, _ := strings.Cut(l, `"state":"`)
		state, _, _ = strings.Cut(state, `"`)
		_, hits, _ := strings.Cut(l, `"hits":`)
		hits, _, _ = strings.Cut(hits, ",")
		all = append(all, state+" "+hits)
	}
	return strings.Join(all, ", ")
}

// pageOf opens the page of the link twin of a domain by the list.
func pageOf(b *plainBrowser, target string) *shown {
	b.st.t.Helper()
	return b.open(b.open("/_/links").link(target))
}

func TestPagesOfALinkLeadToTheOneThatIsShown(t *testing.T) {
	const ofDefault, ofB = "default.example", "b.example"
	edit := func(b *plainBrowser, page *shown) {
		b.fill(b.open(page.link("Edit")), "/_/link/twin/edit", "url", "https://new.example/").want("The link is saved.")
	}
	disable := func(b *plainBrowser, page *shown) {
		b.follow(page.form(page.action("/disabled"))).want("disabled")
	}
	for name, c := range map[string]struct {
		target string
		do     func(b *plainBrowser, page *shown)
		want   string
	}{
		"reset b":       {ofB, confirming("Reset figures", "/reset"), "active 1, active 0"},
		"reset default": {ofDefault, confirming("Reset figures", "/reset"), "active 0, active 2"},
		"delete b":      {ofB, confirming("Delete", "/delete"), "active 1, gone"},
		"disable b":     {ofB, disable, "active 1, disabled 2"},
		"edit b":        {ofB, edit, "active 1, active 2"},
		"edit default":  {ofDefault, edit, "active 1, active 2"},
	} {
		t.Run(name, func(t *testing.T) {
			st, b, token := twins(t)
			page := pageOf(b, c.target)
			page.want(c.target)
			c.do(b, page)
			expect.Equal(t, st.twinsNow(token), c.want)
			for query, target := range map[string]string{"": ofDefault, "?domain=b.test": ofB} {
				want := target
				if target == c.target && strings.HasPrefix(name, "edit") {
					want = "new.example"
				}
				if r := st.callAs(token, "GET", "/links/twin"+query, ""); r.status == 200 {
					expect.Contains(t, r.body, "https://"+want+"/")
				}
			}
		})
	}
}

// TestALinkOfADomainIsGivenAway gives the link of b.test to another user.
func TestALinkOfADomainIsGivenAway(t *testing.T) {
	st, b, token := twins(t)
	st.person("ben@example.com", account.RoleMember)
	asks := b.open(pageOf(b, "b.example").link("Change owner"))
	b.follow(asks.form("/_/link/twin/owner").with("to", "ben@example.com")).want("The link now belongs to ben@example.com.", "b.example")
	expect.Equal(t, st.twinsNow(token), "active 1, gone", "the links of ann")
}

// TestTheMenuOfARowIsOfItsLink looks at each address in the rows of both links.
func TestTheMenuOfARowIsOfItsLink(t *testing.T) {
	_, b, _ := twins(t)
	list := b.open("/_/links?owner=all")
	for value, want := range map[string]string{"twin": "", "twin,b.test": "b.test"} {
		var addresses []string
		for n := range list.element("short-" + value).Parent.Parent.Descendants() {
			address := attribute(n, "href") + attribute(n, "formaction")
			if !strings.HasPrefix(address, "/_/link") || strings.Contains(address, "tag=") {
				continue
			}
			addresses = append(addresses, address)
			expect.Equal(t, parsedQuery(address).Get("domain"), want, "%s", address)
			expect.Equal(t, parsedQuery(address).Get("owner"), "all", "%s", address)
		}
		const least = 6 // the link, its QR code, edit, duplicate, disable, delete
		expect.Equal(t, len(addresses), least, "addresses of %s: %v", value, addresses)
	}
}

// confirming returns what follows a link to a page that asks first, and confirms.
func confirming(link, end string) func(b *plainBrowser, page *shown) {
	return func(b *plainBrowser, page *shown) {
		asks := b.open(page.link(link))
		b.follow(asks.form("/_/link/twin" + end))
	}
}

// action returns where the first form is sent whose path ends so.
func (p *shown) action(end string) string {
	for n := range p.doc.Descendants() {
		path, _, _ := strings.Cut(attribute(n, "action"), "?")
		if n.Type == html.ElementNode && n.Data == "form" && strings.HasSuffix(path, end) {
			return attribute(n, "action")
		}
	}
	p.t.Fatalf("%s: no form is sent to a path with %s at its end", p.path, end)
	return ""
}

// TestFiguresOfALinkAreThoseOfItsDomain follows each address of figures on the page of a link.
func TestFiguresOfALinkAreThoseOfItsDomain(t *testing.T) {
	st, b, token := twins(t)
	for target, hits := range map[string]string{"default.example": "1", "b.example": "2"} {
		page := pageOf(b, target)
		page.want("Hits of all time " + hits)
		_, live, _ := strings.Cut(page.body, `data-live="/api/v1`)
		live, _, _ = strings.Cut(live, `"`)
		st.callAs(token, "GET", strings.Replace(html.UnescapeString(live), "/live", "", 1), "").expect(t, "the stream "+live, 200, `{"hits":`+hits+`,`)
		csv := b.get(page.link("CSV"))
		expect.That(t, csv.status == 200 && strings.Contains(csv.body, ","+hits+","), "%s: the file: %d %s", target, csv.status, csv.body)
		by := b.open(page.link("Direct"))
		by.want(hits+" of "+hits, "The link twin")
		b.open(by.link("twin")).want(target)
		b.open(page.link("Links")).want("b.example", "default.example")
		picture := b.get(page.link("QR as SVG"))
		expect.That(t, picture.status == 200 && strings.Contains(picture.body, "<svg"), "%s: the QR code at %s", target, page.link("QR as SVG"))
		b.open(page.link("Duplicate"))
	}
	page := pageOf(b, "b.example")
	expect.Equal(t, page.link("Preview"), "http://b.test:8080/twin+")
	expect.Equal(t, page.link("QR as PNG"), "/_/link/twin/qr.png?domain=b.test")
	png := b.get(page.link("QR as PNG"))
	expect.That(t, png.status == 200 && strings.HasPrefix(png.body, "\x89PNG"), "the PNG: got %d", png.status)
	expect.Equal(t, pageOf(b, "default.example").link("QR as PNG"), "/_/link/twin/qr.png")
}

// TestTheMostHitLinksOfAllDomainsLeadToEach looks at the lists of links in figures.
func TestTheMostHitLinksOfAllDomainsLeadToEach(t *testing.T) {
	_, b, _ := twins(t)
	for _, path := range []string{"/_/", "/_/?owner=all", "/_/tags/figures?tag=t", "/_/by?referrer=direct", "/_/by?referrer=direct&tag=t"} {
		page := b.open(path)
		b.open(page.link("twin")).want("default.example")
		b.open(page.link("b.test/twin")).want("b.example", "Hits of all time 2")
	}
	by := b.open("/_/by?referrer=direct")
	for target, want := range map[string]string{"default": "1 of 1", "b.test": "2 of 2"} {
		found := false
		for n := range by.doc.Descendants() {
			if strings.Contains(attribute(n, "aria-label"), "of twin over time") && strings.Contains(attribute(n, "href"), "domain=b.test") == (target == "b.test") {
				b.open(attribute(n, "href")).want(want)
				found = true
			}
		}
		expect.That(t, found, "no figures of %s", target)
	}
}

// TestSeveralLinksOfOneCodeAreToldApart selects links of a list by their boxes.
func TestSeveralLinksOfOneCodeAreToldApart(t *testing.T) {
	st, b, token := twins(t)
	boxes := func(page *shown) (values []string) {
		for n := range page.doc.Descendants() {
			if n.Data == "input" && attribute(n, "name") == "code" {
				values = append(values, attribute(n, "value"))
			}
		}
		slices.Sort(values)
		return values
	}
	both := boxes(b.open("/_/links"))
	expect.Slices(t, both, []string{"twin", "twin,b.test"})
	chosen := func(do string, codes ...string) *shown {
		return b.post("/_/links/selected", formType, url.Values{"do": {do}, "code": codes}.Encode())
	}
	page := chosen("disable", "twin,b.test")
	page.want("1 link", "b.test/twin")
	b.submit(page.form("/_/links/selected/change")).want("1 link was changed")
	expect.Equal(t, st.twinsNow(token), "active 1, disabled 2")
	b.submit(chosen("disable", both...).form("/_/links/selected/change")).want("1 link was changed. 1 link was so already.")
	expect.Equal(t, st.twinsNow(token), "disabled 1, disabled 2")
	file := chosen("export", "twin,b.test")
	expect.That(t, strings.Contains(file.body, "http://b.test:8080/twin") && !strings.Contains(file.body, "default.example"), "the file: %s", file.body)
	b.follow(&htmlForm{"/_/links/selected", url.Values{"do": {"compare"}, "code": both}}).want("Only links of one domain can be compared.")
	b.submit(chosen("delete", "twin").form("/_/links/selected/change")).want("1 link was deleted")
	expect.Equal(t, st.twinsNow(token), "gone, disabled 2")
	for _, value := range []string{"twin,nobody.test", "twin,", ",b.test", "tw in,b.test"} {
		b.follow(&htmlForm{"/_/links/selected", url.Values{"do": {"delete"}, "code": {value}}}).want("No link was selected.")
	}
	expect.Equal(t, st.twinsNow(token), "gone, disabled 2")
}

func TestLinksOfOneDomainAreCompared(t *testing.T) {
	st, b, token := twins(t)
	st.callAs(token, "POST", "/shorten", `{"url":"https://other.example/","alias":"other","domain":"b.test"}`).need(t, "", 201)
	page := b.follow(&htmlForm{"/_/links/selected", url.Values{"do": {"compare"}, "code": {"twin,b.test", "other,b.test"}}})
	b.open(page.link("twin")).want("b.example")
	again := b.open("/_/compare?" + page.form("/_/compare").with("codes", "http://b.test:8080/twin other").values.Encode())
	again.want("twin 2", "other 0")
	b.get("/_/compare?codes=twin,other").want("no link of yours has the code other")
}

// TestAnAdminIsLedToALinkOfTheDomainThatWasAsked has a link of somebody else in one domain only.
func TestAnAdminIsLedToALinkOfTheDomainThatWasAsked(t *testing.T) {
	st := newSite(t, nil)
	st.addDomain(domain.Domain{Host: "b.test"})
	st.call("POST", "/shorten", `{"url":"https://b.example/","alias":"theirs","domain":"b.test"}`).need(t, "", 201)
	b := st.browseAs("boss@example.com", account.RoleAdmin)
	const offer = "Look among the links of all users"
	b.get("/_/link/theirs").expect(t, "the default domain", 404, without(offer))
	page := b.get("/_/link/theirs?domain=b.test")
	expect.Equal(t, page.link(offer), "/_/link/theirs?domain=b.test&owner=all")
	b.open(page.link(offer)).want("b.example")
	for _, path := range []string{"/_/link/theirs?domain=nobody.test", "/_/link/theirs/edit?domain=nobody.test"} {
		b.get(path).expect(t, path, 422)
	}
}

// TestAFormOfALinkOutlivesSigningInAgain signs out while a link of another domain is edited.
func TestAFormOfALinkOutlivesSigningInAgain(t *testing.T) {
	st, b, token := twins(t)
	form := b.open("/_/link/twin/edit?domain=b.test").form("/_/link/twin/edit").with("title", "typed")
	b.cookie = ""
	asks := b.submit(form)
	asks.want("Sign in again")
	page := b.follow(asks.form("/_/sign-in").with("email", "ann@example.com", "password", goodPassword))
	expect.Equal(t, page.form("/_/link/twin/edit").values.Get("domain"), "b.test")
	b.follow(page.form("/_/link/twin/edit"))
	expect.Contains(t, st.callAs(token, "GET", "/links/twin?domain=b.test", "").body, `"title":"typed"`)
}

// TestTagsAreThoseOfADomain renames a tag of one domain.
func TestTagsAreThoseOfADomain(t *testing.T) {
	st, b, token := twins(t)
	page := b.open("/_/tags?domain=b.test")
	b.open(page.link("t")).want("b.example")
	expect.That(t, !strings.Contains(b.open(page.link("t")).text(), "default.example"), "the links with it are of another domain, too")
	b.open(page.link("Figures")).want("Hits, 30 days 2")
	b.follow(b.open(page.link("Rename")).form("/_/tags/rename").with("name", "renamed")).want("on 1 link")
	expect.Contains(t, st.callAs(token, "GET", "/links/twin?domain=b.test", "").body, `"renamed"`)
	expect.Contains(t, st.callAs(token, "GET", "/links/twin", "").body, `"t"`)
	page = b.open("/_/tags")
	list := b.open(page.link("t"))
	expect.That(t, strings.Contains(list.text(), "default.example") && !strings.Contains(list.text(), "b.example"), "the links of the default domain: %s", list.text())
	b.follow(b.open(page.link("Delete")).form("/_/tags/delete")).want("taken off 1 link")
	expect.Contains(t, st.callAs(token, "GET", "/links/twin?domain=b.test", "").body, `"renamed"`)
}

// TestTheAuditLogLeadsToTheLinkOfAnEntry follows the codes of entries.
func TestTheAuditLogLeadsToTheLinkOfAnEntry(t *testing.T) {
	_, b, _ := twins(t)
	log := b.open("/_/audit")
	log.want("added a domain")
	of := b.open(log.link("b.test/twin"))
	expect.Equal(t, strings.Count(of.text(), "created a link"), 1, "entries: %s", of.text())
	b.open(of.link("Open the link twin")).want("b.example")
	b.open(b.open(log.link("twin")).link("Open the link twin")).want("default.example")
	changes := b.open("/_/link/twin?domain=b.test").link("all changes")
	expect.Contains(t, fmt.Sprint(b.open(changes).text()), "b.example")
}

// choose sends the form of a page that has the choice of a domain, as a browser without script does.
func (b *plainBrowser) choose(p *shown, host string) *shown {
	b.st.t.Helper()
	path, _, _ := strings.Cut(p.path, "?")
	for n := p.element("domain"); n != nil; n = n.Parent {
		if n.Data == "form" {
			expect.MustEqual(b.st.t, attribute(n, "method")+" "+attribute(n, "action"), "get "+path)
			f := &htmlForm{path, make(url.Values)}
			f.addAll(n)
			return b.open(path + "?" + f.with("domain", host).values.Encode())
		}
	}
	b.st.t.Fatalf("%s: no form has a choice of the domain", p.path)
	return nil
}

// TestTheChoiceOfADomainKeepsTheRest chooses a domain on each page that has the choice.
func TestTheChoiceOfADomainKeepsTheRest(t *testing.T) {
	one := newSite(t, nil)
	alone := one.browseAs("ann@example.com", account.RoleAdmin)
	alone.follow(alone.open("/_/links").form("/_/links").with("url", "https://a.example/", "alias", "x", "tags", "t"))
	_, b, _ := twins(t)
	for path, first := range map[string]string{
		"/_/?owner=all&period=7d": "all", "/_/links?created_from=2026-01-01&owner=all&sort=hits&tag=t": "all", "/_/tags?q=t": "",
		"/_/tags/figures?period=7d&tag=t": "all", "/_/by?period=7d&referrer=direct": "all", "/_/by?referrer=direct&tag=t": "all",
		"/_/audit?actor=ann%40example.com": "all", "/_/compare?codes=twin": "", "/_/misses": "all",
	} {
		t.Run(path, func(t *testing.T) {
			expect.That(t, alone.open(path).element("domain") == nil, "one domain is no choice")
			page := b.open(path)
			expect.MustThat(t, page.element("domain") != nil, "there is no choice: %s", page.body)
			var options []string
			for n := range page.element("domain").Descendants() {
				if n.Data == "option" {
					options = append(options, textOf(n))
				}
			}
			expect.Equal(t, strings.TrimSpace(strings.Join(options, " ")), strings.TrimSpace(first+" 127.0.0.1:8080 b.test"))
			of := b.choose(page, "b.test")
			for name, values := range parsedQuery(path) {
				expect.Slices(t, parsedQuery(of.path)[name], values, name)
			}
			again := b.choose(of, "127.0.0.1:8080")
			expect.Slices(t, parsedQuery(again.path)["domain"], []string{"127.0.0.1:8080"})
			for n := range of.element("domain").Descendants() {
				if n.Data == "option" {
					expect.Equal(t, has(n, "selected"), attribute(n, "value") == "b.test", "%s is chosen", attribute(n, "value"))
				}
			}
		})
	}
}

func parsedQuery(address string) url.Values {
	_, query, _ := strings.Cut(address, "?")
	values, _ := url.ParseQuery(query)
	return values
}

// TestFiguresAndListsAreOfTheChosenDomain looks at what pages show after a choice.
func TestFiguresAndListsAreOfTheChosenDomain(t *testing.T) {
	_, b, _ := twins(t)
	for path, want := range map[string]map[string]string{
		"/_/":                              {"b.test": "Hits today (UTC) 2", "127.0.0.1:8080": "Hits today (UTC) 1", "": "Hits today (UTC) 3"},
		"/_/tags/figures?tag=t":            {"b.test": "Hits, 30 days 2", "127.0.0.1:8080": "Hits, 30 days 1", "": "Hits, 30 days 3"},
		"/_/by?referrer=direct":            {"b.test": "2 of 2", "127.0.0.1:8080": "1 of 1", "": "3 of 3"},
		"/_/links":                         {"b.test": "b.test:8080/twin", "127.0.0.1:8080": "127.0.0.1:8080/twin", "": "b.test:8080/twin"},
		"/_/audit?actor=ann%40example.com": {"b.test": "b.test/twin", "127.0.0.1:8080": "twin"},
	} {
		for host, text := range want {
			b.choose(b.open(path), host).want(text)
		}
	}
	expect.Equal(t, listedOn(b.choose(b.open("/_/links"), "b.test")), "twin,b.test")
	expect.Equal(t, listedOn(b.choose(b.open("/_/links"), "127.0.0.1:8080")), "twin")
	expect.Equal(t, listedOn(b.open("/_/links?domain=www.b.test")), "twin,b.test", "by an alias")
	for _, path := range []string{"/_/links?", "/_/tags?", "/_/audit?"} {
		page := b.get(path + "domain=" + url.QueryEscape(`"><hostile>`))
		page.want(`The domain: "\"><hostile>" is not a domain of this server.`)
		expect.Equal(t, page.status, 422, "%s", path)
		wantHarmless(page)
	}
	for _, path := range []string{"/_/?", "/_/by?referrer=direct&", "/_/tags/figures?tag=t&", "/_/links/export?"} {
		page := b.get(path + "domain=" + url.QueryEscape(`"><hostile>`))
		expect.Equal(t, page.status, 422, "%s", path)
		wantHarmless(page)
	}
}

// TestLinksAreMadeInAChosenDomain makes links by each form.
func TestLinksAreMadeInAChosenDomain(t *testing.T) {
	st, b, token := twins(t)
	domainOf := func(code, host string) {
		t.Helper()
		st.callAs(token, "GET", "/links/"+code+"?domain="+host, "").expect(t, code+" in "+host, 200)
	}
	form := b.open("/_/links?domain=b.test").form("/_/links")
	expect.Equal(t, form.values.Get("domain"), "b.test", "the choice on the list of a domain")
	page := b.follow(form.with("url", "https://one.example/", "alias", "one"))
	page.want("b.test:8080/one", "leads to")
	b.open(page.link("Figures")).want("one.example")
	b.open(page.link("Edit")).want("Edit one")
	expect.Equal(t, b.get(page.link("QR as SVG")).status, 200)
	domainOf("one", "b.test")
	form = b.open("/_/").form("/_/links")
	expect.Equal(t, form.values.Get("domain"), "", "the choice on the overview")
	b.follow(form.with("url", "https://two.example/", "alias", "two"))
	domainOf("two", "127.0.0.1")
	form = b.open(pageOf(b, "b.example").link("Duplicate")).form("/_/links/new")
	expect.Equal(t, form.values.Get("domain"), "b.test", "the choice for a link like one of b.test")
	b.follow(form.with("alias", "three"))
	domainOf("three", "b.test")
	refused := b.submit(b.open("/_/links/new").form("/_/links/new").with("url", "https://a.example/", "domain", "nobody.test"))
	expect.That(t, refused.status == 422 && refused.at("link-domain-error") == `"nobody.test" is not a domain of this server.`, "got %d %s", refused.status, refused.text())

	bulk := b.open(b.open("/_/links?domain=b.test").link("Import many"))
	made := b.submit(bulk.form("/_/links/bulk").with("addresses", "url,alias\nhttps://four.example/,four"))
	made.want("1 link is ready")
	b.open(made.link("http://b.test:8080/four")).want("four.example")
	domainOf("four", "b.test")
	refused = b.submit(b.open("/_/links/bulk").form("/_/links/bulk").with("addresses", "https://a.example/", "domain", "nobody.test"))
	expect.That(t, refused.status == 422 && refused.at("link-domain-error") == `"nobody.test" is not a domain of this server.`, "got %d %s", refused.status, refused.text())
}

// TestManyDomainsAreTyped has more domains than a choice lists.
func TestManyDomainsAreTyped(t *testing.T) {
	st, b, _ := twins(t)
	for i := range 100 {
		st.addDomain(domain.Domain{Host: fmt.Sprintf("h%d.test", i)})
	}
	page := b.open("/_/links")
	expect.Equal(t, page.element("domain").Data, "input")
	expect.Equal(t, listedOn(b.choose(page, "b.test")), "twin,b.test")
	b.follow(page.form("/_/links").with("url", "https://x.example/", "alias", "x", "domain", "h7.test")).want("h7.test:8080/x")
}

// TestADomainIsAddedChangedAndRemoved goes the whole way by the pages.
func TestADomainIsAddedChangedAndRemoved(t *testing.T) {
	st := newSite(t, nil)
	b := st.browseAs("boss@example.com", account.RoleAdmin)
	page := b.open(b.open("/_/users").link("Domains"))
	page.want("127.0.0.1:8080 default", "1 domain.")
	form := page.form("/_/domains").with("host", " B.test ", "aliases", "www.b.test, go.b.test", "root_url", "https://example.org/", "robots", "none", "redirect_status", "301")
	page = b.follow(form)
	page.want("The domain b.test is added.")
	expect.Equal(t, page.path, "/_/domains/b.test")
	expect.Equal(t, b.follow(form).path, page.path, "the form sent twice")
	dial := doors[0].open(t, st)
	expect.Equal(t, askAs(t, dial, "go.b.test", "/").header.Get("Location"), "https://example.org/")

	shown := page.form("/_/domains/b.test").values
	for name, want := range map[string]string{"host": "b.test", "aliases": "go.b.test www.b.test", "base_url": "http://b.test:8080", "root_url": "https://example.org/", "redirect_status": "301", "robots": "none", "not_found_url": ""} {
		expect.Equal(t, shown.Get(name), want, "%s", name)
	}
	page = b.follow(page.form("/_/domains/b.test").with("host", "c.test", "aliases", "", "root_url", "", "redirect_status", "", "not_found_url", "https://example.org/find?q={path}", "robots", "User-agent: x\r\nDisallow: /y"))
	page.want("The domain is saved.")
	expect.Equal(t, page.path, "/_/domains/c.test")
	expect.Equal(t, askAs(t, dial, "c.test", "/nobody").header.Get("Location"), "https://example.org/find?q=nobody")
	expect.Contains(t, askAs(t, dial, "c.test", "/robots.txt").body, "User-agent: x\nDisallow: /y")
	st.call("GET", "/domains/c.test", "").expect(t, "", 200, `"aliases":[]`, `"base_url":"http://c.test:8080"`, `"root_url":null`, `"redirect_status":null`)
	b.get("/_/domains/b.test").expect(t, "the former host", 404)
	b.open("/_/domains").want("https://example.org/find?q={path}", "2 domains.")

	st.call("POST", "/shorten", `{"url":"https://c.example/","alias":"x","domain":"c.test"}`).need(t, "", 201)
	asks := b.open(page.link("Remove this domain …"))
	refused := b.submit(asks.form("/_/domains/c.test/delete"))
	refused.want("The domain has links: delete them first.")
	expect.Equal(t, refused.status, 409)
	b.open(refused.link("Show its links")).want("c.example")
	st.call("DELETE", "/links/x?domain=c.test", "").need(t, "", 204)
	b.follow(asks.form("/_/domains/c.test/delete")).want("The domain c.test is removed.", "1 domain.")
	b.get("/_/domains/c.test/delete").expect(t, "the removed domain", 404)
	b.open("/_/audit").want("added a domain", "edited a domain", "removed a domain")
}

// TestTheDefaultDomainKeepsItsHost edits what can be edited of it.
func TestTheDefaultDomainKeepsItsHost(t *testing.T) {
	st := newSite(t, nil)
	b := st.browseAs("boss@example.com", account.RoleAdmin)
	const path = "/_/domains/127.0.0.1:8080"
	expect.Contains(t, b.open("/_/domains").body, `<a href="`+path+`">`)
	page := b.open(path)
	page.want("from the settings")
	form := page.form(path)
	for _, name := range []string{"host", "aliases", "base_url"} {
		expect.That(t, !form.values.Has(name), "the form has %s", name)
	}
	page = b.follow(form.with("not_found_url", "https://example.org/{path}", "host", "evil.test"))
	expect.Equal(t, page.path, path)
	expect.Equal(t, st.get("/nobody").header.Get("Location"), "https://example.org/nobody")
	expect.Equal(t, page.link("Remove this domain …"), "")
	b.get(path+"/delete").expect(t, "the page that removes it", 404)
	b.post(path+"/delete", formType, "").expect(t, "the form that removes it", 404)
}

// TestErrorsOfADomainStandAtTheirFields sends what is wrong, to the form that adds and to the one that changes.
func TestErrorsOfADomainStandAtTheirFields(t *testing.T) {
	st := newSite(t, nil)
	st.addDomain(domain.Domain{Host: "a.test"})
	st.addDomain(domain.Domain{Host: "b.test"})
	b := st.browseAs("boss@example.com", account.RoleAdmin)
	before := st.call("GET", "/domains", "").body
	for _, c := range []struct{ field, value, want string }{
		{"host", "", "Must be given."},
		{"host", "a.test", "A.test is another domain already."},
		{"host", "127.0.0.1", "Must be a name, because an address is of the default domain."},
		{"host", "https://x.test/", "Must be a host without scheme, port and path, such as go.example."},
		{"host", `"><hostile>`, "Must be a host, such as go.example."},
		{"aliases", "x.test a.test", "A.test is another domain already."},
		{"aliases", strings.Repeat("x.test ", 9), "Must be at most 8 hosts."},
		{"base_url", "https://other.test", "Must be of the host, or of one of its aliases, such as https://c.test."},
		{"root_url", "javascript:alert(1)", ""},
		{"not_found_url", "https://{path}.test/", "Must begin with http:// or https://, and have {path} only after the host."},
		{"expired_url", "http://c.test/", ""},
		{"redirect_status", "999", "Must be 301, 302, 307 or 308."},
		{"redirect_status", "soon", ""},
		{"robots", "no", "Must be none, or the text of a robots.txt, with a line User-agent:."},
		{"robots", "\xff", "Has damaged characters."},
	} {
		for _, action := range []string{"/_/domains", "/_/domains/b.test"} {
			page := b.submit(b.open(action).form(action).with("host", "c.test", c.field, c.value))
			got := page.at("domain-" + c.field + "-error")
			expect.That(t, page.status == 422 && got != "" && (c.want == "" || got == c.want), "%s, %s %q: got %d %q, want %q", action, c.field, c.value, page.status, got, c.want)
			expect.Equal(t, apiWords.FindString(got), "", "%s %q", c.field, c.value)
			wantHarmless(page)
			if c.field != "robots" && c.field != "redirect_status" {
				expect.Equal(t, page.form(action).values.Get(c.field), c.value, "%s, %s as typed", action, c.field)
			}
		}
	}
	expect.Equal(t, st.call("GET", "/domains", "").body, before, "a refused form has changed something")
	for _, path := range []string{"/_/domains/nobody.test", "/_/domains/%3Chostile%3E", "/_/domains/%", "/_/domains/%ff"} {
		page := b.get(path)
		expect.That(t, page.status == 404 || page.status == 400, "%s: got %d", path, page.status)
		wantHarmless(page)
	}
}

func TestThePageOfADomainSaysHowItsCertificateIs(t *testing.T) {
	at := time.Now().Add(40 * 24 * time.Hour)
	st := newSite(t, func(o *Options) {
		o.Certificates.Check = func(context.Context, string) (domains.HostCheck, error) {
			return domains.HostCheck{Host: "b.test", Addresses: []string{"203.0.113.7"}, DNS: "b.test leads to 203.0.113.7, which is not this server", HTTP: "ok", HTTPS: "ok"}, nil
		}
		o.Certificates.Of = func(d *domain.Domain) *domains.Certificate {
			return &domains.Certificate{From: d.Certificate, State: domains.CertificateFailing, ExpiresAt: &at, Error: "b.test has no address in DNS", NextAttemptAt: &at}
		}
	})
	st.person("ann@example.com", account.RoleAdmin)
	st.addDomain(domain.Domain{Host: "b.test"})
	b := st.browse("ann@example.com")
	page := b.open("/_/domains/b.test")
	expect.Contains(t, page.text(), "b.test has no address in DNS")
	page = b.fill(page, "/_/domains/b.test/check")
	expect.Contains(t, page.text(), "b.test leads to 203.0.113.7, which is not this server")
	b.fill(b.open("/_/domains/b.test"), "/_/domains/b.test", "certificate", "none")
	expect.Contains(t, st.call("GET", "/domains/b.test", "").body, `"certificate":"none"`)
}
