package e2e

import (
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"shunt/engine/expect"
)

// An edgePath passes the connections of an edge on to its writer, and can be cut.
type edgePath struct {
	url string // to be used in place of the writer's
	to  string

	mu    sync.Mutex
	open  map[net.Conn]bool
	until time.Time // it is cut
	cuts  int       // connections that were cut
}

func newEdgePath(t *testing.T, to string) *edgePath {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	expect.OK(t, err)
	p := &edgePath{url: "http://" + ln.Addr().String(), to: to, open: make(map[net.Conn]bool)}
	go func() {
		for {
			from, err := ln.Accept()
			if err != nil {
				return
			}
			go p.pass(from)
		}
	}()
	t.Cleanup(func() {
		ln.Close()
		p.cut(time.Hour)
	})
	return p
}

func (p *edgePath) pass(from net.Conn) {
	defer from.Close()
	to, err := net.DialTimeout("tcp", p.to, 5*time.Second)
	if err != nil {
		return // the writer is away
	}
	defer to.Close()
	if !p.opened(from, to) {
		return
	}
	go func() {
		_, _ = io.Copy(to, from) // its end is the other's, too
		to.Close()
	}()
	_, _ = io.Copy(from, to)
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, from)
	delete(p.open, to)
}

// opened notes both ends of a connection. It reports false while the path is cut.
func (p *edgePath) opened(from, to net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Now().Before(p.until) {
		return false
	}
	p.open[from], p.open[to] = true, true
	return true
}

func (p *edgePath) wasCut() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cuts > 0
}

// cut ends all connections, in the middle of what is on its way, and refuses others for a time.
func (p *edgePath) cut(during time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.until = time.Now().Add(during)
	p.cuts += len(p.open) / 2
	for c := range p.open {
		c.Close()
	}
	clear(p.open)
}
