package browser

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"shunt/engine/expect"
)

// This file is about forms at which something goes wrong, or that are sent twice.

// An edit that crosses another is shown with what both have, and can be saved after that.
func TestAnEditThatCrossesAnotherIsShown(t *testing.T) {
	withAndWithoutScript(t, func(d *desk) {
		d.create(d.token, map[string]any{"url": "https://example.org/", "alias": "abc", "title": "first"})
		first, second := d.tab, openTab(d.t, d.base)
		second.enter(d.session)
		for _, b := range []*tab{first, second} {
			b.visit("/_/link/abc/edit", http.StatusOK)
		}
		second.fill(field("Title"), "of the second tab")
		second.follow(button("Save"))
		first.fill(field("Title"), "of the first tab")
		first.submit(button("Save"), http.StatusPreconditionFailed)
		first.sees("This link was saved elsewhere")
		first.sees("Now: of the second tab")
		expect.Equal(d.t, first.value(field("Title")), "of the first tab", "the form")
		first.follow(button("Save"))
		first.isAt("/_/link/abc")
		first.sees("of the first tab")
	})
}

// After signing in again, the form is as it was typed, and only the person sends it.
func TestAFormOutlivesItsSession(t *testing.T) {
	withAndWithoutScript(t, func(d *desk) {
		b := d.tab
		b.visit("/_/links/new", http.StatusOK)
		b.fill(field("Target"), "https://example.org/typed")
		b.fill(field("Alias"), "typed")
		d.endSession()
		b.submit(button("Create the link"), http.StatusUnauthorized)
		b.sees("Your session has ended")
		b.fill(field("E-mail"), emails[admin])
		b.fill(field("Password"), "not the password")
		b.submit(button("Sign in"), http.StatusUnauthorized) // it outlives this too
		b.fill(field("Password"), password)
		b.follow(button("Sign in"))
		b.isAt("/_/links/new")
		b.sees("Nothing has been sent yet")
		for name, want := range map[string]string{"Target": "https://example.org/typed", "Alias": "typed"} {
			expect.Equal(d.t, b.value(field(name)), want, name)
		}
		if codes := d.codes(); len(codes) != 0 {
			d.t.Errorf("the form was sent by itself: there are %q", codes)
		}
		b.follow(button("Create the link"))
		expect.Slices(d.t, d.codes(), []string{"typed"})
	})
}

// endSession ends the session of the desk, as somebody does who signs out elsewhere.
func (d *desk) endSession() {
	d.t.Helper()
	request, err := http.NewRequest(http.MethodDelete, d.base+"/api/v1/session", nil)
	expect.OK(d.t, err)
	for _, c := range d.session {
		request.AddCookie(c)
	}
	request.Header.Set("Sec-Fetch-Site", "same-origin")
	if r, text := d.send(request); r.StatusCode >= 300 {
		d.t.Fatalf("signing out: got %d: %s", r.StatusCode, text)
	}
}

// Two clicks on a button make one thing.
func TestADoubleClickMakesOneThing(t *testing.T) {
	withAndWithoutScript(t, func(d *desk) {
		b := d.tab
		b.visit("/_/links/new", http.StatusOK)
		b.fill(field("Target"), "https://example.org/")
		b.doubleClick("form.form button.primary")
		b.until("the link is there", func() bool { return len(d.codes()) > 0 })
		b.visit("/_/tokens", http.StatusOK)
		b.fill(field("Name"), "made twice")
		b.doubleClick("form.form button.primary")
		b.until("the token is there", func() bool { return strings.Contains(b.reads("table"), "made twice") })
		b.visit("/_/tokens", http.StatusOK) // behind all that was sent
		expect.Equal(d.t, strings.Count(b.content(), "made twice"), 1, "tokens")
		if codes := d.codes(); len(codes) != 1 {
			d.t.Errorf("got the links %q, want one", codes)
		}
	})
}

// doubleClick clicks the button of a form twice, as quickly as two clicks can follow each other.
func (b *tab) doubleClick(selector string) {
	b.t.Helper()
	x, y := b.place(selector)
	b.press(x, y, 1)
	b.press(x, y, 2)
}

// A thousand addresses are pasted at once. Those that are refused stay in the form.
func TestAThousandAddressesBecomeLinks(t *testing.T) {
	withAndWithoutScript(t, func(d *desk) {
		b := d.tab
		addresses := make([]string, 1000)
		for i := range addresses {
			addresses[i] = fmt.Sprintf("https://example.org/%d", i+1)
		}
		addresses[16], addresses[499] = "no address", "javascript:alert(1)"
		b.visit("/_/links/bulk", http.StatusOK)
		b.fill(field("Addresses or CSV"), strings.Join(addresses, "\n"))
		b.fill(field("Tags for all of them"), "pasted")
		b.follow(button("Create the links"))
		b.sees("998 links are ready. 2 lines were refused.")
		short := strings.Split(strings.TrimSpace(b.value(field("Short addresses"))), "\n")
		if slices.Sort(short); len(slices.Compact(short)) != 998 || !strings.HasPrefix(short[0], d.base+"/") {
			d.t.Errorf("got %d short addresses, %q first", len(short), short[0])
		}
		if got, want := strings.TrimSpace(b.value(field("Addresses or CSV"))), addresses[16]+"\n"+addresses[499]; got != want {
			d.t.Errorf("the form has %q, want the lines that were refused", got)
		}
		rows := eval[[]string](b, "[...document.querySelectorAll('#results tbody tr')].filter(r => r.querySelector('.error')).map(r => r.cells[0].textContent)")
		expect.Slices(d.t, rows, []string{"17", "500"}, "the lines were refused")
		b.fill(field("Addresses or CSV"), "https://example.org/corrected\nhttps://example.org/too")
		b.follow(button("Create the links"))
		b.sees("2 links are ready")
	})
}

// A link on a page of another site leads to the page, although the browser first sends no session.
func TestALinkFromAnotherSiteLeadsToThePage(t *testing.T) {
	withAndWithoutScript(t, func(d *desk) {
		d.create(d.token, map[string]any{"url": "https://example.org/", "alias": "abc"})
		other := servePages(d.t, map[string]string{"/": `<a href="` + d.base + `/_/link/abc">The figures</a>`}, "")
		b := d.tab
		if u, err := url.Parse(other); err == nil {
			b.watch.other = u.Host
		}
		elsewhere := *b
		elsewhere.base = other
		elsewhere.visit("/", http.StatusOK)
		elsewhere.click(link("The figures"))
		b.until("it shows the link's page", func() bool { return b.has(link("Edit")) })
		b.isAt("/_/link/abc")
	})
}

// After signing in, the browser shows the page that was asked for, with its query.
func TestSigningInLeadsToThePageThatWasAskedFor(t *testing.T) {
	withAndWithoutScript(t, func(d *desk) {
		b := openTab(d.t, d.base)
		b.visit("/_/links?tag=a%26b&state=active", http.StatusOK)
		b.isAt("/_/sign-in")
		b.fill(field("E-mail"), emails[admin])
		b.fill(field("Password"), password)
		b.follow(button("Sign in"))
		b.isAt("/_/links")
		if tag, state := b.query("tag"), b.query("state"); tag != "a&b" || state != "active" {
			d.t.Errorf("got the tag %q and the state %q", tag, state)
		}
		for _, next := range []string{"https://evil.example/", "//evil.example/", "/_/..//evil.example", `/_/\evil.example`} {
			b := openTab(d.t, d.base)
			b.visit("/_/sign-in?next="+url.QueryEscape(next), http.StatusOK)
			b.fill(field("E-mail"), emails[admin])
			b.fill(field("Password"), password)
			b.follow(button("Sign in"))
			b.isAt("/_/")
		}
	})
}
