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

// linkOfTargets has a rule and a split, and so four targets.
const linkOfTargets = `{"url":"https://own.example/","alias":"s",
	"rules":[{"url":"https://rule.example/","conditions":[{"type":"query-param","match_key":"r","match_value":"1"}]}],
	"split":[{"url":"https://a.example/","weight":70},{"url":"https://b.example/","weight":30}]}`

// A targetLoad is visitors who follow linkOfTargets at a server that is killed and started again.
type targetLoad struct {
	t        *testing.T
	requests *http.Client
	server   atomic.Pointer[process] // the one that runs, or is about to
	answered map[string]*atomic.Int64
	lost     atomic.Int64             // requests without an answer, which may have counted
	first    []atomic.Pointer[string] // by visitor: where the split sent it at first
}

// TestKillsLoseNoHitOfATarget has visitors follow a link with a split and a rule, while the server is killed again and
// again. At the end, each target has the hits that were answered with it, and together they have those of the link. A
// request whose answer was lost may have counted. SHUNTTEST_TARGET_KILLS is how often the server is killed.
func TestKillsLoseNoHitOfATarget(t *testing.T) {
	const visitors, clients = 500, 8
	kills := numberOf(t, "SHUNTTEST_TARGET_KILLS", 3)
	args := append([]string{"--limit-misses", "off"}, journalInMemory(t)...)
	p := startServer(t, t.TempDir(), args...)
	token := p.token("links:write", "stats:read")
	l := &targetLoad{
		t: t, first: make([]atomic.Pointer[string], visitors),
		requests: &http.Client{
			Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second, // else it may send a GET twice
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		answered: map[string]*atomic.Int64{"https://own.example/": {}, "https://rule.example/": {}, "https://a.example/": {}, "https://b.example/": {}},
	}
	l.server.Store(p)
	callOf(l.requests, p.public, token, "POST", "/shorten", json.RawMessage(linkOfTargets)).want(t, 201)
	end := l.begin(clients)
	for range kills {
		time.Sleep(300 * time.Millisecond)
		p := l.server.Load()
		p.kill()
		l.server.Store(startServer(t, p.dir, args...))
	}
	end()
	all := l.compare(token)
	l.server.Load().terminate()
	t.Logf("%d kills, %d hits answered, %d answers lost", kills, all, l.lost.Load())
}

// begin starts clients that follow the link until end.
func (l *targetLoad) begin(clients int) (end func()) {
	stop := make(chan struct{})
	var working sync.WaitGroup
	for c := range clients {
		rng := rand.New(rand.NewPCG(uint64(c), 13))
		working.Go(func() {
			for !closed(stop) && !l.t.Failed() {
				l.visit(rng)
			}
		})
	}
	return func() {
		close(stop)
		working.Wait()
		l.requests.CloseIdleConnections()
	}
}

// visit follows the link as some visitor, one time in four as the rule wants it, and notes the answer.
func (l *targetLoad) visit(rng *rand.Rand) {
	n, path := rng.IntN(len(l.first)), "/s"
	if rng.IntN(4) == 0 {
		path += "?r=1"
	}
	req, err := http.NewRequest(http.MethodGet, l.server.Load().public+path, nil)
	expect.NoError(l.t, err)
	req.Header.Set("User-Agent", fmt.Sprintf("Mozilla/5.0 (X11; Linux x86_64) Firefox/%d.0", n))
	resp, err := l.requests.Do(req)
	if err != nil {
		if dialing := new(net.OpError); !errors.As(err, &dialing) || dialing.Op != "dial" { // else nobody was asked
			l.lost.Add(1)
		}
		time.Sleep(5 * time.Millisecond)
		return
	}
	resp.Body.Close()
	location := resp.Header.Get("Location")
	count := l.answered[location]
	if resp.StatusCode != http.StatusFound || count == nil {
		l.t.Errorf("got %d to %q", resp.StatusCode, location)
		return
	}
	count.Add(1)
	if path == "/s" && !l.first[n].CompareAndSwap(nil, &location) && *l.first[n].Load() != location {
		l.t.Errorf("visitor %d was sent to %s, and before to %s", n, location, *l.first[n].Load())
	}
}

// compare compares the figures of the link and of its targets with what was answered. It returns how many hits were.
func (l *targetLoad) compare(token string) (all int64) {
	var stats struct {
		Hits    int64
		Targets []struct {
			URL  string
			Hits int64
		}
	}
	r := callOf(l.requests, l.server.Load().public, token, "GET", "/stats/s?include=targets", nil).want(l.t, 200)
	expect.OK(l.t, json.Unmarshal([]byte(r.text), &stats))
	sum, lost := int64(0), l.lost.Load()
	for _, of := range stats.Targets {
		got, want := of.Hits, l.answered[of.URL].Load()
		expect.That(l.t, want <= got && got <= want+lost, "%s has %d hits; %d were answered, and %d answers were lost", of.URL, got, want, lost)
		sum, all = sum+got, all+want
	}
	expect.That(l.t, len(stats.Targets) == 4 && sum == stats.Hits && all <= sum && sum <= all+lost,
		"the link has %d hits, its %d targets %d; %d were answered, and %d answers were lost", stats.Hits, len(stats.Targets), sum, all, lost)
	return all
}
