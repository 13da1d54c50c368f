package etcdtest

import (
	"net"
	"sync"
	"testing"
)

// A Proxy passes bytes between clients and one server. It can be told to do otherwise at any moment,
// from any goroutine.
type Proxy struct {
	Endpoint string
	target   string
	listener net.Listener
	serving  sync.WaitGroup
	mu       struct {
		sync.Mutex
		hold, drop, closed bool
		cut                bool            // both directions of all connections wait
		cutPID             int             // and so do those from this process; 0: none
		cutFrom            map[string]bool // by address of a client: whether its connection is one of those
		edit               func([]byte) []byte
		conns              map[net.Conn]bool // both sides; true: a part of its answers is missing
	}
	changed *sync.Cond // of mu
}

// Proxies returns a proxy for each server. They end with the test.
func (c *Cluster) Proxies(t testing.TB) (proxies []*Proxy, endpoints []string) {
	t.Helper()
	return c.ProxiesAt(t, loopback)
}

// ProxiesAt is Proxies on another address of this machine than that of loopback.
func (c *Cluster) ProxiesAt(t testing.TB, host string) (proxies []*Proxy, endpoints []string) {
	t.Helper()
	for _, m := range c.Members {
		p := NewProxyAt(t, host, m.Endpoint)
		proxies, endpoints = append(proxies, p), append(endpoints, p.Endpoint)
	}
	return proxies, endpoints
}

// NewProxy returns a proxy for what listens, or will listen, at target. It ends with the test.
func NewProxy(t testing.TB, target string) *Proxy {
	t.Helper()
	return NewProxyAt(t, loopback, target)
}

const loopback = "127.0.0.1"

// NewProxyAt is NewProxy on another address of this machine than that of loopback.
func NewProxyAt(t testing.TB, host, target string) *Proxy {
	t.Helper()
	listener, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{Endpoint: listener.Addr().String(), target: target, listener: listener}
	p.mu.conns = make(map[net.Conn]bool)
	p.changed = sync.NewCond(&p.mu)
	p.serving.Go(p.serve)
	t.Cleanup(p.close)
	return p
}

// Hold keeps what clients send from now on, or lets it go.
func (p *Proxy) Hold(hold bool) { p.set(func() { p.mu.hold = hold }) }

// DropAnswers throws away what the server answers from now on. When that ends, the connections
// that lack something are closed.
func (p *Proxy) DropAnswers(drop bool) {
	p.set(func() {
		p.mu.drop = drop
		for conn, lacks := range p.mu.conns {
			if lacks && !drop {
				_ = conn.Close()
			}
		}
	})
}

// Edit changes each piece of an answer by f, which must keep its length; nil: no longer.
func (p *Proxy) Edit(f func([]byte) []byte) { p.set(func() { p.mu.edit = f }) }

// Cut closes all connections. New ones are accepted.
func (p *Proxy) Cut() { p.set(p.cutLocked) }

func (p *Proxy) cutLocked() {
	for conn := range p.mu.conns {
		_ = conn.Close()
	}
}

func (p *Proxy) set(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
	p.changed.Broadcast()
}

func (p *Proxy) close() {
	_ = p.listener.Close()
	p.set(func() {
		p.mu.closed = true
		p.cutLocked()
	})
	p.serving.Wait()
}

func (p *Proxy) serve() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.target)
		if err != nil {
			_ = client.Close()
			continue
		}
		p.set(func() {
			p.mu.conns[client], p.mu.conns[server] = false, false
			if p.mu.closed {
				p.cutLocked()
			}
		})
		from := client.RemoteAddr().String()
		p.serving.Go(func() { p.pump(server, client, from, p.request) })
		p.serving.Go(func() { p.pump(client, server, from, p.answer) })
	}
}

// pump passes what from says to the other side, as far as pass lets it. client is the client's address.
func (p *Proxy) pump(to, from net.Conn, client string, pass func(to net.Conn, piece []byte) []byte) {
	defer p.set(func() { delete(p.mu.conns, from) })
	defer from.Close()
	defer to.Close()
	buffer := make([]byte, 1<<20)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		p.awaitWhole(client)
		if piece := pass(to, buffer[:n]); len(piece) > 0 {
			if _, err := to.Write(piece); err != nil {
				return
			}
		}
	}
}

// request waits while requests are held.
func (p *Proxy) request(_ net.Conn, piece []byte) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.mu.hold && !p.mu.closed {
		p.changed.Wait()
	}
	return piece
}

func (p *Proxy) answer(client net.Conn, piece []byte) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.drop {
		p.mu.conns[client] = true
		return nil
	}
	if p.mu.edit != nil {
		return p.mu.edit(piece)
	}
	return piece
}
