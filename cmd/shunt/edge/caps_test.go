package edge

import (
	"encoding/json"
	"sync"
	"sync/atomic"
	"testing"

	"shunt/api/edges"
	"shunt/engine"
	"shunt/engine/expect"
)

// TestCapsAreExactOverAWriterAndItsEdges follows links with caps at two edges and their writer at once, and cuts the
// connections of one edge: no cap is exceeded, all hits are at the writer, and what is answered is at most what is
// counted.
func TestCapsAreExactOverAWriterAndItsEdges(t *testing.T) {
	w := newWriter(t)
	caps := map[string]uint64{"once": 1, "some": 40, "many": 300}
	for code, limit := range caps {
		w.link(code, "https://a.example/"+code, limit)
	}
	secret, _ := w.token("frankfurt")
	line := newFlaky(t, w.address, 7)
	e1 := newEdge(t, line.Addr().String(), secret)
	e1.startEdge()
	secret, _ = w.token("paris")
	e2 := newEdge(t, w.address, secret)
	e2.startEdge()
	var mu sync.Mutex
	answered := make(map[string]uint64)
	var cut atomic.Int64
	var visitors sync.WaitGroup
	for i, at := range []*machine{w, e1, e1, e2, e2, e1} {
		visitors.Go(func() {
			for n := range 150 {
				for code := range caps {
					if status, _ := at.get(code); status == 302 {
						mu.Lock()
						answered[code]++
						mu.Unlock()
					}
				}
				if i == 1 && n%40 == 20 {
					line.cut()
					cut.Add(1)
				}
			}
		})
	}
	visitors.Wait()
	for code, limit := range caps {
		// While the line is cut, visitors of that edge get 503; so the cap may not be used up yet.
		for _, m := range []*machine{w, e1, e2} {
			until(t, "it is used up everywhere", func() bool {
				status, _ := m.get(code)
				if status == 302 {
					answered[code]++
				}
				return status == 410
			})
		}
		got := w.hits(code)
		expect.That(t, got == limit, "%s has %d hits, its cap is %d", code, got, limit)
		expect.That(t, answered[code] <= limit, "%s was redirected %d times, its cap is %d", code, answered[code], limit)
	}
	expect.That(t, cut.Load() == 4 && answered["many"] > 200, "%d cuts, %v answered", cut.Load(), answered)
	for _, e := range []*machine{e1, e2} {
		expect.That(t, e.rows.Metrics().OutboxNext == 1, "%s records hits of links with a cap itself", e.address)
	}
}

// TestALinkWithACapNeedsTheWriter stops the writer: 503 with Retry-After, and nothing is used up.
func TestALinkWithACapNeedsTheWriter(t *testing.T) {
	w := newWriter(t)
	w.link("capped", "https://a.example/", 3)
	secret, _ := w.token("frankfurt")
	e := newEdge(t, w.address, secret)
	e.startEdge()
	e.redirects("capped", "https://a.example/")
	w.stop()
	for range 3 {
		a := e.ask("GET", "/capped", "", "Accept", "application/json")
		expect.That(t, a.status == 503 && a.header.Get("Retry-After") != "" && a.code() == "cap_elsewhere", "without the writer: %+v", a)
	}
	w.start()
	e.redirects("capped", "https://a.example/")
	e.redirects("capped", "https://a.example/")
	expect.Equal(t, w.hits("capped"), uint64(3), "hits")
	a := e.ask("GET", "/capped", "")
	expect.Equal(t, a.status, 410, "a fourth visitor")
}

// TestQuestionsAboutCapsAreChecked asks what no edge asks.
func TestQuestionsAboutCapsAreChecked(t *testing.T) {
	w := newWriter(t)
	w.link("capped", "https://a.example/", 3)
	secret, _ := w.token("frankfurt")
	l, ok := w.engine.Resolve(engine.KeyView{Domain: engine.DefaultDomain, Code: []byte("capped")})
	expect.MustThat(t, ok, "no link")
	id := l.ID()
	l.Release()
	visit := []engine.CapVisit{{Visitor: 1, Agent: 0xffff, Country: 255, Referrer: "news.example"}}
	ask := func(asks []engine.CapAsk) answer {
		body, err := json.Marshal(asks)
		expect.OK(t, err)
		return w.ask("POST", "/api/v1"+edges.CapsPath, string(body), "Authorization", "Bearer "+secret)
	}
	for name, asks := range map[string][]engine.CapAsk{
		"more hits than visits": {{ID: id, Code: "capped", Hits: 2, Visits: visit}},
		"too many links":        make([]engine.CapAsk, engine.MaxCapAsks+1),
		"too many visits":       {{ID: id, Code: "capped", Hits: edges.MaxCapVisits + 1, Visits: make([]engine.CapVisit, edges.MaxCapVisits+1)}},
	} {
		expect.Equal(t, ask(asks).status, 400, name)
	}
	a := ask([]engine.CapAsk{
		{ID: id + 1, Code: "capped", Hits: 1, Visits: visit}, {ID: id, Code: "other", Hits: 1, Visits: visit}, {ID: id, Code: "../", Hits: 1, Visits: visit},
	})
	expect.Equal(t, a.body, `[{"granted":0,"generation":0,"spent":false},{"granted":0,"generation":0,"spent":false},{"granted":0,"generation":0,"spent":false}]`+"\n", "links that are not there")
	expect.Equal(t, w.hits("capped"), uint64(0), "hits")
	a = ask([]engine.CapAsk{{ID: id, Code: "capped", Hits: 4, Visits: append(visit, visit[0], visit[0], visit[0])}})
	expect.Equal(t, a.body, `[{"granted":3,"generation":0,"spent":true}]`+"\n", "four hits of a cap of three")
	stats, err := w.engine.Stats(t.Context(), engine.Key{Domain: engine.DefaultDomain, Code: "capped"})
	expect.That(t, err == nil && stats.Hits == 3 && stats.Unique == 1, "got %+v, %v", stats, err)
}
