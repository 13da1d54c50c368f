package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"shunt/engine/expect"
)

// Real proxies before two servers, with the files that are shipped, take the 503 of a prefetch as an
// answer: they ask no other server, and put none aside.
func TestAPrefetchIsNoFailureToProxies(t *testing.T) {
	if os.Getenv("SHUNTTEST_DESYNC") == "" {
		t.Skip("make desync runs this test: it needs nginx and haproxy")
	}
	const prefetches, clicks = 40, 20 // nginx puts a server aside after one failure, HAProxy after ten
	for name := range fronts {
		t.Run(name, func(t *testing.T) {
			servers := [2]*process{}
			for i := range servers {
				servers[i] = startServer(t, filepath.Join(t.TempDir(), "data"), "--trusted-proxy", "127.0.0.1")
			}
			p := startProxy(t, name, servers[0], servers[1])
			p.create("known", "http://a/", 302)
			second := *p
			second.server, second.token = servers[1], servers[1].token()
			second.create("known", "http://a/", 302)
			for range prefetches {
				r := p.do("GET", "/known", "", "Sec-Purpose", "prefetch", "User-Agent", "Mozilla/5.0 Firefox/1")
				expect.MustThat(t, r.StatusCode == 503 && r.Header.Get("Cache-Control") == "no-store" && r.Header.Get("Location") == "" && r.text == "",
					"a prefetch: got %d %v %q", r.StatusCode, r.Header, r.text)
			}
			for range clicks {
				expect.MustEqual(t, p.do("GET", "/known", "", "User-Agent", "Mozilla/5.0 Firefox/1").StatusCode, 302, "a click")
			}
			for i, server := range servers {
				r := shunt(t, "", nil, "stats", "known", "--json", "--include", "bots", "--data", server.dir)
				got := strings.Join(strings.Fields(r.stdout), "")
				expect.That(t, strings.Contains(got, `"hits":10,`) && strings.Contains(got, `"bots":{"bots":0,"prefetches":20,"heads":0}`),
					"server %d: got %s %s, want half of %d prefetches and of %d clicks", i, got, r.stderr, prefetches, clicks)
			}
		})
	}
}
