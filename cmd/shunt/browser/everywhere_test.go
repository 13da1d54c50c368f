package browser

import (
	"net/http"
	"strings"
	"testing"

	"shunt/engine/expect"
)

// This file is about what holds on all pages.

// A member gets nothing of the admin's on any page.
func TestAMemberSeesNothingOfTheAdmin(t *testing.T) {
	d := startDemo(t)
	b := openTab(t, d.base)
	b.enter(d.sessions[member])
	for path, status := range map[string]int{
		"/_/": 200, "/_/links": 200, "/_/links?q=spring": 200, "/_/links?tag=shop": 200, "/_/tags": 200, "/_/tags/rename?tag=events": 404, "/_/tokens": 200, "/_/account": 200, "/_/transfer": 200,
		"/_/links?owner=all": 0, "/_/links?owner=2": 0, "/_/?owner=all": 0, "/_/?owner=2": 0,
		"/_/link/" + demoCode: 404, "/_/link/" + demoCode + "?owner=all": 0, "/_/link/" + demoCode + "/edit": 404, "/_/link/" + demoCode + "/delete": 404,
		"/_/users": 404, "/_/users/2": 404, "/_/all-tokens": 404, "/_/misses": 404, "/_/audit": 404, "/_/system": 404, "/_/domains": 404, "/_/domains/" + demoDomain: 404, "/_/tokens/1/revoke": 404, "/_/folders/1": 200, "/_/folders/2": 404,
	} {
		if b.anyAnswer(path); status != 0 && b.watch.present().status != int64(status) {
			t.Errorf("%s: got %d, want %d", path, b.watch.present().status, status)
		}
		b.seesNot(emails[admin], "Spring sale", "shop.example.com", "Newsletter", missedCode)
	}
	b.visit("/_/links", http.StatusOK)
	b.sees("Ben's talk")
}

// logo is a picture with a script in it, which must not run.
const logo = `<svg xmlns="http://www.w3.org/2000/svg" width="120" height="24"><rect width="120" height="24" fill="#246"/><script>__pwn()</script></svg>`

// All pages name the brand, and those of the public say whom to ask.
func TestTheBrandIsOnEveryPage(t *testing.T) {
	needBrowser(t)
	const name = "Müller & <b>Söhne</b>"
	for kind, flags := range map[string][]string{"name": nil, "logo": {"--brand-logo", writeFile(t, "logo.svg", []byte(logo))}} {
		t.Run(kind, func(t *testing.T) {
			d := openDesk(t, localhost, openTab, append(flags, "--brand-name", name, "--support-url", "https://help.example.org/ask")...)
			d.create(d.token, map[string]any{"url": "https://example.org/", "alias": "abc"})
			b := d.tab
			for _, path := range []string{"/", "/abc+", "/missing", "/_/docs", "/_/", "/_/links", "/_/link/abc", "/_/account", "/_/missing"} {
				b.anyAnswer(path)
				if top, title := b.reads("header .brand"), eval[string](b, "document.title"); top != name || !strings.Contains(title, name) {
					t.Errorf("%s: the brand is not there: %q, %q", path, top, title)
				}
				if drawn := eval[bool](b, `document.querySelector('header img[src="/_/logo"]')?.naturalWidth > 0`); drawn != (flags != nil) {
					t.Errorf("%s: the logo is drawn: %v", path, drawn)
				}
				expect.That(t, b.has(link("Support")), "%s: the support is not there", path)
			}
			if flags == nil {
				return
			}
			alone := watchedTab(t, d.base) // the browser says that it runs no script
			alone.visit("/_/logo", http.StatusOK)
			if got := strings.Join(alone.watch.complaints(), "\n"); !strings.Contains(got, "Blocked script execution") || strings.Contains(got, "ran") {
				t.Errorf("the logo alone: %s", got)
			}
		})
	}
}
