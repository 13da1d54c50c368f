package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"shunt/engine/expect"
)

const (
	capOfTest     = 20000
	capClients    = 64 // at each node
	capKillPeriod = 2 * time.Second
	capKills      = 3

	// capReserve is what a leader that ends may use up at most: a hundredth.
	capReserve = capOfTest / 100
)

// TestACapIsNeverExceeded has 64 clients at each of three nodes follow links with a cap of 20,000, while nodes
// are killed. No link may be followed 20,001 times. In the end no node redirects any of them, and what is missing
// in the figures was granted to clients that got no redirect, or was the reserve of a leader that was killed. One link
// gets its cap with its creation; one after it was followed at all nodes; the cap of one is lowered and raised
// meanwhile.
func TestACapIsNeverExceeded(t *testing.T) {
	s := newSite(t, "a", "b", "c")
	rng := rand.New(rand.NewPCG(18, 7))
	rounds := 1
	if n, err := strconv.Atoi(os.Getenv("SHUNTTEST_ROUNDS")); err == nil {
		rounds = n
	}
	for round := range rounds {
		born, late, changed := fmt.Sprintf("born%d", round), fmt.Sprintf("late%d", round), fmt.Sprintf("changed%d", round)
		codes := []string{born, late, changed}
		s.makeCapped(born, capOfTest)
		s.makeCapped(late, nil)
		s.makeCapped(changed, 50)
		for _, n := range s.nodes { // hits from before the cap
			s.await(func() bool { return n.redirects(late) == 302 }, "an uncapped link is followed at "+n.name)
		}
		s.setCap(late, capOfTest)
		rest := s.followCapped(codes, capClients, s.nodes...)
		s.setCap(changed, capOfTest/2)
		for range capKills {
			time.Sleep(capKillPeriod)
			n := s.nodes[rng.IntN(len(s.nodes))]
			n.kill()
			n.start()
		}
		s.setCap(changed, capOfTest/4+rng.IntN(capOfTest/2))
		s.setCap(changed, capOfTest)
		calm := time.Now()
		s.awaitUsedUp(codes, s.nodes...)
		t.Logf("round %d: used up %v after the last kill", round, time.Since(calm).Round(time.Millisecond))
		rest()
		for _, code := range codes {
			answered := s.ledger(code)
			hits := s.nodes[0].hits(code)
			t.Logf("round %d: %s was followed %d times, and has %v hits; %d answers were lost or 503", round, code, answered, hits, s.lost(code).Load())
			expect.That(t, hits <= capOfTest && hits+float64(s.lost(code).Load()+capKills*capReserve) >= capOfTest,
				"%s has %v hits, and its cap is %d", code, hits, capOfTest)
		}
	}
	s.alike()
}

// makeCapped makes a link; without a cap if that is nil.
func (s *site) makeCapped(code string, limit any) {
	s.t.Helper()
	s.nodes[0].call("POST", "/shorten", map[string]any{"url": "https://example.com/" + code, "alias": code, "max_hits": limit}).want(s.t, 201)
}

// setCap sets the cap of a link, by way of any node that takes it.
func (s *site) setCap(code string, max int) {
	s.t.Helper()
	s.await(func() bool {
		for _, n := range s.nodes {
			if n.call("PATCH", "/links/"+code, map[string]any{"max_hits": max}).status == 200 {
				return true
			}
		}
		return false
	}, fmt.Sprintf("the cap of %s is %d", code, max))
}

// followCapped has clients at each node follow links. They wait a little where a link is not redirected. rest ends
// that.
func (s *site) followCapped(codes []string, clients int, nodes ...*siteNode) (rest func()) {
	stop := make(chan struct{})
	var running sync.WaitGroup
	follow := func(n *siteNode, client int) {
		for i := client; !closed(stop); i++ {
			code := codes[i%len(codes)]
			switch status, _, _ := n.redirect(code); status {
			case 302:
			case 410:
				time.Sleep(100 * time.Millisecond)
			default:
				time.Sleep(20 * time.Millisecond)
			}
		}
	}
	for _, n := range nodes {
		for c := range clients {
			running.Go(func() { follow(n, c) })
		}
	}
	return func() {
		close(stop)
		running.Wait()
	}
}

// awaitUsedUp waits until nodes say of all codes that their caps are used up.
func (s *site) awaitUsedUp(codes []string, nodes ...*siteNode) {
	s.t.Helper()
	for _, code := range codes {
		for _, n := range nodes {
			s.await(func() bool { return n.redirects(code) == 410 }, fmt.Sprintf("%s says that %s is used up", n.name, code))
		}
	}
}

// TestLinksWithACapWaitForALeader kills a node that does not lead, which changes nothing for the others, and then
// the servers of etcd: while nobody leads, links with a cap are 503, and say when to try again. At most the hit is lost
// whose write was under way: so few hits are never reserved.
func TestLinksWithACapWaitForALeader(t *testing.T) {
	s := newSite(t, "a", "b", "c")
	s.await(func() bool { return s.leader() != nil }, "a node leads")
	down := s.without(s.leader())[0]
	rest := s.without(down)
	const limit = 90
	s.makeCapped("capped", limit)
	s.makeCapped("uncapped", nil)
	s.leads("uncapped", "https://example.com/uncapped")
	follow := func(times int) {
		t.Helper()
		for i := range times {
			if status, _, err := rest[i%2].redirect("capped"); status != 302 {
				t.Fatalf("a redirect of a link with a cap, at %s: %d, %v", rest[i%2].name, status, err)
			}
		}
	}
	down.kill()
	follow(40)
	for _, m := range s.etcd.Members {
		m.Kill()
	}
	for _, n := range rest {
		resp, err := s.requests.Get(n.url + "/capped")
		expect.OK(t, err)
		resp.Body.Close()
		expect.That(t, resp.StatusCode == 503 && resp.Header.Get("Retry-After") != "",
			"a link with a cap, at %s: %d, Retry-After %q, want 503", n.name, resp.StatusCode, resp.Header.Get("Retry-After"))
		status, _, err := n.redirect("uncapped")
		expect.Equal(t, status, 302, "a link without a cap, at %s, %v", n.name, err)
	}
	for _, m := range s.etcd.Members {
		m.Start()
	}
	s.await(func() bool { return rest[0].redirects("capped") == 302 }, "the link is followed again")
	rounds := s.followCapped([]string{"capped"}, 4, rest...)
	s.awaitUsedUp([]string{"capped"}, rest...)
	rounds()
	down.start()
	s.awaitUsedUp([]string{"capped"}, down)
	for _, n := range s.nodes {
		s.await(func() bool { return n.call("GET", "/links/capped", nil).status == 200 }, n.name+" answers reads")
	}
	s.ledger("capped")
	for _, n := range s.nodes {
		link := n.call("GET", "/links/capped", nil).want(t, 200).body
		if hits, _ := link["hits"].(float64); hits > limit || hits < limit-1 || link["state"] != "exhausted" {
			t.Errorf("%s: the link has %v hits, and its state is %v; its cap is %d", n.name, link["hits"], link["state"], limit)
		}
	}
}

// TestAnIdleClusterWritesNothingToItsLog has three full nodes and an edge that nobody asks for anything, with links
// whose caps nobody has used, used up in part and used up, and one that was deleted. SHUNTTEST_IDLE is for how many
// seconds.
func TestAnIdleClusterWritesNothingToItsLog(t *testing.T) {
	s := newSite(t, "a", "b", "c")
	e := s.edge("edge-1", s.nodes[0])
	s.makeCapped("unvisited", 1)
	s.makeCapped("begun", 10)
	s.makeCapped("used-up", 1)
	s.makeCapped("deleted", 1)
	s.shorten("plain", "https://example.com/plain")
	for _, n := range []*siteNode{s.nodes[0], s.nodes[1], e} {
		s.await(func() bool { return n.redirects("begun") == 302 }, "a link with a cap is redirected at "+n.name)
		n.redirects("plain")
	}
	s.await(func() bool { return s.nodes[2].redirects("used-up") == 302 }, "a link with a cap is redirected")
	s.awaitUsedUp([]string{"used-up"}, s.nodes...)
	s.nodes[0].call("DELETE", "/links/deleted", nil).want(t, 204)
	s.ledgers([]string{"plain", "begun"})
	idle := time.Duration(numberFrom("SHUNTTEST_IDLE", 15)) * time.Second
	settle := 3 * time.Second // what the last calls had written when they were answered
	if idle >= time.Minute {
		settle = 130 * time.Second // a node tells the leader within a minute when a token was used, which writes it within another
	}
	time.Sleep(settle)
	head := s.keys()["/shunt/head"]
	expect.MustThat(t, head != "", "the log has no head")
	time.Sleep(idle)
	after := s.keys()["/shunt/head"]
	expect.Equal(t, after, head, "the head of the log of a cluster that was idle for %v", idle)
}
