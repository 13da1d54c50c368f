package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"shunt/engine/expect"
)

// TestKillsLoseNoHitOfATarget has visitors follow a link with a split and a rule, while the server is killed again and
// again. At the end, each target has the hits that were answered with it, and together they have those of the link. A
// request whose answer was lost may have counted. SHUNTTEST_TARGET_KILLS is how often the server is killed.
func TestKillsLoseNoHitOfATarget(t *testing.T) {
	const visitors, clients = 500, 8
	kills := numberOf(t, "SHUNTTEST_TARGET_KILLS", 3)
	args := append([]string{"--limit-misses", "off"}, journalInMemory(t)...)
	p := startServer(t, t.TempDir(), args...)
	token := p.token("links:write", "stats:read")
	requests := &http.Client{
		Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second, // else it may send a GET twice
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	callOf(requests, p.public, token, "POST", "/shorten", json.RawMessage(`{"url":"https://own.example/","alias":"s",
		"rules":[{"url":"https://rule.example/","conditions":[{"type":"query-param","match_key":"r","match_value":"1"}]}],
		"split":[{"url":"https://a.example/","weight":70},{"url":"https://b.example/","weight":30}]}`)).want(t, 201)
	answered := map[string]*atomic.Int64{"https://own.example/": {}, "https://rule.example/": {}, "https://a.example/": {}, "https://b.example/": {}}
	first := make([]atomic.Pointer[string], visitors) // where a visitor was sent at first
	var server atomic.Pointer[process]
	server.Store(p)
	var lost atomic.Int64
	visit := func(rng *rand.Rand) {
		n := rng.IntN(visitors)
		path := "/s"
		if rng.IntN(4) == 0 {
			path += "?r=1"
		}
		req, err := http.NewRequest(http.MethodGet, server.Load().public+path, nil)
		expect.NoError(t, err)
		req.Header.Set("User-Agent", fmt.Sprintf("Mozilla/5.0 (X11; Linux x86_64) Firefox/%d.0", n))
		resp, err := requests.Do(req)
		if err != nil {
			if dialing := new(net.OpError); !errors.As(err, &dialing) || dialing.Op != "dial" { // else nobody was asked
				lost.Add(1)
			}
			time.Sleep(5 * time.Millisecond)
			return
		}
		resp.Body.Close()
		location := resp.Header.Get("Location")
		count := answered[location]
		if resp.StatusCode != http.StatusFound || count == nil {
			t.Errorf("got %d to %q", resp.StatusCode, location)
			return
		}
		count.Add(1)
		if path == "/s" && !first[n].CompareAndSwap(nil, &location) && *first[n].Load() != location {
			t.Errorf("visitor %d was sent to %s, and before to %s", n, location, *first[n].Load())
		}
	}
	stop := make(chan struct{})
	var working sync.WaitGroup
	for c := range clients {
		rng := rand.New(rand.NewPCG(uint64(c), 13))
		working.Go(func() {
			for !closed(stop) && !t.Failed() {
				visit(rng)
			}
		})
	}
	for range kills {
		time.Sleep(300 * time.Millisecond)
		p := server.Load()
		p.kill()
		server.Store(startServer(t, p.dir, args...))
	}
	close(stop)
	working.Wait()
	requests.CloseIdleConnections()
	var stats struct {
		Hits    int64
		Targets []struct {
			Target uint8
			URL    string
			Hits   int64
		}
	}
	r := callOf(requests, server.Load().public, token, "GET", "/stats/s?include=targets", nil).want(t, 200)
	expect.OK(t, json.Unmarshal([]byte(r.text), &stats))
	var sum, all int64
	for _, of := range stats.Targets {
		got, want := of.Hits, answered[of.URL].Load()
		expect.That(t, want <= got && got <= want+lost.Load(), "%s has %d hits; %d were answered, and %d answers were lost", of.URL, got, want, lost.Load())
		sum, all = sum+got, all+want
	}
	expect.That(t, len(stats.Targets) == 4 && sum == stats.Hits && all <= sum && sum <= all+lost.Load(),
		"the link has %d hits, its %d targets %d; %d were answered, and %d answers were lost", stats.Hits, len(stats.Targets), sum, all, lost.Load())
	server.Load().terminate()
	t.Logf("%d kills, %d hits answered, %d answers lost", kills, all, lost.Load())
}
