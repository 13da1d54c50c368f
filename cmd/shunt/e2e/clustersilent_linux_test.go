package e2e

import (
	"crypto/tls"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"shunt/storage/etcdlog/etcdtest"
)

// TestSilentConnectionsStopNoFollower opens up to 2,000 connections a second to the leader's port for other nodes,
// which send nothing or half a handshake. Meanwhile a follower's writes and new connections of nodes with
// certificates go on: of 200 at most one may fail.
func TestSilentConnectionsStopNoFollower(t *testing.T) {
	if os.Getenv(etcdtest.Env) == "" {
		t.Skip("make cluster-test runs it: it needs etcd's server, in " + etcdtest.Env)
	}
	s := newSite(t, "a", "b")
	leader := s.leader()
	follower := leader.others()[0]
	over := make(chan struct{})
	var h held
	var attack sync.WaitGroup
	addr := strings.TrimPrefix(leader.advertise, "https://")
	from := attackers{n: 50, address: "127.3.%d.1"}
	for part := range attackParts {
		attack.Go(func() { h.connect(addr, from, part, over) })
	}
	failed := 0
	pace := time.NewTicker(40 * time.Millisecond)
	defer pace.Stop()
	for i := range 250 { // the first 50 while the pool of strangers fills
		var wrong string
		if a := follower.call("POST", "/shorten", map[string]any{"url": "https://example.org/", "alias": fmt.Sprint("silent-", i)}); a.status != 201 {
			wrong = fmt.Sprintf("a write: got %d %s, %v", a.status, a.text, a.err)
		}
		var conn *tls.Conn
		if err := leader.talks(s.tlsOf(follower.name), &conn); err != nil {
			wrong += fmt.Sprintf(" a new connection: %v", err)
		} else {
			conn.Close()
		}
		if wrong != "" && i >= 50 {
			failed++
			t.Log(wrong)
		}
		<-pace.C
	}
	close(over)
	attack.Wait()
	h.close()
	t.Logf("%d silent connections; %d of 200 rounds failed", h.made.Load(), failed)
	if failed > 1 {
		t.Errorf("%d of 200 rounds failed, want 1 at most", failed)
	}
}
