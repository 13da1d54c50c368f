package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"shunt/engine/expect"
)

// TestANodeBelowTheFloorJoinsAgain stops a node until the log no longer has what it missed. It refuses to
// start and says what to do; that done, it has the same data as the others, hits included, and what it
// had counted before is there.
func TestANodeBelowTheFloorJoinsAgain(t *testing.T) {
	s := newSite(t, "a", "b", "c")
	a, c := s.nodes[0], s.nodes[2]
	s.shorten("hot", "https://example.com/")
	for range 100 {
		c.redirect("hot")
	}
	s.ledger("hot")
	c.terminate()
	s.nodes = s.nodes[:2]
	s.await(func() bool { return s.leader() != nil }, "another node leads")
	s.passFloor()
	said := c.refused(c.args()...)
	expect.That(t, strings.Contains(said, "no longer in the cluster's log") && strings.Contains(said, "shunt join"), "a node below the floor says %q", said)
	expect.OK(t, os.Rename(c.data, c.data+".old"))
	s.join(c, a)
	expect.Contains(t, c.refused(c.args()...), "cluster forget c", "a new folder of a known name says")
	s.forget(c, c)
	s.admit(c, a)
	s.startAgain(c)
	for range 100 {
		c.redirect("hot")
		a.redirect("hot")
	}
	s.ledger("hot")
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

// passFloor writes until the log is trimmed past what it has now.
func (s *site) passFloor() {
	s.t.Helper()
	head := s.leader().metric(`shunt_cluster_sequence{which="applied"}`)
	for made := 0; s.leader().metric(`shunt_cluster_sequence{which="applied"}`) < head+1500; {
		n, _ := s.load(s.leader(), 1, 0, time.Second)
		if made += int(n); made > 100_000 {
			s.t.Fatal("100,000 links in few entries")
		}
	}
	s.await(func() bool { return s.floor() > uint64(head)+1 }, "the log is trimmed past a node that is not there")
}

// floor returns the first entry that the log has.
func (s *site) floor() (floor uint64) {
	_, _ = fmt.Sscanf(s.keys()["/shunt/floor"], "%x", &floor)
	return floor
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

// TestHitsOfANodeBelowTheFloorAreNotLost cuts a node off until the log no longer has what it missed. When it
// reaches the others again it can never follow, but it redirects, and they have what it counted before and
// after. It says so, and when it is drained, and begins again with the same figures.
func TestHitsOfANodeBelowTheFloorAreNotLost(t *testing.T) {
	s := newSiteApart(t, "a", "b", "c")
	a, c := s.nodes[0], s.nodes[2]
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
	s.await(func() bool { return strings.Contains(c.stderr(), "can no longer follow its cluster") }, "c says that it cannot follow")
	follow(20)
	s.ledger("hot") // at the other two: all 90, although c pulls nothing any more
	s.await(func() bool { return strings.Contains(c.stderr(), "have pulled all hits of this node") }, "c says that it is drained")
	c.terminate()
	s.joinAgain(c, a)
	s.startAgain(c)
	follow(5)
	s.ledger("hot")
	s.alike()
}
