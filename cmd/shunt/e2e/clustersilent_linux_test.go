package e2e

import (
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"shunt/engine/expect"
	"shunt/storage/etcdlog/etcdtest"
)

// TestSilentConnectionsStopNoFollower opens 2,000 connections a second to the leader's port for other nodes, from 50
// IPv4 addresses and from 40 /64s of one /48. They send nothing or half a handshake. Meanwhile a follower's
// writes and new connections of nodes with certificates go on: of 200 at most one may fail. It runs in a namespace
// of networks, where all addresses lead to this machine and none is of loopback.
func TestSilentConnectionsStopNoFollower(t *testing.T) {
	if os.Getenv(etcdtest.Env) == "" {
		t.Skip("make cluster-test runs it: it needs etcd's server, in " + etcdtest.Env)
	}
	if os.Getenv(insideEnv) == "" {
		runInside(t, attackerRoutes...)
		return
	}
	for name, from := range map[string]attackers{
		"50 IPv4 addresses": {server: "10.64.0.1", n: 50, address: "10.65.%d.1", half: halfHandshake},
		"40 IPv6 sites":     {server: "fd00:1::1", n: 40, address: "fd00:3:4:%x::1", half: halfHandshake},
	} {
		t.Run(name, func(t *testing.T) { attackLeader(t, from) })
	}
}

// attackLeader attacks the leader of two nodes.
func attackLeader(t *testing.T, from attackers) {
	port := 8443
	s := newSiteOn(t, siteOptions{place: func(n *siteNode) {
		n.advertise = net.JoinHostPort(from.server, strconv.Itoa(port))
		port++
	}}, "a", "b")
	leader := s.leader()
	follower := leader.others()[0]
	over := make(chan struct{})
	var h held
	var attack sync.WaitGroup
	began := time.Now()
	for part := range attackParts {
		attack.Go(func() { h.connect(leader.advertise, from, part, over) })
	}
	failed := 0
	pace := time.NewTicker(50 * time.Millisecond) // 20,000 connections in all, for 4,096 slots
	defer pace.Stop()
	for i := 0; i < 200 && failed < 10; i++ {
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
		if wrong != "" {
			failed++
			t.Log(wrong)
		}
		<-pace.C
	}
	close(over)
	attack.Wait()
	seconds := time.Since(began).Seconds()
	h.close()
	t.Logf("%.0f connects a second (%d in all); %d of 200 rounds failed (no more are tried after 10)", float64(h.made.Load())/seconds, h.made.Load(), failed)
	expect.That(t, failed <= 1, "%d of 200 rounds failed, want 1 at most", failed)
}
