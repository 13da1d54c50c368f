package e2e

import (
	"os"
	"strings"
	"testing"
	"time"

	"shunt/engine/expect"
)

// TestNodesThatWereAwayBelowTheFloorComeBackByThemselves kills a full node and an edge, just after each has answered
// hits that nobody has pulled, until the log no longer has what they missed. Meanwhile links are edited, deleted, made
// and imported. Started again, each redirects at once, takes a copy of what it missed without a command, and keeps its
// folder: the others get its hits, and it gets theirs.
func TestNodesThatWereAwayBelowTheFloorComeBackByThemselves(t *testing.T) {
	s := newSiteOn(t, siteOptions{etcd: smallQuota}, "a", "b", "c")
	a, c := s.nodes[0], s.nodes[2]
	for _, code := range []string{"hot", "edited", "gone"} {
		s.shorten(code, "https://example.com/"+code)
	}
	e := s.edge("edge-1", a)
	follow := func(times int, nodes ...*siteNode) {
		t.Helper()
		for range times {
			for _, n := range nodes {
				status, _, err := n.redirect("hot")
				expect.MustEqual(t, status, 302, "a redirect at %s, %v", n.name, err)
			}
		}
	}
	follow(50, a, c, e)
	c.kill()
	e.kill()
	s.nodes = s.nodes[:2]
	s.await(func() bool { return s.leader() != nil }, "another node leads")
	a.call("PATCH", "/links/edited", map[string]any{"url": "https://example.com/new"}).want(t, 200)
	a.call("DELETE", "/links/gone", nil).want(t, 204)
	a.call("POST", "/shorten", map[string]any{"url": "https://example.com/made", "alias": "made", "tags": []string{"t"}}).want(t, 201)
	a.call("POST", "/tokens", map[string]any{"name": "made-meanwhile", "scopes": []string{"links:read"}}).want(t, 201)
	follow(20, a)
	s.passFloor()
	status, _, _ := a.redirect("hot")
	expect.Equal(t, status, 302)
	s.await(func() bool { // their leases end some seconds after the kill
		return strings.Count(shunt(t, "", nil, append([]string{"cluster"}, a.flags()...)...).stdout, "down, needs a copy") == 2
	}, "shunt cluster shows two nodes that need a copy")
	s.startAgain(c)
	e.start()
	follow(7, a, c, e)
	for _, n := range []*siteNode{c, e} {
		s.await(func() bool { return strings.Contains(n.stderr(), "has what it missed, and follows its cluster again") }, n.name+" says that it is back")
	}
	s.await(func() bool { return e.caughtUpWith(a) }, "the edge has caught up")
	for _, n := range []*siteNode{a, c, e} {
		for code, target := range map[string]string{"edited": "https://example.com/new", "gone": "", "made": "https://example.com/made"} {
			_, location, _ := n.redirect(code)
			expect.Equal(t, location, target, "%s at %s leads to", code, n.name)
		}
	}
	follow(5, a, c, e)
	s.ledger("hot")
	expect.Equal(t, s.copiesNoted("c", "everything"), 2, "copies that c took: to join, and when it was back")
	expect.Equal(t, s.copiesNoted("edge-1", "links"), 2, "copies that the edge took: to join, and when it was back")
	e.terminate()
	shunt(t, "", nil, "check", "--data", e.data).done(t)
	s.alike()
}

// joinAgain has a node that has stopped begin with a copy of another one's data.
func (s *site) joinAgain(n, from *siteNode) {
	s.t.Helper()
	expect.OK(s.t, os.Rename(n.data, n.data+".old"))
	s.join(n, from)
	s.forget(n, n)
	s.admit(n, from)
}

// forget waits until the earlier node of a name is forgotten.
func (s *site) forget(n, by *siteNode) {
	s.t.Helper()
	args := append([]string{"cluster", "forget", n.name}, by.flags()...)
	s.await(func() bool { return shunt(s.t, "", nil, args...).code == exitDone }, n.name+" is forgotten")
}

// startAgain starts a node that was taken out of the nodes.
func (s *site) startAgain(n *siteNode) {
	s.t.Helper()
	n.start()
	s.nodes = append(s.nodes, n)
	s.await(s.caughtUp, n.name+" has caught up")
}

// TestANodeThatJoinsHasTheHitsOfAll lets time pass between the copy of a node's data and the start of the new node,
// which has the name of an earlier one. Meanwhile hits are counted at another node, pulled by the one that gave the
// copy, and acknowledged. The new node must get them, too.
func TestANodeThatJoinsHasTheHitsOfAll(t *testing.T) { joinsLater(t, false) }

// TestANodeThatJoinsHasTheHitsOfAllAlthoughTheSenderWasRestarted in between: the one that gave the copy.
func TestANodeThatJoinsHasTheHitsOfAllAlthoughTheSenderWasRestarted(t *testing.T) {
	joinsLater(t, true)
}

func joinsLater(t *testing.T, restart bool) {
	s := newSite(t, "a", "b", "c")
	a, b, c := s.nodes[0], s.nodes[1], s.nodes[2]
	s.shorten("hot", "https://example.com/")
	follow := func(times int) {
		for range times {
			for _, n := range []*siteNode{a, b} {
				status, _, err := n.redirect("hot")
				expect.MustEqual(t, status, 302, "a redirect, %v", err)
			}
		}
	}
	follow(20)
	s.ledger("hot")
	c.terminate()
	s.nodes = s.nodes[:2]
	s.await(func() bool { return s.leader() != nil }, "another node leads")
	s.joinAgain(c, a)
	if restart {
		a.kill()
		a.start()
		s.await(func() bool { return s.leader() != nil && s.caughtUp() }, "the sender is back")
	}
	follow(7)
	s.ledger("hot")
	time.Sleep(3 * time.Second) // what all nodes have is dropped each second
	s.startAgain(c)
	follow(5)
	s.ledger("hot")
}

// TestHitsOfANodeBelowTheFloorAreNotLost cuts a node off until the log no longer has what it missed. It redirects all
// the time. When it reaches the others again, it takes a copy of what it missed, and all have what it counted before,
// meanwhile and after.
func TestHitsOfANodeBelowTheFloorAreNotLost(t *testing.T) {
	s := newSiteApartOn(t, siteOptions{etcd: smallQuota}, "a", "b", "c")
	c := s.nodes[2]
	s.shorten("hot", "https://example.com/")
	follow := func(times int) {
		t.Helper()
		for range times {
			status, _, err := c.redirect("hot")
			expect.MustEqual(t, status, 302, "a redirect at the node that is cut off, %v", err)
		}
	}
	mend := c.cutOff()
	s.nodes = s.nodes[:2]
	s.await(func() bool { return s.leader() != nil }, "another node leads")
	follow(40)
	s.passFloor()
	follow(30)
	mend()
	s.nodes = append(s.nodes, c)
	for !strings.Contains(c.stderr(), "follows its cluster again") {
		follow(1)
		time.Sleep(20 * time.Millisecond)
		expect.MustThat(t, s.answered("hot").Load() < 3000, "c does not come back: %s", c.stderr())
	}
	follow(20)
	s.await(s.caughtUp, "all nodes have caught up")
	s.ledger("hot")
	s.alike()
}
