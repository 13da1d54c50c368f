package e2e

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"shunt/engine/expect"
	"shunt/storage/clusterlog"
)

// The next version of shunt is the program under test with newerPayload: it reads and writes entries of
// the next version, too. olderVariable names the older program, if it is to be another one, such as that
// of an earlier commit (make cluster-upgrade OLDER=…).
const (
	newerPayload  = "shuntnewerpayload"
	olderVariable = "SHUNTTEST_OLDER"
)

// TestNodesAreReplacedOneByOneByANewerVersion upgrades three nodes one by one while clients write and follow
// links. Nothing that was answered is lost, and no redirect fails at a node that runs. Entries stay of the
// old version until the last node is new, also while a newer node leads. Then a node goes back: it stops
// following with a clear line, redirects on, and what it counted is not lost when it is upgraded again.
func TestNodesAreReplacedOneByOneByANewerVersion(t *testing.T) {
	s := newSiteOn(t, siteOptions{program: os.Getenv(olderVariable)}, "a", "b", "c")
	newer := filepath.Join(t.TempDir(), "shunt-newer")
	expect.OK(t, build(newer, newerPayload))
	s.shorten("hot", "https://example.com/")
	u := &upgrade{site: s, stop: make(chan struct{})}
	redirects := s.hammer("hot", "https://example.com/", &u.out, u.stop)
	for w := range 4 {
		u.writers.Go(func() { u.write(w) })
	}
	last := u.replaceTwo(newer)
	u.replace(last, newer)
	s.await(func() bool { return s.newestPayload() == 2 }, "entries have the new version")

	back := s.without(s.leader())[0]
	u.goBack(back)
	u.replace(back, newer)
	close(u.stop)
	u.writers.Wait()
	good, failed := redirects()
	t.Logf("%d links made, %d times not at once; %d redirects, %d failed", len(u.made), u.refused.Load(), good, failed)
	expect.That(t, failed <= 0, "%d redirects failed at nodes that ran", failed)
	s.await(s.caughtUp, "all nodes have caught up")
	s.ledger("hot")
	for _, code := range u.made {
		for _, n := range s.nodes {
			if status, location, err := n.redirect(code); err != nil || status != 302 || location != "https://example.com/"+code {
				t.Fatalf("%s, whose creation was answered, at %s: %d %q, %v", code, n.name, status, location, err)
			}
		}
	}
	s.alike()
}

// An upgrade is one under load.
type upgrade struct {
	*site
	out     atomic.Pointer[siteNode] // the node that is being replaced
	stop    chan struct{}
	writers sync.WaitGroup
	refused atomic.Int64

	mu   sync.Mutex
	made []string // links whose creation was answered
}

// write makes links by way of all nodes in turn until stop. A request that fails is repeated at another
// node with its Idempotency-Key.
func (u *upgrade) write(writer int) {
	for i := 0; ; i++ {
		code := fmt.Sprintf("made-%d-%d", writer, i)
		fields := map[string]any{"url": "https://example.com/" + code, "alias": code}
		for try := 0; ; try++ {
			if closed(u.stop) {
				return
			}
			if u.nodes[(i+try)%len(u.nodes)].call("POST", "/shorten", fields, "Idempotency-Key", code).status == 201 {
				break
			}
			u.refused.Add(1)
			time.Sleep(10 * time.Millisecond)
		}
		u.mu.Lock()
		u.made = append(u.made, code)
		u.mu.Unlock()
	}
}

// replaceTwo replaces one of the nodes that follow, then the one that leads, and returns the third, which is
// older than the one that leads now: entries must still be of its version, and it must follow.
func (u *upgrade) replaceTwo(newer string) (older *siteNode) {
	u.t.Helper()
	leader := u.leader()
	followers := u.without(leader)
	older = followers[1]
	for _, n := range []*siteNode{followers[0], leader} {
		u.replace(n, newer)
		u.wantEntriesOfOne()
	}
	if u.leader() == older {
		u.replace(older, older.program) // as if it was restarted: a newer one takes over
	}
	expect.That(u.t, u.leader() != older, "the older node still leads")
	u.wantEntriesOfOne()
	u.await(func() bool { return older.caughtUpWith(u.leader()) }, "the older node follows the newer one")
	return older
}

// wantEntriesOfOne has some entries written, which must be of version 1.
func (u *upgrade) wantEntriesOfOne() {
	u.t.Helper()
	u.awaitEntries(20)
	expect.Equal(u.t, u.newestPayload(), 1, "entries have version while a node reads version 1 only")
}

// replace stops a node and starts it with another program.
func (u *upgrade) replace(n *siteNode, program string) {
	u.t.Helper()
	u.out.Store(n)
	n.terminate()
	n.program = program
	n.start()
	u.out.Store(nil)
	u.await(func() bool {
		return n.metric("shunt_cluster_lag_seconds") >= 0 && n.metric("shunt_cluster_lag_seconds") < 2
	}, n.name+" follows again")
}

// goBack replaces a node by the older program while entries have a version that this does not read.
func (u *upgrade) goBack(n *siteNode) {
	u.t.Helper()
	u.out.Store(n)
	n.terminate()
	u.awaitEntries(20) // of the new version
	n.program = u.options.program
	n.start()
	u.out.Store(nil)
	u.await(func() bool { return strings.Contains(n.stderr(), "this node can no longer follow its cluster") }, "the older program says that it cannot go on")
	i := strings.Index(n.stderr(), "this node can no longer follow")
	said, _, _ := strings.Cut(n.stderr()[i:], "\n")
	u.t.Logf("the older program said: %s", said)
	for _, want := range []string{"was written by a newer version", "has version 2, and this program knows version 1", "Run the newer version of shunt on this node, too; the data is unchanged"} {
		expect.Contains(u.t, said, want, "the older program says")
	}
	u.await(func() bool { return n.call("GET", "/links", nil).status == 503 }, "it refuses the API")
	for range 50 {
		status, _, err := n.redirect("hot")
		expect.That(u.t, err == nil && status == 302, "a redirect at the older program: %d, %v", status, err)
	}
}

// awaitEntries waits until a number of entries more are in the log.
func (s *site) awaitEntries(more float64) {
	s.t.Helper()
	var from float64
	s.await(func() bool {
		leader := s.leader()
		if leader == nil {
			return false
		}
		at := leader.metric(`shunt_cluster_sequence{which="applied"}`)
		from = cmp.Or(from, at)
		return at >= from+more
	}, "writes go on")
}

// newestPayload returns the version of the payload of the last entry.
func (s *site) newestPayload() int {
	s.t.Helper()
	c := s.etcd.Client()
	defer c.Close()
	resp, err := c.Get(context.Background(), "/shunt/log/", clientv3.WithPrefix(), clientv3.WithSort(clientv3.SortByKey, clientv3.SortDescend), clientv3.WithLimit(1))
	expect.MustThat(s.t, err == nil && len(resp.Kvs) == 1, "the last entry: %v, %v", resp, err)
	e, err := clusterlog.DecodeEntry(resp.Kvs[0].Value)
	expect.MustThat(s.t, err == nil && len(e.Payload) != 0, "the last entry: %v", err)
	return int(e.Payload[0])
}
