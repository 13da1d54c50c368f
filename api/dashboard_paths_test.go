package api

import (
	"net/url"
	"strings"
	"testing"

	"shunt/api/account"
	"shunt/engine/expect"
)

// linksTo returns the addresses on a page, of links and forms, that begin with prefix.
func (p *shown) linksTo(prefix string) (all []string) {
	for n := range p.doc.Descendants() {
		for _, name := range []string{"href", "action", "formaction", "src"} {
			if address := attribute(n, name); strings.HasPrefix(address, prefix) {
				all = append(all, address)
			}
		}
	}
	return all
}

// In the addresses of pages a code is one part: its slashes are %2F.
func TestPagesOfALinkWhoseCodeHasSegments(t *testing.T) {
	st := newSite(t, nil)
	b := st.browseAs("owner@example.com", account.RoleAdmin)
	const code, path = "docs/v1.2/x", "/_/link/docs%2Fv1.2%2Fx"
	made := b.follow(b.open("/_/links").form("/_/links").with("url", "https://a.example/", "alias", code))
	made.want(code)
	st.get("/"+code, browser).expect(t, "a hit", 302)
	pages := map[string]int{}
	for _, from := range []string{"/_/", "/_/links", "/_/links?made=" + url.QueryEscape(code), path, path + "/edit", path + "/owner", path + "/reset", path + "/delete", path + "/qr", "/_/compare?codes=" + url.QueryEscape(code)} {
		p := b.open(from)
		for _, address := range p.linksTo("/_/link/") {
			pages[address]++
			if status := b.get(address).status; status != 200 && status != 405 { // 405: it is of a form
				t.Errorf("%s has %s: got %d", from, address, status)
			}
		}
		for _, address := range p.linksTo("/" + code) {
			pages[address]++
			st.get(address).expect(t, from+" has "+address, 200)
		}
	}
	for _, address := range []string{path, path + "/edit", path + "/owner", path + "/reset", path + "/delete", path + "/disabled", path + "/qr", path + "/qr.svg", path + "/qr.png"} {
		expect.That(t, pages[address] > 0, "no page has %s, but %v", address, pages)
	}
	for _, wrong := range []string{"/_/link/" + code, "/_/link/docs%252Fv1.2%252Fx", "/_/link/docs%2F%2Fx"} {
		b.get(wrong).expect(t, wrong, 404)
	}
	b.follow(b.open(path+"/edit").form(path+"/edit").with("title", "A title")).want("A title")
	b.follow(b.open(path).form(path + "/disabled"))
	st.get("/"+code, browser).expect(t, "disabled", 410)
	b.follow(b.open(path + "/delete").form(path + "/delete"))
	st.get("/"+code, browser).expect(t, "deleted", 404)
}

// Whoever signs in gets back to the page of the link, also after a form.
func TestSigningInLeadsBackToALinkWhoseCodeHasSegments(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(`{"url":"http://a.example/","alias":"a/b"}`)
	st.person("admin@example.com", account.RoleAdmin)
	const path = "/_/link/a%2Fb?owner=all"
	b := st.visitor()
	asked := b.get(path)
	asked.expect(t, "not signed in", 303, header("Location", "/_/sign-in?next="+url.QueryEscape(path)))
	p := b.signIn(asked.header.Get("Location"), "admin@example.com", goodPassword)
	expect.That(t, p.status == 200 && p.path == path, "got %d %s", p.status, p.path)
	missing := b.get("/_/link/a%2Fb")
	expect.That(t, missing.status == 404 && len(missing.linksTo(path)) > 0, "a link of somebody else: got %d %s", missing.status, missing.text())
	form := p.form("/_/link/a%2Fb/disabled?owner=all")
	b.cookie = ""
	again := b.submit(form)
	again.expect(t, "the form after the session", 401)
	expect.Equal(t, again.form("/_/sign-in").values.Get("next"), path)
}
