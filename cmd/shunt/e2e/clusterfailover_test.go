package e2e

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"shunt/engine/expect"
)

// TestWritesComeBackAndRedirectsNeverStop kills, stops and pauses the leaders of shunt and of etcd. It
// fails if a redirect does at a node that runs, and says how long writes took to come back.
func TestWritesComeBackAndRedirectsNeverStop(t *testing.T) {
	s := newSite(t, "a", "b", "c")
	s.shorten("hot", "https://example.com/")
	stop := make(chan struct{})
	var out atomic.Pointer[siteNode]
	done := s.hammer("hot", "https://example.com/", &out, stop)
	acknowledged := 0
	for range 2 {
		leader := s.leader()
		out.Store(leader)
		killed := time.Now()
		leader.kill()
		t.Logf("our leader killed: writes after %v", s.writesAfter(killed, s.without(leader)...))
		acknowledged++
		leader.start()
		out.Store(nil)
		s.await(s.caughtUp, "the killed node has caught up")

		leader = s.leader()
		out.Store(leader)
		stopped := time.Now()
		ended := make(chan struct{})
		go func() { leader.terminate(); close(ended) }()
		t.Logf("our leader stopped: writes after %v", s.writesAfter(stopped, s.without(leader)...))
		acknowledged++
		<-ended
		leader.start()
		out.Store(nil)
		s.await(s.caughtUp, "the stopped node has caught up")

		member := s.etcd.Leader()
		killed = time.Now()
		member.Kill()
		t.Logf("etcd's leader killed: writes after %v", s.writesAfter(killed, s.nodes...))
		acknowledged++
		member.Start()
		s.etcd.Await()

		member = s.etcd.Leader()
		paused := time.Now()
		member.Pause()
		t.Logf("etcd's leader paused: writes after %v", s.writesAfter(paused, s.nodes...))
		acknowledged++
		member.Resume()
	}
	close(stop)
	good, failed := done()
	t.Logf("%d redirects, %d failed", good, failed)
	expect.That(t, failed <= 0 && good >= 1000, "%d redirects failed at nodes that ran, of %d", failed, good+failed)
	s.ledger("hot") // with nodes that were killed
	s.alike()
}

// TestAnAliasHasOneWinnerAcrossFailovers claims aliases by racing clients on all nodes while leaders are
// killed. Each alias has one winner, and it is the same at each node.
func TestAnAliasHasOneWinnerAcrossFailovers(t *testing.T) {
	s := newSite(t, "a", "b", "c")
	const aliases, racers = 1000, 6
	stop := make(chan struct{})
	var chaos sync.WaitGroup
	chaos.Go(func() {
		for rest(stop, 3*time.Second) {
			if leader := s.leader(); leader != nil {
				leader.kill()
				time.Sleep(500 * time.Millisecond)
				leader.start()
			}
		}
	})
	winners := make([]atomic.Int32, aliases)
	owners := make([]atomic.Pointer[string], aliases)
	var racing sync.WaitGroup
	for r := range racers {
		racing.Go(func() {
			for i := range aliases {
				target := fmt.Sprintf("https://example.com/racer-%d", r)
				for try := range 200 {
					a := s.nodes[(r+try)%3].call("POST", "/shorten", map[string]any{"url": target, "alias": fmt.Sprintf("alias-%d", i)},
						"Idempotency-Key", fmt.Sprintf("racer-%d-%d", r, i))
					if a.status == 201 {
						winners[i].Add(1)
						owners[i].Store(&target)
						break
					}
					if a.status == 409 {
						break
					}
					time.Sleep(20 * time.Millisecond)
				}
			}
		})
	}
	racing.Wait()
	close(stop)
	chaos.Wait()
	s.await(s.caughtUp, "all nodes have caught up")
	for i := range aliases {
		if n := winners[i].Load(); n != 1 {
			t.Errorf("alias %d has %d winners", i, n)
			continue
		}
		for _, n := range s.nodes {
			if _, location, err := n.redirect(fmt.Sprintf("alias-%d", i)); err != nil || location != *owners[i].Load() {
				t.Errorf("alias %d was given to %s and leads to %s at %s, %v", i, *owners[i].Load(), location, n.name, err)
			}
		}
	}
	s.alike()
}
