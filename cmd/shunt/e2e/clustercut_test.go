package e2e

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"shunt/engine/expect"
	"shunt/storage/etcdlog/etcdtest"
)

// newSiteApart is newSite with a proxy before every listener that nodes and servers of etcd reach each other
// at, so that each of them can be cut off from all others. Clients of the tests pass no proxy.
func newSiteApart(t *testing.T, names ...string) *site {
	return newSiteApartOn(t, siteOptions{}, names...)
}

// newSiteApartOn is newSiteApart with options.
func newSiteApartOn(t *testing.T, o siteOptions, names ...string) *site {
	s := &site{t: t, options: o, etcd: etcdtest.StartApart(t, 3, o.etcd...), dir: t.TempDir()}
	s.cables, _ = s.etcd.Proxies(t)
	return s.begin(names)
}

// endpoints are where nodes reach the servers of etcd.
func (s *site) endpoints() []string {
	if len(s.cables) == 0 {
		return s.etcd.Endpoints()
	}
	var all []string
	for _, cable := range s.cables {
		all = append(all, cable.Endpoint)
	}
	return all
}

// cutOff cuts a node off from all others and from etcd, until the end of the cut. Only one is cut off at a
// time.
func (n *siteNode) cutOff() (mend func()) {
	pid, mendEtcd := n.cmd.Process.Pid, n.cutOffEtcd()
	n.cable.CutOff(true)
	for _, other := range n.others() {
		other.cable.CutOffFrom(pid)
	}
	return func() {
		for _, other := range n.others() {
			other.cable.CutOffFrom(0)
		}
		n.cable.CutOff(false)
		mendEtcd()
	}
}

// others are all nodes of the site but n, edges too.
func (n *siteNode) others() []*siteNode {
	return slices.DeleteFunc(slices.Concat(n.site.nodes, n.site.edges), func(other *siteNode) bool { return other == n })
}

// cutOffEtcd cuts a node off from etcd only.
func (n *siteNode) cutOffEtcd() (mend func()) {
	for _, cable := range n.site.cables {
		cable.CutOffFrom(n.cmd.Process.Pid)
	}
	return func() {
		for _, cable := range n.site.cables {
			cable.CutOffFrom(0)
		}
	}
}

// cutOffServer cuts a server of etcd off from the others and from all nodes.
func (s *site) cutOffServer(m *etcdtest.Member) (mend func()) {
	set := func(cut bool) {
		m.CutOff(cut)
		for i, other := range s.etcd.Members {
			if other == m {
				s.cables[i].CutOff(cut)
			}
		}
	}
	set(true)
	return func() { set(false) }
}

// aWrite is one at a node that is cut off while it is under way.
type aWrite struct {
	alias  string
	answer answer
}

// writeDuring begins writes at a node, and returns them when they are answered.
func (n *siteNode) writeDuring(round string) (answered func() []aWrite) {
	writes := make([]aWrite, 8)
	var all sync.WaitGroup
	for i := range writes {
		all.Go(func() {
			time.Sleep(time.Duration(i) * 5 * time.Millisecond) // some before the cut, some after
			alias := fmt.Sprintf("%s-%d", round, i)
			writes[i] = aWrite{alias, n.call("POST", "/shorten", map[string]any{"url": "https://example.com/" + alias, "alias": alias})}
		})
	}
	return func() []aWrite { all.Wait(); return writes }
}

// judge checks that what was answered to writes is so at all nodes: created, or refused and not there.
func (s *site) judge(writes []aWrite) {
	s.t.Helper()
	s.await(s.caughtUp, "all nodes have caught up")
	created, refused := 0, 0
	for _, w := range writes {
		want := 404
		switch {
		case w.answer.status == 201:
			want = 302
			created++
		case w.answer.status == 503 && w.answer.body["code"] != "outcome_unknown":
			refused++
		case w.answer.err == nil && w.answer.body["code"] == "outcome_unknown":
			continue
		default:
			s.t.Errorf("a write at a node that is cut off: %d, %v: %s", w.answer.status, w.answer.err, w.answer.text)
			continue
		}
		for _, n := range s.nodes {
			status, _, err := n.redirect(w.alias)
			expect.Equal(s.t, status, want, "%s was answered with %d %v; at %s it redirects with, %v", w.alias, w.answer.status, w.answer.body["code"], n.name, err)
		}
	}
	s.t.Logf("of %d writes under way at the cut %d were created and %d refused", len(writes), created, refused)
}

// TestACutOffLeaderIsReplacedAndRedirectsNeverStop cuts the leaders of shunt and of etcd off by proxies: what
// they send and are sent waits, nobody gets an error, and everything arrives later. It fails if a redirect
// does at any node, the one that is cut off too, or if what it answered to a write is not so afterwards. It
// says how long writes took to come back.
func TestACutOffLeaderIsReplacedAndRedirectsNeverStop(t *testing.T) {
	s := newSiteApart(t, "a", "b", "c")
	s.shorten("hot", "https://example.com/")
	stop := make(chan struct{})
	done := s.hammer("hot", "https://example.com/", new(atomic.Pointer[siteNode]), stop)
	round := 0
	cutLeader := func(what string, cut func(n *siteNode) (mend func())) {
		s.await(func() bool { return s.leader() != nil }, "a node leads")
		leader := s.leader()
		round++
		answered := leader.writeDuring(fmt.Sprintf("%s-%d", what, round))
		time.Sleep(20 * time.Millisecond)
		begun := time.Now()
		mend := cut(leader)
		t.Logf("our leader cut off (%s): writes after %v", what, s.writesAfter(begun, s.without(leader)...).Round(time.Millisecond))
		status := leader.call("POST", "/shorten", map[string]any{"url": "https://example.com/"}).status
		expect.That(t, what != "all" || status != 201, "a node that is cut off answered a write with %d", status)
		mend()
		s.judge(answered())
	}
	for range 2 {
		cutLeader("all", (*siteNode).cutOff)
		cutLeader("etcd", (*siteNode).cutOffEtcd)

		begun := time.Now()
		mend := s.cutOffServer(s.etcd.Leader())
		t.Logf("etcd's leader cut off: writes after %v", s.writesAfter(begun, s.nodes...).Round(time.Millisecond))
		mend()
		s.await(s.caughtUp, "all nodes have caught up")
	}
	close(stop)
	good, failed := done()
	t.Logf("%d redirects, %d failed", good, failed)
	expect.That(t, failed <= 0 && good >= 1000, "%d redirects failed, of %d", failed, good+failed)
	s.ledger("hot")
	s.alike()
}
