package e2e

import (
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"shunt/bench/compare/load"
	"shunt/engine/expect"
)

// unlimited are flags of servers whose cost is measured.
var unlimited = []string{"--base-url", "http://sho.rt", "--limit-calls", "off", "--limit-creates", "off", "--limit-misses", "off", "--flush-interval", "1s"}

// figureEdges starts a writer and edges of these names.
func figureEdges(t *testing.T, names ...string) (s *edgeSite, w *siteNode) {
	s = &edgeSite{t: t, counted: make(map[string]uint64), unknown: make(map[string]uint64), args: unlimited, edgeArgs: unlimited}
	s.startWriter(filepath.Join(t.TempDir(), "data"))
	for _, name := range names {
		s.addEdge(name)
	}
	w = &siteNode{process: s.writer, url: s.writer.public, name: "writer", site: &site{t: t, token: s.writer.token("links:write")}}
	return s, w
}

// TestFiguresOfEdges measures how long after its answer at the writer an edit of a link is in force at each of three
// edges, beside 1,000 creates a second. All share the machine. It runs for SHUNTTEST_FIGURES seconds (make
// edge-figures).
func TestFiguresOfEdges(t *testing.T) {
	during := figureSeconds(t)
	s, w := figureEdges(t, "a", "b", "c")
	edit := func(method, path, body string) {
		req, err := http.NewRequest(method, w.url+"/api/v1"+path, strings.NewReader(body))
		expect.OK(t, err)
		req.Header.Set("Authorization", "Bearer "+w.site.token)
		req.Header.Set("Content-Type", "application/json")
		resp, err := edgeClient.Do(req)
		expect.OK(t, err)
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		expect.MustThat(t, err == nil && resp.StatusCode/100 == 2, "%s %s: %d %s", method, path, resp.StatusCode, text)
	}
	edit("POST", "/shorten", `{"url":"https://example.org/","alias":"probe"}`)
	var mu sync.Mutex
	var lags []time.Duration
	var beside sync.WaitGroup
	beside.Go(func() {
		n, took := w.site.load(w, 64, 1000, during)
		t.Logf("beside: %.0f writes/s, p50 %v, p99 %v", float64(n)/during.Seconds(), took(0.5), took(0.99))
	})
	for begun, n := time.Now(), 0; time.Since(begun) < during; n++ {
		target := fmt.Sprintf("https://example.org/%d", n)
		edit("PATCH", "/links/probe", `{"url":"`+target+`"}`)
		answered := time.Now()
		var edges sync.WaitGroup
		for _, e := range s.edges {
			edges.Go(func() {
				for location := ""; location != target; {
					_, location = s.follow(e.public, "probe")
					if time.Since(answered) > 10*time.Second {
						t.Errorf("an edit is not at an edge after 10 s")
						return
					}
				}
				mu.Lock()
				defer mu.Unlock()
				lags = append(lags, time.Since(answered))
			})
		}
		edges.Wait()
		time.Sleep(20 * time.Millisecond)
	}
	beside.Wait()
	slices.Sort(lags)
	t.Logf("%d edits in force at an edge after their answer at the writer: p50 %v, p99 %v, longest %v", len(lags), lags[len(lags)/2], lags[len(lags)*99/100], lags[len(lags)-1])
}

// TestFiguresOfARedirectAtAnEdge compares an edge with a server of its own: the CPU time and the latency of redirects,
// in turns. The writer takes the hits of the edge on the same cores, which does not count as the edge's.
func TestFiguresOfARedirectAtAnEdge(t *testing.T) {
	turn := figureSeconds(t) / 4
	s, w := figureEdges(t, "a")
	alone := startServer(t, filepath.Join(t.TempDir(), "alone"), unlimited...)
	plant(t, w.url, w.site.token, costLinks)
	plant(t, alone.public, alone.token("links:write"), costLinks)
	time.Sleep(3 * time.Second) // so that what the links have started ends
	edge := &siteNode{process: s.edges[0], url: s.edges[0].public, name: "edge"}
	rest := make(map[*process]float64) // CPU-s a second, without requests
	for _, p := range []*process{edge.process, alone} {
		before := clockOf(t, p.cmd.Process.Pid)
		time.Sleep(turn)
		rest[p] = (clockOf(t, p.cmd.Process.Pid) - before).Seconds() / turn.Seconds()
	}
	for _, c := range []struct {
		what string
		load.Spec
	}{
		{"one link, as fast as 64 connections can", load.Spec{Connections: 64, Links: 1}},
		{"100,000 links by popularity, 5,000/s", load.Spec{Connections: 64, Links: costLinks, Visitors: true, Rate: 5_000, Sleep: true}},
	} {
		c.Length = turn
		compareTurns(t, c.what, c.Spec, edge, alone, rest)
	}
}
