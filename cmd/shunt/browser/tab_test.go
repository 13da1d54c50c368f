package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

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
	b.loaded(http.StatusOK, func() { // asked of the browser, because the page may be gone before it has answered
		h := call(b, page.GetNavigationHistory, cdp.Empty{})
		call(b, page.NavigateToHistoryEntry, page.NavigateToHistoryEntryParams{EntryID: h.Entries[h.CurrentIndex-1].ID})
	})
	b.drawn(time.Second) // a page that comes back keeps its focus
}

// loading does what makes the tab load a page, waits until that is loaded and drawn, and checks the status of its
// answer.
func (b *tab) loading(status int, do func()) {
	b.t.Helper()
	b.loaded(status, do)
	b.drawn(focusPatience)
}

// loaded does what loading does, but does not wait until the page is drawn.
func (b *tab) loaded(status int, do func()) {
	b.t.Helper()
	b.awaitPage(do)
	if got := b.watch.present(); got.status != int64(status) {
		b.t.Fatalf("%s: got status %d, want %d:\n%s", got.url, got.status, status, b.text())
	}
}

// awaitPage does what makes the tab load a page, and waits until that is loaded. A load of the page before does not
// count.
func (b *tab) awaitPage(do func()) {
	b.t.Helper()
	before := b.watch.pages()
	do()
	b.until("a page loads", func() bool { return b.watch.hasLoaded(before) })
}

// focusPatience is how long a page may take until it has the focus where it wants it.
const focusPatience = 5 * time.Second

// drawn waits until the browser has drawn a page that has just loaded, and has put the focus where
// the page wants it. No person is quicker than that, but a test is; the browser then complains that
// something else has the focus already. It gives up after limit.
func (b *tab) drawn(limit time.Duration) {
	b.t.Helper()
	for began := time.Now(); time.Since(began) < limit; time.Sleep(5 * time.Millisecond) {
		if read[bool](b, "!document.querySelector('[autofocus]') || document.activeElement !== document.body") {
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
			text, err := glance[string](b, textOfPage)
			b.t.Fatalf("%s: waited in vain until %s; the page says (%v):\n%s", b.watch.address(), what, err, text)
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

// read does what eval does for an expression that changes nothing: if another page replaces the present one meanwhile,
// it reads that.
func read[T any](b *tab, expression string) (value T) {
	b.t.Helper()
	err := error(nil)
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if value, err = glance[T](b, expression); err == nil {
			return value
		}
	}
	b.t.Fatalf("reading %.200s: %v", expression, err)
	return value
}

// glance does what read does, once.
func glance[T any](b *tab, expression string) (value T, err error) {
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	r, err := chromedp.Call(ctx, runtime.Evaluate, runtime.EvaluateParams{Expression: expression, ReturnByValue: ptr(true)})
	switch {
	case err != nil:
		return value, err
	case r.ExceptionDetails != nil:
		return value, fmt.Errorf("%s %+v", r.ExceptionDetails.Text, r.ExceptionDetails.Exception)
	case len(r.Result.Value) > 0:
		err = json.Unmarshal(r.Result.Value, &value)
	}
	return value, err
}

const textOfPage = "document.body ? document.body.innerText : ''"

// text returns the text that the page shows.
func (b *tab) text() string {
	b.t.Helper()
	return read[string](b, textOfPage)
}

// content returns all text of the page, also what it does not show now and what is in fields.
func (b *tab) content() string {
	b.t.Helper()
	return read[string](b, `(document.body ? document.body.textContent : '') + '\n' + document.title + '\n' +
		[...document.querySelectorAll('input, textarea')].map(e => e.value).join('\n')`)
}

// sees waits until the page shows a text.
func (b *tab) sees(text string) {
	b.t.Helper()
	text = b.words.Say(text)
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
	return read[string](b, "location.pathname")
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
	values, err := url.ParseQuery(strings.TrimPrefix(read[string](b, "location.search"), "?"))
	expect.OK(b.t, err)
	return values.Get(name)
}
