package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"shunt/engine/expect"
)

// localHits returns the hits of a code as a command on the machine of a node shows them: the API is refused there while
// the node cannot follow the log.
func (n *siteNode) localHits(code string) int {
	n.site.t.Helper()
	r := shunt(n.site.t, "", nil, "stats", code, "--json", "--data", n.data)
	var said struct {
		Hits int `json:"hits"`
	}
	if err := json.Unmarshal([]byte(r.stdout), &said); err != nil {
		n.site.t.Fatalf("stats of %s at %s: %v: %s%s", code, n.name, err, r.stdout, r.stderr)
	}
	return said.Hits
}

// TestAllHitsOutliveALostEtcd loses everything that the servers of etcd have, while a full node is down that lacks the
// last entry. The others and an edge redirect on, and the full nodes exchange their hits. Then the operator does what
// the runbook says: renews the log from the folder of the node with the highest entry. The nodes follow by themselves,
// the one that was down too, and every figure and cap is exact.
func TestAllHitsOutliveALostEtcd(t *testing.T) {
	s := newSite(t, "a", "b", "c")
	a, b, c := s.nodes[0], s.nodes[1], s.nodes[2]
	e := s.edge("edge-1", a)
	s.shorten("hot", "https://example.com/")
	s.makeCapped("capped", 40)
	s.leads("hot", "https://example.com/")
	follow := func(code string, times int, nodes ...*siteNode) {
		for range times {
			for _, n := range nodes {
				_ = n.redirects(code)
			}
		}
	}
	follow("hot", 10, a, b, c, e)
	follow("capped", 5, a, b, e)
	c.kill()
	s.nodes = s.nodes[:2]
	s.await(func() bool { return s.leader() != nil }, "another node leads")
	s.shorten("last", "https://example.com/last")
	for _, n := range []*siteNode{a, b, e} { // a node that lacks the last entry takes no hits from one that has it, until the log is renewed
		s.await(func() bool { _, location, _ := n.redirect("last"); return location == "https://example.com/last" }, n.name+" has the last entry")
	}

	s.etcd.Lose()
	for _, n := range []*siteNode{a, b, e} {
		s.await(func() bool {
			return strings.Contains(n.stderr(), "can no longer follow its cluster until its log is there again")
		}, n.name+" says that the log is lost")
	}
	follow("hot", 20, a, b, e)
	follow("capped", 5, a, b, e)
	answered := int(s.answered("hot").Load()) - 10 // those of c may wait in its folder
	for _, n := range s.nodes {
		s.await(func() bool { return n.localHits("hot") >= answered }, n.name+" has the hits of the others although the log is lost")
	}
	keys := s.keys()
	expect.Equal(t, len(keys), 0, "the nodes wrote to empty servers: %v", keys)

	renew := append([]string{"cluster", "renew", "--data", a.data}, a.flags()...)
	inUse := shunt(t, "", nil, renew...)
	expect.That(t, inUse.code != exitDone && strings.Contains(inUse.stderr, "in use"), "renew of a node that runs: %d %s", inUse.code, inUse.stderr)
	a.terminate()
	said := shunt(t, "", nil, renew...)
	said.done(t)
	expect.Contains(t, said.stderr, "goes on after entry")
	a.start()
	s.await(func() bool { return s.leader() != nil && s.caughtUp() }, "a node leads again")
	s.startAgain(c)
	expect.Contains(t, c.stderr(), "takes a copy of that from another node")
	s.await(func() bool { return e.caughtUpWith(a) }, "the edge has caught up")
	s.shorten("new", "https://example.com/new")
	s.leads("last", "https://example.com/last")
	follow("hot", 5, a, b, c, e)
	s.awaitUsedUp([]string{"capped"}, a, b, c, e)
	s.ledgers([]string{"hot", "capped"})
	expect.That(t, !strings.Contains(c.stderr(), "lost here"), "hits are lost at the node that was down: %s", c.stderr())
	expect.That(t, a.hits("capped") <= 40, "a link with the cap 40 has %v hits", a.hits("capped"))
	s.alike()

	c.start()
	follow("hot", 3, c)
	c.kill() // the hits are in its journal
	joins := shunt(t, "", nil, append([]string{"join", "--data", c.data, "--from", "a=https://" + a.advertise}, c.flags()...)...)
	expect.That(t, joins.code != exitDone && strings.Contains(joins.stderr, "is the data folder of a node"), "join: %d %s", joins.code, joins.stderr)
	leave := []string{"cluster", "leave", "--data", c.data}
	refused := shunt(t, "", nil, leave...)
	expect.That(t, refused.code != exitDone && strings.Contains(refused.stderr, "3 hits of this node wait"), "leave: %d %s", refused.code, refused.stderr)
	shunt(t, "", nil, append(leave, "--lose-hits")...).done(t)
}

// TestAFolderThatWasRolledBackLosesNoFurtherHit puts an older state of a node's folder in its place, as a snapshot of
// its machine does: once after entries, which etcd tells the node, and once after hits alone, which another node tells
// it. It says so, redirects with the links of now, and the others have each hit that it answers from then on. They are
// not told to begin again.
func TestAFolderThatWasRolledBackLosesNoFurtherHit(t *testing.T) {
	s := newSite(t, "a", "b")
	a, b := s.nodes[0], s.nodes[1]
	s.shorten("hot", "https://example.com/")
	follow := func(times int) {
		t.Helper()
		for range times {
			status, _, err := b.redirect("hot")
			expect.MustEqual(t, status, 302, "a redirect, %v", err)
		}
	}
	snapshot := filepath.Join(s.dir, "snapshot")
	for _, entries := range []bool{true, false} {
		follow(10)
		s.nodes = []*siteNode{a, b}
		s.await(s.caughtUp, "both have caught up")
		s.nodes = []*siteNode{a} // b may lack hits from now on
		s.ledger("hot")
		b.terminate()
		expect.OK(t, os.CopyFS(snapshot, os.DirFS(b.data)))
		b.start()
		follow(40)
		if entries {
			s.await(func() bool { return s.leader() == a || b.metric(`shunt_cluster_role{role="leader"}`) == 1 }, "a node leads")
			s.await(func() bool {
				return b.call("PATCH", "/links/hot", map[string]any{"url": "https://example.com/new"}).status == 200
			}, "the link is edited")
		}
		s.ledger("hot")
		b.terminate()
		expect.OK(t, os.RemoveAll(b.data))
		expect.OK(t, os.Rename(snapshot, b.data))
		b.start()
		s.await(func() bool { return strings.Contains(b.stderr(), "the data folder of this node is older") }, "b says that it was rolled back")
		s.await(func() bool { _, location, _ := b.redirect("hot"); return location == "https://example.com/new" }, "b has the links of now")
		follow(25)
		s.ledger("hot")
		expect.That(t, !strings.Contains(a.stderr(), "shunt join"), "a healthy node says %s", a.stderr())
	}
}
