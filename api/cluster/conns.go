package cluster

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/valyala/fasthttp"
)

// A node that leads may be cut off while it has requests of others: their connections stay open, and nobody
// gets an error. Its followers must not wait for it until a timeout that is meant for large imports. So
// connections are made, TLS included, within dialTimeout, and a request that has lasted for overtakenAfter
// is given up once two looks have found that another node leads: all connections to the earlier one are
// closed, also those that are being made. What the request did is not known then. One that had no connection yet is sent to the new leader,
// and so is a read. A leader that hands over answers what it has before the other one leads. A node that is cut
// off itself hears of no other leader: it gives up what has lasted for forwardPatience once it is stale.
const (
	dialTimeout    = time.Second
	overtakenAfter = 300 * time.Millisecond
	overtakenPause = 100 * time.Millisecond // between two looks who leads
)

// conns are the connections to one node.
type conns struct {
	making context.Context // ended by closeAll
	end    context.CancelFunc
	mu     sync.Mutex
	all    map[*conn]struct{}
}

// conn is one of them.
type conn struct {
	net.Conn
	of *conns
}

// Close implements net.Conn.
func (c *conn) Close() error {
	c.of.mu.Lock()
	delete(c.of.all, c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}

// dial returns a connection over which TLS stands. Every error is one of dialing: no request was sent.
func (c *conns) dial(address string, gate *Gate, config *tls.Config) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(c.making, dialTimeout)
	defer cancel()
	raw, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	made := &conn{raw, c}
	c.mu.Lock()
	if c.all == nil {
		c.all = make(map[*conn]struct{})
	}
	c.all[made] = struct{}{}
	c.mu.Unlock()
	over := gate.Client(made, config)
	if err := over.HandshakeContext(ctx); err != nil {
		_ = over.Close()
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: fmt.Errorf("TLS with %s: %w", address, err)}
	}
	return over, nil
}

// closeAll closes all connections, for good. Requests under way fail, and none can be made.
func (c *conns) closeAll() {
	c.end()
	c.mu.Lock()
	all := c.all
	c.all = nil
	c.mu.Unlock()
	for one := range all {
		_ = one.Conn.Close()
	}
}

// peer is a node to which requests are sent.
type peer struct {
	*fasthttp.HostClient
	conns conns
}

func newPeer() *peer {
	p := new(peer)
	p.conns.making, p.conns.end = context.WithCancel(context.Background())
	return p
}

// forget has new connections made to a node, and closes those of p.
func (f *Forwarder) forget(at Place, p *peer) {
	f.mu.Lock()
	if f.mu.clients[at] == p {
		delete(f.mu.clients, at)
	}
	f.mu.Unlock()
	p.conns.closeAll()
}

// overtaken reports whether another node than that one leads.
func (f *Forwarder) overtaken(at Place) bool {
	leader, _ := f.state.Leader()
	return leader != at.Name && leader != ""
}

// watch calls giveUp when a request to a node that leads has lasted for a while, and another node leads or this
// one is stale. stop ends that.
func (f *Forwarder) watch(at Place, giveUp func()) (stop func()) {
	if leader, _ := f.state.Leader(); leader != at.Name { // an edge asks another full node
		return func() {}
	}
	begun, ended := time.Now(), make(chan struct{})
	var timer *time.Timer
	var mu sync.Mutex
	var look func()
	before := false
	look = func() {
		mu.Lock()
		defer mu.Unlock()
		select {
		case <-ended:
			return
		default:
		}
		now := f.overtaken(at) || f.state.Stale() && time.Since(begun) > forwardPatience
		if now && before {
			giveUp()
			return
		}
		before = now
		timer.Reset(overtakenPause)
	}
	mu.Lock()
	defer mu.Unlock()
	timer = time.AfterFunc(overtakenAfter, look)
	return func() {
		close(ended)
		timer.Stop()
	}
}
