package api

import (
	"net/url"
	"strconv"
	"strings"
	"testing"

	"shunt/api/account"
	"shunt/api/domain"
	"shunt/engine/expect"
)

func TestMissesAreShownWithAWayToMakeThem(t *testing.T) {
	st := newSite(t, nil)
	b := st.browseAs("owner@example.com", account.RoleAdmin)
	b.open("/_/misses").want("Nobody has requested a code without a link.", "0 requests since 2026-01-02 03:04 UTC")
	for range 3 {
		st.get("/spring-sale")
	}
	st.get("/-_-")
	for _, hostile := range []string{"/%3Cscript%3Ealert(1)%3C/script%3E", "/<script>", `/x"onload=1`} {
		st.get(hostile)
	}
	p := b.open("/_/misses")
	p.want("spring-sale 3 exact Create this link", "-_- 1 exact")
	for _, want := range []string{`href="/_/links/new?alias=spring-sale"`, `href="/_/links/new?alias=-_-"`} {
		expect.That(t, strings.Contains(p.body, want), "no %s in %s", want, p.body)
	}
	st.shorten(`{"url":"http://a/","alias":"spring-sale"}`)
	expect.That(t, !strings.Contains(b.open("/_/misses").body, "spring-sale"), "a code that has a link by now is still a miss")
}

// TestMissesAreShownOfAChosenDomain asks for one code on two domains, and chooses each on the page.
func TestMissesAreShownOfAChosenDomain(t *testing.T) {
	st := newSite(t, nil)
	b := st.browseAs("owner@example.com", account.RoleAdmin)
	expect.That(t, b.open("/_/misses").element("domain") == nil, "one domain is no choice")
	st.addDomain(domain.Domain{Host: "b.test", Aliases: []string{"www.b.test"}})
	st.addDomain(domain.Domain{Host: "c.test"})
	dial := doors[0].open(t, st)
	for _, asked := range []string{"other.test/mistyped", "b.test/mistyped", "b.test/mistyped", "b.test/of-b"} {
		host, code, _ := strings.Cut(asked, "/")
		expect.Equal(t, askAs(t, dial, host, "/"+code).status, 404, asked)
	}
	all := b.open("/_/misses")
	all.want("4 requests since", "b.test/mistyped 2 exact", "mistyped 1 exact", "b.test/of-b 1 exact")
	ofB := b.choose(all, "b.test")
	ofB.want("3 requests since", "b.test/mistyped 2 exact", "b.test/of-b 1 exact")
	expect.That(t, !strings.Contains(ofB.text(), "mistyped 1 exact"), "misses of the default domain: %s", ofB.text())
	b.choose(ofB, "").want("4 requests since")
	byDefault := b.choose(ofB, "127.0.0.1:8080")
	byDefault.want("1 request since", "mistyped 1 exact")
	expect.That(t, !strings.Contains(byDefault.body, "b.test/"), "misses of b.test: %s", byDefault.text())
	b.open("/_/misses?domain=www.b.test").want("3 requests since")
	b.choose(ofB, "c.test").want("0 requests since", "Nobody has requested a code without a link on c.test.")

	form := b.open(ofB.link("Create this link")).form("/_/links/new")
	b.follow(form.with("url", "https://b.example/")).want("b.test:8080/mistyped")
	expect.Equal(t, askAs(t, dial, "b.test", "/mistyped").header.Get("Location"), "https://b.example/")
	all = b.open("/_/misses")
	all.want("mistyped 1 exact", "b.test/of-b 1 exact")
	expect.That(t, !strings.Contains(all.body, "b.test/mistyped"), "a code that has a link by now is still a miss: %s", all.text())

	for _, host := range []string{"nobody.test", `"><hostile>`} {
		refused := b.get("/_/misses?domain=" + url.QueryEscape(host))
		refused.want("The domain: " + strconv.Quote(host) + " is not a domain of this server.")
		expect.That(t, refused.status == 422 && !strings.Contains(refused.text(), "Nobody has requested"), "%s: got %d %s", host, refused.status, refused.text())
		wantHarmless(refused)
	}
}
