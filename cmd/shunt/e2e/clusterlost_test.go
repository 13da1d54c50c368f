package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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
	for _, n := range []*siteNode{a, b} { // a node that has never heard of another one cannot pull its hits without etcd
		s.await(func() bool { return n.metric(`shunt_cluster_pull_behind_records{node="edge-1"}`) >= 0 }, n.name+" knows the edge")
	}
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
	answered := int(s.answered("hot").Load()) - 15 // those of c may wait in its folder: 10, and a few of s.leads
	for _, n := range s.nodes {
		s.await(func() bool { return n.localHits("hot") >= answered }, n.name+" has the hits of the others although the log is lost")
	}
	keys := s.keys()
	expect.Equal(t, len(keys), 0, "the nodes wrote to empty servers: %v", keys)
	for _, n := range []*siteNode{a, b, e} {
		expect.That(t, !strings.Contains(n.stderr(), "forg"), "%s takes a lost etcd for having been forgotten: %s", n.name, n.stderr())
	}

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
	s.await(func() bool { return c.metric("shunt_cluster_outbox_bytes") == 0 }, "all others have the hits of c")
	follow("hot", 3, c)
	c.kill() // the hits are in its journal
	joins := shunt(t, "", nil, append([]string{"join", "--data", c.data, "--from", "a=https://" + a.advertise}, c.flags()...)...)
	expect.That(t, joins.code != exitDone && strings.Contains(joins.stderr, "is the data folder of a node"), "join: %d %s", joins.code, joins.stderr)
	leave := []string{"cluster", "leave", "--data", c.data}
	refused := shunt(t, "", nil, leave...)
	expect.That(t, refused.code != exitDone && strings.Contains(refused.stderr, "3 hits of this node wait"), "leave: %d %s", refused.code, refused.stderr)
	shunt(t, "", nil, append(leave, "--lose-hits")...).done(t)
}

// snapshot copies the folder of a node as it is at one moment while the node runs, as a snapshot of its machine does.
func (n *siteNode) snapshot(to string) {
	n.site.t.Helper()
	n.pause()
	defer n.resume()
	copyFolder(n.site.t, n.data, to)
}

// copyFolder copies the regular files of a folder, so all but the socket of a data folder.
func copyFolder(t *testing.T, from, to string) {
	t.Helper()
	expect.OK(t, filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		rel, relErr := filepath.Rel(from, path)
		if err = errors.Join(err, relErr); err != nil {
			return err
		}
		switch {
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, rel), 0o700)
		case !d.Type().IsRegular():
			return nil
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), content, 0o600)
	}))
}

// rollBack puts a snapshot of the folder of a node, which is killed, in its place.
func (n *siteNode) rollBack(to string) {
	n.site.t.Helper()
	n.kill()
	expect.OK(n.site.t, os.RemoveAll(n.data))
	expect.OK(n.site.t, os.Rename(to, n.data))
}

// TestAFolderThatWasRolledBackLosesNoHit puts an older state of a node's folder in its place, as a snapshot of its
// machine does, with hits that only its journal has. Links and hits came since, or hits alone. If etcd knows, the node
// takes a copy of the other one's data before it redirects. Otherwise the other one finds out: by a position that is
// not there, or by another record, if the node has counted more than was lost before it was asked. Then the node
// redirects with the links of now, the other one gets each hit that it answers, and its next start takes the copy. So
// it is, too, if nobody can send one. In the end both have all hits that were ever answered, and nobody has run a
// command.
func TestAFolderThatWasRolledBackLosesNoHit(t *testing.T) {
	s := newSite(t, "a", "b")
	a, b := s.nodes[0], s.nodes[1]
	both := s.nodes
	s.shorten("hot", "https://example.com/")
	follow := func(times int) {
		t.Helper()
		for range times {
			status, _, err := b.redirect("hot")
			expect.MustEqual(t, status, 302, "a redirect, %v", err)
		}
	}
	says := func(text string) { s.await(func() bool { return strings.Contains(b.stderr(), text) }, "b says: "+text) }
	leads := func() {
		s.await(func() bool {
			return a.metric(`shunt_cluster_role{role="leader"}`)+b.metric(`shunt_cluster_role{role="leader"}`) >= 1
		}, "a node leads")
	}
	ledger := func(nodes ...*siteNode) {
		t.Helper()
		for _, n := range nodes { // one that was stopped may be stale for a moment
			s.await(func() bool { return n.call("GET", "/links/hot", nil).status == 200 }, n.name+" answers")
		}
		s.nodes = nodes
		s.ledger("hot")
		s.nodes = both
	}
	const older, copied = "the data folder of this node is older", "starts with a copy of another node's data"
	target := "https://example.com/"
	for round, c := range []struct {
		entries bool // came since
		beyond  bool // it counts more than was lost before it is asked
		alone   bool // the other node does not run when it starts
	}{{entries: true}, {}, {beyond: true}, {entries: true, alone: true}} {
		t.Logf("round %d: %+v", round, c)
		ledger(both...)
		follow(10)
		snapshot := filepath.Join(s.dir, fmt.Sprintf("snapshot-%d", round))
		b.snapshot(snapshot)
		follow(40)
		if c.entries {
			leads()
			target = fmt.Sprintf("https://example.com/%d", round)
			s.await(func() bool { return b.call("PATCH", "/links/hot", map[string]any{"url": target}).status == 200 }, "the link is edited")
			s.leads("hot", target)
			s.awaitApplied("b", b.metric(`shunt_cluster_sequence{which="applied"}`))
		}
		ledger(both...)
		switch {
		case c.alone:
			a.terminate()
		case c.beyond:
			a.pause()
		}
		b.rollBack(snapshot)
		b.start()
		if c.beyond {
			for range 12 { // as many records
				follow(5)
				time.Sleep(200 * time.Millisecond)
			}
			a.resume()
		}
		if c.entries && !c.alone {
			says(copied)
		} else {
			says(older)
			expect.That(t, !c.beyond || strings.Contains(b.stderr(), "is another one"), "round %d: it was not seen by another record: %s", round, b.stderr())
			s.await(func() bool { _, location, _ := b.redirect("hot"); return location == target }, "b has the links of now")
			follow(25)
			if c.alone {
				a.start()
			}
			ledger(a)
			leads()
			s.await(func() bool {
				return strings.Contains(shunt(t, "", nil, append([]string{"cluster"}, a.flags()...)...).stdout, "lacks hits: restart it")
			}, "'shunt cluster' shows it")
			b.terminate()
			b.start()
			says(copied)
		}
		follow(25)
		ledger(both...)
		shown := shunt(t, "", nil, append([]string{"cluster"}, a.flags()...)...).stdout
		expect.That(t, !strings.Contains(shown, "lacks hits"), "round %d: 'shunt cluster' shows\n%s", round, shown)
		expect.That(t, !strings.Contains(a.stderr(), "shunt join"), "round %d: a healthy node says %s", round, a.stderr())
	}
	s.alike()
}

// TestANodeThatIsKilledWhileItTakesACopyTakesItAgain kills a node that was rolled back while it begins with a copy,
// again and again, each time a little later, until it is ready.
func TestANodeThatIsKilledWhileItTakesACopyTakesItAgain(t *testing.T) {
	s := newSite(t, "a", "b")
	b := s.nodes[1]
	s.shorten("hot", "https://example.com/")
	s.leads("hot", "https://example.com/")
	follow := func(times int) {
		t.Helper()
		for range times {
			status, _, err := b.redirect("hot")
			expect.MustEqual(t, status, 302, "a redirect, %v", err)
		}
	}
	follow(10)
	snapshot := filepath.Join(s.dir, "snapshot")
	b.snapshot(snapshot)
	follow(40)
	s.shorten("new", "https://example.com/new")
	s.leads("new", "https://example.com/new")
	s.ledger("hot")
	s.awaitApplied("b", b.metric(`shunt_cluster_sequence{which="applied"}`))
	b.rollBack(snapshot)
	kills := 0
	for ready := false; !ready; kills++ {
		b.launch()
		time.Sleep(time.Duration(20*kills) * time.Millisecond)
		ready = strings.Contains(b.stderr(), `"msg":"ready"`)
		b.kill()
		expect.MustThat(t, kills < 300, "it is not ready: %s", b.stderr())
	}
	t.Logf("killed %d times", kills)
	b.start()
	follow(25)
	s.ledger("hot")
	names, err := os.ReadDir(b.data)
	expect.OK(t, err)
	for _, name := range names {
		expect.That(t, !strings.HasPrefix(name.Name(), "replacement"), "%s is left", name.Name())
	}
	s.alike()
}

// awaitApplied waits until etcd says that a node has the log up to an entry.
func (s *site) awaitApplied(name string, entry float64) {
	s.t.Helper()
	s.await(func() bool {
		var shown struct {
			Nodes []struct {
				Name    string  `json:"name"`
				Applied float64 `json:"applied"`
			} `json:"nodes"`
		}
		r := shunt(s.t, "", nil, append([]string{"cluster", "--json"}, s.nodes[0].flags()...)...)
		expect.OK(s.t, json.Unmarshal([]byte(r.stdout), &shown))
		for _, n := range shown.Nodes {
			if n.Name == name && n.Applied >= entry {
				return true
			}
		}
		return false
	}, fmt.Sprintf("etcd says that %s has entry %v", name, entry))
}
