package browser

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"

	"shunt/engine/expect"
)

// This file is what a person does with a tab as a whole. Everything in it works without script too,
// because the browser evaluates the tests' expressions also where pages may run none; only their
// promises and timers do not come then.

func ptr[T any](v T) *T { return &v }

// visit opens the page at path, as by typing its address, and checks the status of its answer.
func (b *tab) visit(path string, status int) {
	b.t.Helper()
	b.loading(status, func() {
		b.watch.leaving(func() {
			expect.MustEqual(b.t, call(b, page.Navigate, page.NavigateParams{URL: b.base + path}).ErrorText, "", b.base+path)
		})
	})
}

// reload loads the page again.
func (b *tab) reload() {
	b.t.Helper()
	b.loading(http.StatusOK, func() { b.watch.leaving(func() { call(b, page.Reload, page.ReloadParams{}) }) })
}

// back goes back to the page before.
func (b *tab) back() {
	b.t.Helper()
	b.loading(http.StatusOK, func() { // asked of the browser, because the page may be gone before it has answered
		h := call(b, page.GetNavigationHistory, cdp.Empty{})
		call(b, page.NavigateToHistoryEntry, page.NavigateToHistoryEntryParams{EntryID: h.Entries[h.CurrentIndex-1].ID})
	})
}

// loading does what makes the tab load a page, waits until that is loaded, and checks the status of
// its answer.
func (b *tab) loading(status int, do func()) {
	b.t.Helper()
	before := b.watch.loads()
	do()
	b.until("a page loads", func() bool { return b.watch.loads() > before })
	if got := b.watch.present(); got.status != int64(status) {
		b.t.Fatalf("%s: got status %d, want %d:\n%s", got.url, got.status, status, b.text())
	}
	b.drawn()
}

// drawn waits until the browser has drawn a page that has just loaded, and has put the focus where
// the page wants it. No person is quicker than that, but a test is; the browser then complains that
// something else has the focus already. A page that comes back keeps its focus, so drawn gives up
// soon.
func (b *tab) drawn() {
	b.t.Helper()
	const soon = time.Second
	for began := time.Now(); time.Since(began) < soon; time.Sleep(5 * time.Millisecond) {
		if eval[bool](b, "!document.querySelector('[autofocus]') || document.activeElement !== document.body") {
			return
		}
	}
}

// until waits until ok. It fails the test with what was waited for, and the text of the page.
func (b *tab) until(what string, ok func() bool) {
	b.t.Helper()
	const pause = 10 * time.Millisecond
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(pause) {
		if time.Now().After(deadline) {
			b.t.Fatalf("%s: waited in vain until %s; the page says:\n%s", b.watch.address(), what, b.text())
		}
	}
}

// eval returns the value of an expression in the page. It is the test's, not the page's: no policy
// of the page holds for it.
func eval[T any](b *tab, expression string) (value T) {
	b.t.Helper()
	r := call(b, runtime.Evaluate, runtime.EvaluateParams{
		Expression: expression, ReturnByValue: ptr(true), AwaitPromise: ptr(true),
	})
	if r.ExceptionDetails != nil {
		b.t.Fatalf("evaluating %.200s: %s %+v", expression, r.ExceptionDetails.Text, r.ExceptionDetails.Exception)
	}
	if len(r.Result.Value) > 0 {
		expect.OK(b.t, json.Unmarshal(r.Result.Value, &value), "evaluating %.200s", expression)
	}
	return value
}

// text returns the text that the page shows.
func (b *tab) text() string {
	b.t.Helper()
	return eval[string](b, "document.body ? document.body.innerText : ''")
}

// content returns all text of the page, also what it does not show now and what is in fields.
func (b *tab) content() string {
	b.t.Helper()
	return eval[string](b, `(document.body ? document.body.textContent : '') + '\n' + document.title + '\n' +
		[...document.querySelectorAll('input, textarea')].map(e => e.value).join('\n')`)
}

// sees waits until the page shows a text.
func (b *tab) sees(text string) {
	b.t.Helper()
	b.until("it says "+text, func() bool { return strings.Contains(b.text(), text) })
}

// seesNot checks that the page has none of the texts.
func (b *tab) seesNot(texts ...string) {
	b.t.Helper()
	content := b.content()
	for _, text := range texts {
		if strings.Contains(content, text) {
			b.t.Errorf("%s: it has %q, want nothing of it:\n%s", b.watch.address(), text, content)
		}
	}
}

// isAt checks that the tab shows the page at path, whatever its query.
func (b *tab) isAt(path string) {
	b.t.Helper()
	if got := b.path(); got != path {
		b.t.Fatalf("got the page at %s, want %s; it says:\n%s", got, path, b.text())
	}
}

// path returns the path of the present page.
func (b *tab) path() string {
	b.t.Helper()
	return eval[string](b, "location.pathname")
}

// enter gives the tab the cookies of a session (server.logIn), without using a page.
func (b *tab) enter(session []*http.Cookie) {
	b.t.Helper()
	for _, c := range session {
		sameSite := map[http.SameSite]network.CookieSameSite{
			http.SameSiteStrictMode: network.CookieSameSiteStrict, http.SameSiteLaxMode: network.CookieSameSiteLax,
		}[c.SameSite]
		call(b, network.SetCookie, network.SetCookieParams{
			URL: b.base, Name: c.Name, Value: c.Value, Path: c.Path, Secure: &c.Secure, HTTPOnly: &c.HttpOnly, SameSite: sameSite,
		})
	}
}

// query returns the value of a parameter of the present page's address.
func (b *tab) query(name string) string {
	b.t.Helper()
	values, err := url.ParseQuery(strings.TrimPrefix(eval[string](b, "location.search"), "?"))
	expect.OK(b.t, err)
	return values.Get(name)
}
