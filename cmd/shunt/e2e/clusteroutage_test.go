package e2e

import (
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestRedirectsAndCountsOutliveALostMajorityOfEtcd stops two of three servers of etcd for some seconds
// (SHUNTTEST_OUTAGE, by default 14). Meanwhile every redirect is answered and none is lost, writes are 503
// and change nothing, and the API says that it is stale. Afterwards everything works again.
func TestRedirectsAndCountsOutliveALostMajorityOfEtcd(t *testing.T) {
	outage := 14 * time.Second
	if n, err := strconv.Atoi(os.Getenv("SHUNTTEST_OUTAGE")); err == nil {
		outage = time.Duration(n) * time.Second
	}
	s := newSite(t, "a", "b", "c")
	s.nodes[0].call("POST", "/shorten", map[string]any{"url": "https://example.com/", "alias": "hot"}).want(t, 201)
	s.leads("hot", "https://example.com/")
	before := make(map[*siteNode]float64)
	for _, n := range s.nodes {
		before[n] = n.hits("hot")
	}
	stop := make(chan struct{})
	answered := make([]atomic.Int64, len(s.nodes))
	var clients sync.WaitGroup
	for i, n := range s.nodes {
		clients.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if status, _, err := n.redirect("hot"); err != nil || status != 302 {
					t.Errorf("%s: a redirect: %d, %v", n.name, status, err)
					return
				}
				answered[i].Add(1)
				time.Sleep(time.Millisecond)
			}
		})
	}
	for _, m := range s.etcd.Members[:2] {
		m.Kill()
	}
	refused := 0
	for begun := time.Now(); time.Since(begun) < outage; time.Sleep(300 * time.Millisecond) {
		for _, n := range s.nodes {
			if a := n.call("POST", "/shorten", map[string]any{"url": "https://example.com/", "alias": "during"}); a.status != 503 {
				t.Errorf("%s: a write without a majority of etcd: %d %v: %s", n.name, a.status, a.err, a.text)
			}
			refused++
		}
	}
	for _, n := range s.nodes {
		if a := n.call("GET", "/links", nil); a.status != 503 || a.body["code"] != "stale" {
			t.Errorf("%s: the API after %v: %d %s, want 503 stale", n.name, outage, a.status, a.text)
		}
	}
	for _, m := range s.etcd.Members[:2] {
		m.Start()
	}
	back := time.Now()
	took := s.writesAfter(back, s.nodes...)
	close(stop)
	clients.Wait()
	s.await(s.caughtUp, "all nodes have caught up")
	var total int64
	for i := range s.nodes {
		total += answered[i].Load()
	}
	s.ledger("hot", before, answered)
	t.Logf("%v without a majority: %d redirects, %d writes refused; writes again %v after its return", outage, total, refused, took.Round(time.Millisecond))
	s.alike()
}

// hits returns the hits of a code as a node counts them.
func (n *siteNode) hits(code string) float64 {
	hits, _ := n.call("GET", "/links/"+code, nil).want(n.site.t, 200).body["hits"].(float64)
	return hits
}

// ledger compares the hits of a code at each node with those that its clients were answered.
func (s *site) ledger(code string, before map[*siteNode]float64, answered []atomic.Int64) {
	s.t.Helper()
	for i, n := range s.nodes {
		if got, want := n.hits(code)-before[n], float64(answered[i].Load()); got != want {
			s.t.Errorf("%s counted %v redirects of %q, its clients %v", n.name, got, code, want)
		}
	}
}
