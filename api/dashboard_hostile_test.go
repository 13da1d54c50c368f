package api

import (
	"net/url"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"shunt/api/account"
	"shunt/api/domain"
	"shunt/engine/expect"
)

// hostileValues are sent in each field of each form, and as each parameter of a page.
var hostileValues = []string{
	"", "\x00", "a\x00b", "\xff\xfe", "\xed\xa0\x80", `"><hostile x='y'>&lt;`, "</textarea></title><hostile>", "x\r\nInjected: yes", "{{.}}`${1}`",
	"\u202e\u2028\ufeff", "-1", "18446744073709551616", "1e309", "all", "9999-12-31", "0000-00-00T00:00", "10000-01-01T00:00", "javascript:alert(1)",
	"https://a.example/\x7f", "../../x", strings.Repeat("é", 5000), strings.Repeat("x,", 5000),
}

// A formWalk finds the pages and forms that lead from one to another.
type formWalk struct {
	b     *plainBrowser
	seen  map[string]bool
	pages []string
	forms []*htmlForm
}

// visit opens a page, and all that its links and forms lead to.
func (w *formWalk) visit(address string) {
	path, query, _ := strings.Cut(address, "?")
	if w.seen[path] || !strings.HasPrefix(path, "/_/") || strings.HasPrefix(path, "/_/docs") {
		return
	}
	w.seen[path] = true
	page := w.b.open(address)
	w.pages = append(w.pages, path+"?"+query)
	for n := range page.doc.Descendants() {
		switch {
		case n.Type != html.ElementNode:
		case n.Data == "a":
			w.visit(attribute(n, "href"))
		case n.Data == "form" && attribute(n, "method") == "post" && !w.seen["POST "+attribute(n, "action")]:
			w.seen["POST "+attribute(n, "action")] = true
			w.forms = append(w.forms, page.form(attribute(n, "action")))
		}
	}
}

// wantHarmless checks that an answer shows what was sent as text, and nowhere else.
func wantHarmless(p *shown) {
	p.t.Helper()
	for n := range p.doc.Descendants() {
		expect.That(p.t, n.Data != "hostile" || n.Type != html.ElementNode, "%s: what was sent became an element", p.path)
	}
	expect.That(p.t, p.header.Get("Injected") == "" && !strings.ContainsAny(p.header.Get("Location"), "\r\n\x00<") && p.status < 500,
		"%s: got %d %v", p.path, p.status, p.header)
}

func TestEachFieldOfEachFormTakesHostileValues(t *testing.T) {
	expect.Long(t)
	t.Parallel()
	st := newSite(t, nil)
	b := st.browseAs("ann@example.com", account.RoleAdmin) // user 2
	st.person("ben@example.com", account.RoleMember)
	b.follow(b.open("/_/links/new").form("/_/links/new").with("url", "https://a.example/", "alias", "x", "tags", "t"))
	st.secret(b.fill(b.open("/_/tokens"), "/_/tokens", "name", "x").at("token"))
	st.get("/missed")
	st.addDomain(domain.Domain{Host: "b.test"})

	w := formWalk{b: b, seen: make(map[string]bool)}
	w.visit("/_/")
	expect.MustThat(t, len(w.pages) >= 17 && len(w.forms) >= 16, "found %d pages and %d forms: %v", len(w.pages), len(w.forms), w.pages)
	cases := 0
	turn := func() bool { cases++; return cases%stride == 0 }
	for _, page := range w.pages {
		for _, name := range []string{"owner", "q", "tag", "state", "cursor", "page", "back", "made", "from", "to", "period", "url", "alias", "next", "code", "domain"} {
			for _, value := range hostileValues {
				if !turn() {
					continue
				}
				wantHarmless(b.get(page + "&" + url.Values{name: {value}}.Encode()))
			}
		}
	}
	for _, f := range w.forms {
		switch f.action {
		case "/_/sign-out", "/_/account/sessions", "/_/users/2/delete", "/_/account/password": // they end the session, or take long
			continue
		}
		for name := range f.values {
			for _, value := range hostileValues {
				if !turn() {
					continue
				}
				wantHarmless(b.submit(f.with(name, value)))
			}
		}
		for _, contentType := range []string{"", "text/plain", "multipart/form-data", "multipart/form-data; boundary=x", formType + "; charset=utf-16"} {
			wantHarmless(b.post(f.action, contentType, "--x\r\nContent-Disposition: form-data; name=\"\xff\r\n"))
		}
	}
	b.open("/_/account").want("ann@example.com") // the session is still there
}
