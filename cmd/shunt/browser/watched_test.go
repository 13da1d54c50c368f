package browser

import (
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// The pages of this test misbehave, each in a way that the watcher must report.
func TestTheWatcherReportsEachThingNoPageMayDo(t *testing.T) {
	needBrowser(t)
	for name, c := range map[string]struct{ policy, body, want string }{
		"a console message":        {"", `<script>console.debug("hello", 1)</script>`, `console.debug: "hello" 1`},
		"a warning":                {"", `<script>console.warn("careful")</script>`, "console.warning"},
		"an exception":             {"", `<script>null.x</script>`, "exception: Uncaught TypeError"},
		"a lost promise":           {"", `<script>Promise.reject(new Error("lost"))</script>`, "lost"},
		"a script against policy":  {"default-src 'none'", `<script>1</script>`, "issue ContentSecurityPolicyIssue"},
		"a style against policy":   {"default-src 'none'", `<p style="color: red">red</p>`, "securitypolicyviolation: style-src"},
		"a policy that is dropped": {"no-such-directive 'none'", ``, "no-such-directive"},
		"a missing part":           {"", `<img src="/missing.png" alt="">`, "404"},
		"a picture from elsewhere": {"", `<img src="http://intranet.test:1/a.png" alt="">`, "request to another host: http://intranet.test:1/a.png"},
		"a socket to elsewhere":    {"", `<script>new WebSocket("ws://intranet.test:1/")</script>`, "request to another host: ws://intranet.test:1/"},
		"an alert":                 {"", `<script>alert("boo")</script>`, "dialog, alert: boo"},
		"a question":               {"", `<script>confirm("really?")</script>`, "dialog, confirm: really?"},
		"a new window":             {"", `<script>window.open("/empty")</script>`, "window opened"},
		"an answer 500":            {"", `<img src="/broken" alt="">`, "answer 500"},
		"a hostile assignment":     {"", `<script>window.__pwned = 1</script>`, "a hostile string ran: __pwned was set"},
		"a hostile call":           {"", `<img src=x: onerror="__pwn()" alt="">`, "a hostile string ran: __pwn was called"},
		"a field without a name":   {"", `<form><input autocomplete="off"><input id="a"><label for="b">b</label></form>`, "issue GenericIssue"},
	} {
		t.Run(name, func(t *testing.T) {
			b := watchedTabOf(t, wholeBrowser, servePages(t, map[string]string{"/": c.body}, c.policy))
			b.visit("/", http.StatusOK)
			b.until("the watcher reports "+c.want, func() bool { return strings.Contains(strings.Join(b.watch.complaints(), "\n"), c.want) })
		})
	}
}

func TestTheWatcherFindsNoFaultWithAPlainPage(t *testing.T) {
	needBrowser(t)
	base := servePages(t, map[string]string{"/": `<p>Nothing here does harm.</p>`}, "default-src 'none'")
	b := watchedTab(t, base)
	b.visit("/", http.StatusOK)
	b.visit("/missing", http.StatusNotFound)
	b.settle()
	if got := b.watch.complaints(); len(got) != 0 {
		t.Errorf("got %q, want no complaint", got)
	}
}

// servePages serves pages, by path, and returns their origin. The page at /echo says where a browser
// claims that the request for it comes from.
func servePages(t *testing.T, bodies map[string]string, policy string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, found := bodies[r.URL.Path]
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", policy)
		switch {
		case r.URL.Path == "/echo":
			body = html.EscapeString(fmt.Sprintf("fetch %q origin %q", r.Header.Get("Sec-Fetch-Site"), r.Header.Get("Origin")))
		case r.URL.Path == "/broken":
			w.WriteHeader(http.StatusInternalServerError)
		case r.URL.Path == "/favicon.ico" || r.URL.Path == "/empty":
			w.WriteHeader(http.StatusNoContent)
		case !found:
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = w.Write([]byte(`<!doctype html><html lang="en"><meta name="viewport" content="width=device-width"><title>a page</title>` + body))
	}))
	t.Cleanup(server.Close)
	return server.URL
}
