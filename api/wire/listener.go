package wire

import (
	"io"
	"net"
	"sync"
	"time"

	"shunt/api/wire/conns"
	"shunt/api/wire/http1"
	"shunt/api/wire/loop"
)

// A listener tracks and sweeps the connections that it accepts, so that no client holds one forever.
type listener struct {
	net.Listener
	*conns.Table
	plain   *Group // answers plain requests; nil: there are none
	closed  chan struct{}
	closing sync.Once
	failed  error       // why the loops cannot accept; set before closed is closed
	loops   *loop.Loops // nil: fasthttp accepts
}

func newListener(ln net.Listener, g *Group) *listener {
	l := &listener{Listener: ln, Table: conns.NewTable(g.Limits, g.Patience, newLargeBodies(), g.Log), closed: make(chan struct{})}
	if g.Plain != nil {
		l.plain = g
	}
	return l
}

// Accept waits for a free slot and then for a connection. Clients wait in the backlog meanwhile. If
// file descriptors or memory run out, Accept tries again until there are some.
func (l *listener) Accept() (net.Conn, error) {
	if l.loops != nil {
		<-l.closed // the loops accept, and fasthttp gets its connections from them
		if l.failed != nil {
			return nil, l.failed
		}
		return nil, io.EOF
	}
	if !l.TakeSlot(l.closed) {
		return nil, io.EOF
	}
	for {
		c, err := l.accept()
		if err != nil {
			l.LeaveSlot()
			return nil, err
		}
		if tracked := l.track(c); tracked != nil {
			return tracked, nil
		}
		l.Limits.Counts.Address.Add(1)
		_ = c.Close()
	}
}

func (l *listener) accept() (net.Conn, error) {
	for delay := time.Duration(0); ; {
		c, err := l.Listener.Accept()
		if err == nil {
			return c, nil
		}
		select {
		case <-l.closed:
			return nil, io.EOF // fasthttp takes this for a regular end
		default:
		}
		if !conns.Passing(err) {
			l.closing.Do(func() { close(l.closed) }) // the listener was closed, or it is broken
			return nil, err
		}
		l.WarnTrying(err)
		delay = conns.NextDelay(delay)
		select {
		case <-time.After(delay):
		case <-l.closed:
			return nil, io.EOF
		}
	}
}

// Close stops accepting. Open connections go on.
func (l *listener) Close() error {
	var err error
	l.closing.Do(func() {
		close(l.closed)
		if l.TellAll(conns.StopAccept); l.loops == nil {
			err = l.Listener.Close()
		}
	})
	return err
}

// fail is Close after a loop has found that the socket is broken.
func (l *listener) fail(cause error) {
	l.closing.Do(func() {
		l.failed = cause
		close(l.closed)
		l.TellAll(conns.StopAccept)
	})
}

// track wraps c and begins to sweep it. It returns nil if c's address has its share of connections.
func (l *listener) track(c net.Conn) net.Conn {
	r := l.Join(http1.AddrOf(c.RemoteAddr()), conns.ByServer)
	if r == nil {
		return nil
	}
	return l.wrap(c, r).asServed()
}

// wrap returns the connection that fasthttp gets for c, whose row is r.
func (l *listener) wrap(c net.Conn, r *conns.Row) *conn {
	tracked := &conn{Served: conns.Served{Conn: c, Row: r}, owner: l}
	tracked.Large = &tracked.gate.Large
	tracked.Large.Begin(l.Large, &l.Seconds)
	l.Serve(r, &tracked.Served)
	return tracked
}
