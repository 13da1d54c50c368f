package e2e

import (
	"bytes"
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"shunt/engine/expect"
)

// TestRedirectsOutliveFullServersOfEtcd has somebody else fill the servers to their quota, which then take no write and
// give no lease, and kills the node that leads. Nodes go on redirecting; the API says 503. When the operator has made
// room, writes come back, and everything is counted.
func TestRedirectsOutliveFullServersOfEtcd(t *testing.T) {
	s := newSiteOn(t, siteOptions{etcd: []string{"--quota-backend-bytes", "33554432"}}, "a", "b", "c")
	s.shorten("hot", "https://example.com/")
	stop, out := make(chan struct{}), new(atomic.Pointer[siteNode])
	done := s.hammer("hot", "https://example.com/", out, stop)
	fill := s.fillEtcd()
	create := func() int {
		return s.nodes[0].call("POST", "/shorten", map[string]any{"url": "https://example.com/full"}).status
	}
	s.await(func() bool { return create() == 503 }, "writes are refused")
	leader := s.leader()
	if leader == nil {
		leader = s.nodes[1] // it has lost its lease by now
	}
	out.Store(leader)
	leader.kill()
	time.Sleep(8 * time.Second) // the lease ends, and the others stand for election
	for _, n := range s.without(leader) {
		status, _, err := n.redirect("hot")
		expect.Equal(t, status, 302, "%s redirects with, %v:\n%s", n.name, err, n.lastWords())
		expect.Equal(t, n.call("POST", "/shorten", map[string]any{"url": "https://example.com/full"}).status, 503, "%s answers a write with", n.name)
	}
	leader.start()
	status, _, err := leader.redirect("hot")
	expect.Equal(t, status, 302, "a node that starts while the servers are full redirects with, %v", err)
	out.Store(nil)
	room := time.Now()
	fill.end()
	took := s.writesAfter(room, s.nodes...)
	close(stop)
	good, failed := done()
	t.Logf("%d redirects, %d failed; writes again %v after there was room", good, failed, took.Round(time.Millisecond))
	expect.That(t, failed <= 0, "%d redirects failed", failed)
	s.await(s.caughtUp, "all nodes have caught up")
	s.ledger("hot")
	s.alike()
}

// filler is what fills etcd.
type filler struct{ s *site }

const fillerPrefix = "/somebody-else/"

// fillEtcd fills the servers of etcd to their quota.
func (s *site) fillEtcd() filler {
	s.t.Helper()
	c := s.etcd.Client()
	defer c.Close()
	value := string(bytes.Repeat([]byte("x"), 1<<20))
	for i := range 100 {
		ctx, cancel := context.WithTimeout(s.t.Context(), 10*time.Second)
		_, err := c.Put(ctx, fillerPrefix+string(rune('0'+i)), value)
		cancel()
		if errors.Is(err, rpctypes.ErrNoSpace) {
			return filler{s}
		}
		expect.OK(s.t, err)
	}
	s.t.Fatal("the servers of etcd do not fill")
	return filler{}
}

// end makes room as the runbook says: delete, compact, defragment, disarm.
func (f filler) end() {
	t := f.s.t
	t.Helper()
	c := f.s.etcd.Client()
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	gone, err := c.Delete(ctx, fillerPrefix, clientv3.WithPrefix())
	expect.OK(t, err)
	expect.OK(t, expect.Err(c.Compact(ctx, gone.Header.Revision, clientv3.WithCompactPhysical())))
	for _, endpoint := range f.s.etcd.Endpoints() {
		expect.OK(t, expect.Err(c.Defragment(ctx, endpoint)))
	}
	expect.OK(t, expect.Err(c.AlarmDisarm(ctx, &clientv3.AlarmMember{})))
}
