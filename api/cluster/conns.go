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

// A leader may be cut off while it has requests of others: their connections stay open, and nobody gets an
// error. Its followers must not wait for the timeout of large imports. So a connection must stand, TLS
// included, within dialTimeout. A request that has taken overtakenAfter is given up once two looks have found
// that another node leads: all connections to the earlier leader are closed, also those that are being made.
// The outcome of the request is then unknown. A request that had no connection yet, and every read, is sent to
// the new leader. A leader that hands over answers its requests before the other one leads. A node that is cut
// off itself hears of no other leader: once it is stale, it gives up requests that have taken forwardPatience.
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

// conn is one of the conns.
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

// closeAll closes all connections for good. Requests under way fail, and no new one can be made.
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

// forget closes the connections of p. Later requests to its node make new ones.
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

// watch calls giveUp when a request to a leader has taken long and another node leads, or this one is stale.
// stop ends the watch.
func (f *Forwarder) watch(at Place, giveUp func()) (stop func()) {
	if leader, _ := f.state.Leader(); leader != at.Name { // an edge asks another full node
		return func() {}
	}
	begun, ended := time.Now(), make(chan struct{})
	timer := time.AfterFunc(overtakenAfter, func() {
		for before := false; ; {
			now := f.overtaken(at) || f.state.Stale() && time.Since(begun) > forwardPatience
			if now && before {
				giveUp()
				return
			}
			before = now
			select {
			case <-time.After(overtakenPause):
			case <-ended:
				return
			}
		}
	})
	return func() {
		close(ended)
		timer.Stop()
	}
}
