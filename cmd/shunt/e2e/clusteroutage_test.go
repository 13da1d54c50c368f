package e2e

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"shunt/engine/expect"
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
	s.shorten("hot", "https://example.com/")
	stop := make(chan struct{})
	var clients sync.WaitGroup
	for _, n := range s.nodes {
		clients.Go(func() {
			for !closed(stop) {
				if status, _, err := n.redirect("hot"); err != nil || status != 302 {
					t.Errorf("%s: a redirect: %d, %v", n.name, status, err)
					return
				}
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
			a := n.call("POST", "/shorten", map[string]any{"url": "https://example.com/", "alias": "during"})
			expect.Equal(t, a.status, 503, "%s: a write without a majority of etcd %v: %s", n.name, a.err, a.text)
			refused++
		}
	}
	for _, n := range s.nodes {
		a := n.call("GET", "/links", nil)
		expect.That(t, a.status == 503 && a.body["code"] == "stale", "%s: the API after %v: %d %s, want 503 stale", n.name, outage, a.status, a.text)
	}
	for _, m := range s.etcd.Members[:2] {
		m.Start()
	}
	back := time.Now()
	took := s.writesAfter(back, s.nodes...)
	close(stop)
	clients.Wait()
	s.await(s.caughtUp, "all nodes have caught up")
	total := s.ledger("hot")
	t.Logf("%v without a majority: %d redirects, %d writes refused; writes again %v after its return", outage, total, refused, took.Round(time.Millisecond))
	s.alike()
}

// inDomain is between the code and the domain of a link of another domain than the default one, where clients name it.
const inDomain = "?domain="

// hits returns the hits of a code as a node counts them.
func (n *siteNode) hits(code string) float64 {
	hits, _ := n.call("GET", "/links/"+code, nil).want(n.site.t, 200).body["hits"].(float64)
	return hits
}

// ledger waits until each node has the hits of a code that the clients of all nodes were answered, no
// more and no less, and equal figures. A redirect whose answer was lost may have counted.
func (s *site) ledger(code string) (total int64) {
	s.t.Helper()
	s.ledgers([]string{code})
	return s.answered(code).Load()
}

// ledgers is ledger for many codes, which nobody follows meanwhile.
func (s *site) ledgers(codes []string) {
	s.t.Helper()
	for _, code := range codes {
		for _, n := range s.nodes {
			answered := float64(s.answered(code).Load())
			s.await(func() bool { return n.hits(code) >= answered }, fmt.Sprintf("%s has %v hits of %q", n.name, answered, code))
		}
		s.await(func() bool { return s.figuresAgree(code) }, "all nodes have equal figures of "+code)
	}
	time.Sleep(time.Second) // for those that come late, or twice
	for _, code := range codes {
		answered, lost := s.answered(code).Load(), s.lost(code).Load()
		for _, n := range s.nodes {
			if got := n.hits(code); got < float64(answered) || got > float64(answered+lost) {
				s.t.Errorf("%s has %v hits of %q, the clients of all nodes were answered %d (and %d answers were lost)", n.name, got, code, answered, lost)
			}
		}
		expect.That(s.t, s.figuresAgree(code), "the nodes have different figures of %s", code)
	}
}

// figuresAgree reports whether all nodes have the same hits and visitors of a code.
func (s *site) figuresAgree(code string) bool {
	figures := make(map[string]bool)
	for _, n := range s.nodes {
		path := "/stats/" + code + "?interval=day"
		if name, domain, other := strings.Cut(code, inDomain); other {
			path = "/stats/" + name + "?interval=day&domain=" + domain
		}
		f := n.call("GET", path, nil).want(s.t, 200)
		figures[fmt.Sprintf("hits %v, unique %v, by day %v", f.body["hits"], f.body["unique"], f.body["buckets"])] = true
	}
	return len(figures) == 1
}
