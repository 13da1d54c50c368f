package browser

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"shunt/engine/expect"
)

// maxStreams is how many streams the server gives to one person.
const maxStreams = 16

// controlKey is the bit of a held key Control.
const controlKey = 2

// streams returns how many streams the desk's tabs have: they count against the limit of the person.
func (d *desk) streams() int {
	d.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel() // closes them
	for free := 0; ; free++ {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, d.base+"/api/v1/stats/link-0/live", nil)
		expect.OK(d.t, err)
		for _, c := range d.session {
			request.AddCookie(c)
		}
		response, err := d.client.Do(request)
		expect.OK(d.t, err)
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return maxStreams - free
		}
	}
}

// wantStreams waits until the desk's tabs have n streams.
func (d *desk) wantStreams(n int) {
	d.t.Helper()
	d.until("its tabs have "+strconv.Itoa(n)+" streams", func() bool { return d.streams() == n })
}

// behind opens a link in a tab behind this one, as by a click with the key Control.
func (b *tab) behind(selector string) {
	b.t.Helper()
	x, y := b.place(selector)
	for _, action := range []input.DispatchMouseEventType{input.DispatchMouseEventTypeMousePressed, input.DispatchMouseEventTypeMouseReleased} {
		call(b, input.DispatchMouseEvent, input.DispatchMouseEventParams{
			Type: action, X: x, Y: y, Button: input.MouseButtonLeft, ClickCount: 1, Modifiers: controlKey,
		})
	}
}

// pagesAt returns how many tabs of the browser show a page of the server whose path begins so.
func (b *tab) pagesAt(path string) (n int) {
	b.t.Helper()
	targets, err := chromedp.Targets(b.ctx)
	expect.OK(b.t, err)
	for _, at := range targets {
		if strings.HasPrefix(at.URL, b.base+path) {
			n++
		}
	}
	return n
}

// A browser has six connections to a server, and each stream takes one. Pages that wait in tabs behind the one that
// is seen have none, so a further page loads, and its figures are live.
func TestTwelveTabsBehindLeaveRoomForOneMore(t *testing.T) {
	d := openDesk(t, localhost, openWholeTab)
	const links = 12
	for i := range links {
		d.create(d.token, map[string]any{"url": "https://example.org/", "alias": "link-" + strconv.Itoa(i)})
	}
	d.visit("/_/links", http.StatusOK)
	for i := range links {
		d.behind(`a[href="/_/link/link-` + strconv.Itoa(i) + `"]`)
	}
	d.until("the tabs are there", func() bool { return d.pagesAt("/_/link/link-") == links })
	d.wantStreams(0)
	d.visit("/_/", http.StatusOK)
	d.until("its figures are live", func() bool { return d.reads("[data-live-state]") == "live" })
	d.wantStreams(1)
	d.visit("/_/link/link-3", http.StatusOK)
	d.hit("link-3", 5, demoVisitors[0])
	d.until("it counts", func() bool { return d.reads("[data-live-value=hits]") == "5" })
	d.wantStreams(1)
}

// beside opens a page in another window of the same person. Its watcher fails no test by itself: the window may crash.
func (b *tab) beside(path string) *tab {
	b.t.Helper()
	other := &tab{t: b.t, base: b.base, script: true, watch: newWatcher(b.base)}
	ctx, cancel := chromedp.NewContext(b.ctx, chromedp.WithListener(other.watch.see))
	other.ctx = ctx
	b.t.Cleanup(cancel)
	expect.OK(b.t, chromedp.Do(ctx))
	call(other, page.Enable, page.EnableParams{})
	call(other, network.Enable, network.EnableParams{})
	other.visit(path, http.StatusOK)
	return other
}

// wantLive waits until a window shows that a link was hit n times, and says that this is live.
func (b *tab) wantLive(n int) {
	b.t.Helper()
	b.until("it counts live", func() bool {
		return b.reads("[data-live-value=hits]") == strconv.Itoa(n) && b.reads("[data-live-state]") == "live"
	})
}

// TestTwoWindowsShareAStream: one of them has it, and feeds the other. Once that one is hidden, closed or crashes, the
// other one takes over, so it never shows figures that are no longer live.
func TestTwoWindowsShareAStream(t *testing.T) {
	d := openDesk(t, localhost, openTab)
	d.watch.busy = true
	d.create(d.token, map[string]any{"url": "https://example.org/", "alias": "link-0"})
	const path = "/_/link/link-0"
	hits := 0
	hit := func(windows ...*tab) {
		t.Helper()
		hits++
		d.hit("link-0", 1, demoVisitors[hits%len(demoVisitors)])
		for _, w := range windows {
			w.wantLive(hits)
		}
	}
	d.visit(path, http.StatusOK)
	hit(d.tab)
	for name, leave := range map[string]func(leader *tab){
		"is hidden": func(leader *tab) {
			eval[bool](leader, `Object.defineProperty(document, 'hidden', {get: () => true}), document.dispatchEvent(new Event('visibilitychange'))`)
		},
		"is closed": func(leader *tab) { expect.OK(t, chromedp.Cancel(leader.ctx)) },
		"has crashed": func(leader *tab) {
			ctx, cancel := context.WithTimeout(leader.ctx, time.Second) // it never answers
			defer cancel()
			_, _ = chromedp.Call(ctx, page.Crash, cdp.Empty{})
		},
	} {
		leader := d.beside(path)
		expect.That(t, !read[bool](d.tab, "document.hidden") && !read[bool](leader, "document.hidden"), "%s: a window is hidden before", name)
		hit(d.tab, leader)
		d.wantStreams(1)
		leave(leader)
		d.wantStreams(1)
		hit(d.tab)
	}
}
