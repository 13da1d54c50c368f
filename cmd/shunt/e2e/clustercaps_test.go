package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"
)

const (
	capOfTest     = 1000
	capClients    = 64 // at each node
	capKillPeriod = 2 * time.Second
)

// TestACapIsNeverExceeded has 64 clients at each of three nodes follow links with a cap of 1,000, while nodes
// are killed. No link may be followed 1,001 times; when all nodes are back, each must have been followed
// 1,000 times, and no node may redirect it any more. One link gets its cap with its creation; one after it
// was followed at all nodes; the cap of one is lowered and raised meanwhile.
func TestACapIsNeverExceeded(t *testing.T) {
	s := newSite(t, "a", "b", "c")
	rng := rand.New(rand.NewPCG(18, 7))
	rounds := 1
	if n, err := strconv.Atoi(os.Getenv("SHUNTTEST_ROUNDS")); err == nil {
		rounds = n
	}
	for round := range rounds {
		born, late, changed := fmt.Sprintf("born%d", round), fmt.Sprintf("late%d", round), fmt.Sprintf("changed%d", round)
		made := func(code string, max any) {
			s.nodes[0].call("POST", "/shorten", map[string]any{"url": "https://example.com/" + code, "alias": code, "max_hits": max}).want(t, 201)
		}
		made(born, capOfTest)
		made(late, nil)
		made(changed, 50)
		for _, n := range s.nodes { // hits that no block covers
			s.await(func() bool {
				status, _, _ := n.redirect(late)
				return status == 302
			}, "an uncapped link is followed at "+n.name)
		}
		s.setCap(late, capOfTest)
		stop := make(chan struct{})
		var clients sync.WaitGroup
		for _, n := range s.nodes {
			for c := range capClients {
				clients.Go(func() { n.followCapped(stop, []string{born, late, changed}, c) })
			}
		}
		s.setCap(changed, 500)
		for range 3 {
			time.Sleep(capKillPeriod)
			n := s.nodes[rng.IntN(len(s.nodes))]
			n.kill()
			n.start()
		}
		s.setCap(changed, 400+rng.IntN(200))
		s.setCap(changed, capOfTest)
		calm := time.Now()
		for _, code := range []string{born, late, changed} {
			for _, n := range s.nodes {
				s.await(func() bool {
					status, _, _ := n.redirect(code)
					return status == 410
				}, fmt.Sprintf("%s says that %s is used up", n.name, code))
			}
		}
		t.Logf("round %d: used up %v after the last kill", round, time.Since(calm).Round(time.Millisecond))
		close(stop)
		clients.Wait()
		for _, code := range []string{born, late, changed} {
			answered := s.ledger(code)
			hits := s.nodes[0].hits(code)
			t.Logf("round %d: %s was followed %d times, and has %v hits", round, code, answered, hits)
			if hits != capOfTest {
				t.Errorf("%s has %v hits, and its cap is %d", code, hits, capOfTest)
			}
		}
	}
	s.alike()
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

// followCapped follows links until stop. It waits a little where the node has no part of the cap.
func (n *siteNode) followCapped(stop <-chan struct{}, codes []string, client int) {
	for i := client; ; i++ {
		select {
		case <-stop:
			return
		default:
		}
		switch status, _, _ := n.redirect(codes[i%len(codes)]); status {
		case 302:
		case 410:
			time.Sleep(100 * time.Millisecond)
		default:
			time.Sleep(20 * time.Millisecond)
		}
	}
}

// TestANodeThatIsForgottenTakesItsPartOfTheCapWithIt kills a node for ever. The others must not redirect more
// than what it cannot have used, and say 503 until it is forgotten; then they say that the cap is used up.
func TestANodeThatIsForgottenTakesItsPartOfTheCapWithIt(t *testing.T) {
	s := newSite(t, "a", "b", "c")
	s.await(func() bool { return s.leader() != nil }, "a node leads")
	dead := s.without(s.leader())[0]
	time.Sleep(time.Second) // each node tells the one that leads that it is there
	s.nodes[0].call("POST", "/shorten", map[string]any{"url": "https://example.com/", "alias": "shared", "max_hits": 90}).want(t, 201)
	s.await(func() bool { return dead.metric("shunt_cluster_cap_blocks") == 1 }, "each node holds a part of the cap")
	for range 3 {
		if status, _, err := dead.redirect("shared"); status != 302 {
			t.Fatalf("a node with a part of the cap answers %d, %v", status, err)
		}
	}
	dead.kill()
	rest := s.without(dead)
	seen := make(map[int]int)
	for range 400 {
		for _, n := range rest {
			status, _, _ := n.redirect("shared")
			seen[status]++
		}
		time.Sleep(5 * time.Millisecond)
	}
	if seen[410] > 0 || seen[503] == 0 || seen[302] == 0 || seen[302] > 90-3 {
		t.Errorf("with a node down, the others answered %v", seen)
	}
	s.await(func() bool { // its lease ends some seconds after it
		return shunt(t, "", nil, append([]string{"cluster", "forget", dead.name}, rest[0].flags()...)...).code == 0
	}, "the node is forgotten")
	for _, n := range rest {
		s.await(func() bool {
			status, _, _ := n.redirect("shared")
			seen[status]++
			return status == 410
		}, n.name+" says that the cap is used up")
	}
	for _, n := range rest {
		if state := n.call("GET", "/links/shared", nil).want(t, 200).body["state"]; state != "exhausted" {
			t.Errorf("%s says that the link is %v", n.name, state)
		}
	}
	t.Logf("answers: %v", seen)
	if got := seen[302]; got > 90-3 || got < 90/2 {
		t.Errorf("%d redirects with a cap of 90, of which a node that is lost had a part", got)
	}
}
