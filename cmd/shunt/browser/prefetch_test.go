package browser

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/runtime"

	"shunt/engine/expect"
)

// fetchAhead are the ways in which a page has its links fetched before anybody clicks.
var fetchAhead = map[string]string{
	"prefetch":  `<script type="speculationrules">{"prefetch":[{"source":"list","urls":["%s"],"eagerness":"immediate"}]}</script>`,
	"prerender": `<script type="speculationrules">{"prerender":[{"source":"list","urls":["%s"],"eagerness":"immediate"}]}</script>`,
	"link":      `<link rel="prefetch" href="%s">`,
}

// An eagerSite is a page with a link to a short address, the short address and its target, all of one
// origin: browsers prerender no other.
type eagerSite struct {
	base string

	mu sync.Mutex
	// ahead has the paths that were fetched ahead and answered.
	ahead map[string]int
}

// serveEagerly serves a site whose page at /from/WAY/CODE has the link /CODE fetched ahead in that way;
// links of s lead to /target.
func serveEagerly(t *testing.T, s *server) *eagerSite {
	t.Helper()
	base, err := url.Parse(s.base)
	expect.OK(t, err)
	short := httputil.NewSingleHostReverseProxy(base)
	site := &eagerSite{ahead: make(map[string]int)}
	page := func(w http.ResponseWriter, body string) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte(`<!doctype html><html lang="en"><title>a page</title>` + body))
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		way, code, from := strings.Cut(strings.TrimPrefix(r.URL.Path, "/from/"), "/")
		switch {
		case from && fetchAhead[way] != "":
			page(w, fmt.Sprintf(fetchAhead[way], "/"+code)+`<a href="/`+code+`">the link</a>`)
		case r.URL.Path == "/target":
			page(w, "<h1>The target</h1>")
		case r.URL.Path == "/favicon.ico":
			w.WriteHeader(http.StatusNoContent)
		default: // as from the browser of a person
			r.Header.Set("User-Agent", strings.Replace(r.UserAgent(), "HeadlessChrome", "Chrome", 1))
			short.ServeHTTP(w, r)
		}
		if r.Header.Get("Sec-Purpose") != "" {
			site.mu.Lock()
			site.ahead[r.URL.Path]++
			site.mu.Unlock()
		}
	}))
	t.Cleanup(server.Close)
	site.base = server.URL
	return site
}

// fetchedAhead returns how often path was fetched ahead.
func (e *eagerSite) fetchedAhead(path string) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.ahead[path]
}

// A browser that has fetched a link ahead asks for it again when its visitor clicks. So each click is
// one hit, and a link for one visitor lets one through.
func TestAClickAfterAPrefetchIsAHit(t *testing.T) {
	needBrowser(t)
	s := startServer(t, localhost)
	site, token := serveEagerly(t, s), s.token()
	for way := range fetchAhead {
		t.Run(way, func(t *testing.T) {
			const visitors = 3
			for code, fields := range map[string]map[string]any{
				"every-" + way: {"url": site.base + "/target"}, "one-" + way: {"url": site.base + "/target", "max_hits": 1},
			} {
				fields["alias"] = code
				s.create(token, fields)
				through := 0
				for visitor := range visitors {
					if site.click(t, way, code, visitor) {
						through++
					}
				}
				want := visitors
				if fields["max_hits"] == 1 {
					want = 1
				}
				type figures struct {
					Hits int
					Bots struct{ Prefetches int }
				}
				got := answerOf[figures](s, token, http.MethodGet, "/stats/"+code+"?include=bots", nil)
				expect.That(t, through == want && got.Hits == want,
					"%s: got %d of %d visitors at the target and %d hits, want %d of each", code, through, visitors, got.Hits, want)
				if got.Bots.Prefetches != want { // once the link is used up, a prefetch gets 410 as a click does
					t.Errorf("%s: got %d prefetches counted, want %d", code, got.Bots.Prefetches, want)
				}
			}
		})
	}
}

// click opens the page, waits until the link was fetched ahead, and follows it. It reports whether the
// visitor is at the target.
func (e *eagerSite) click(t *testing.T, way, code string, visitor int) bool {
	t.Helper()
	b := watchedTab(t, e.base) // a 503 is what the test is about
	b.visit("/from/"+way+"/"+code, http.StatusOK)
	b.until("the link was fetched ahead", func() bool { return e.fetchedAhead("/"+code) > visitor })
	at := func(expression string) string { // empty while the next page comes
		r := quietly(b, runtime.Evaluate, runtime.EvaluateParams{Expression: expression, ReturnByValue: ptr(true)})
		var path string
		if r.Result != nil {
			_ = json.Unmarshal(r.Result.Value, &path) // an error leaves no path
		}
		return path
	}
	const whole = "document.readyState === 'complete' && document.body.innerText ? location.pathname : ''"
	at("document.querySelector('a').click()")
	var path string
	b.until("another page comes", func() bool {
		path = at(whole)
		return path != "" && !strings.HasPrefix(path, "/from/")
	})
	return path == "/target"
}
