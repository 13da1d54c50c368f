package edge

import (
	"fmt"
	"testing"
	"time"

	"shunt/api/absent"
	"shunt/engine/expect"
)

// TestAFreshLinkIsNoMissAtAnEdge makes links and follows each at an edge at once, by event loops and by fasthttp, or
// asks for its preview or QR code.
func TestAFreshLinkIsNoMissAtAnEdge(t *testing.T) {
	w := newWriter(t)
	secret, _ := w.token("frankfurt")
	e := newEdge(t, w.address, secret)
	e.startEdge()
	until(t, "the edge has met its writer", func() bool { return !e.node.stale() })
	lates := 0
	for i := range 100 {
		code := fmt.Sprintf("fresh%d", i)
		w.link(code, "https://a.example/", 0)
		path, want := "/"+code, 302
		switch i % 4 {
		case 1:
			path += "&x=1" // not a plain request
		case 2:
			path, want = path+"+", 200
		case 3:
			path, want = path+".svg", 200
		}
		began := time.Now()
		a := e.ask("GET", path, "")
		// A visitor waits so long at most; on a busy machine the edge may need longer.
		late := a.status == 404 && time.Since(began) >= absent.Patience
		expect.That(t, a.status == want || late, "%s: got %d after %v, want %d", path, a.status, time.Since(began), want)
		if late {
			lates++
		}
	}
	expect.That(t, lates <= 20, "%d of 100 fresh links were misses", lates)
	expect.Equal(t, e.ask("GET", "/nothing", "").status, 404, "a link that does not exist")
	w.link("nothing", "https://a.example/", 0)
	e.redirects("nothing", "https://a.example/")
	w.stop()
	began := time.Now()
	expect.Equal(t, e.ask("GET", "/gone", "").status, 404, "without the writer")
	expect.That(t, time.Since(began) < 3*time.Second, "that took %v", time.Since(began))
}
