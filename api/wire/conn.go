package wire

import (
	"crypto/tls"
	"io"
	"net"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/wire/conns"
	"shunt/api/wire/http1"
)

// A conn passes the client's bytes through a gate, and records its progress for the sweep. That
// costs a request two atomic stores; more only if a head does not come in one piece, or if there is
// a body.
type conn struct {
	conns.Served
	owner *listener
	gate  http1.Gate // of the goroutine that reads

	lingers atomic.Bool // Close must wait until the client has read the answer
	closed  atomic.Bool // Close has been called
	interim interim     // of the goroutine that writes
	plain   bool        // the client spoke HTTP on a TLS port; of the connection's goroutine
	lane    lane
	ahead   []byte // bytes that a loop has read already; of the goroutine that reads
	isHEAD  bool   // fasthttp reads the body of a HEAD: if that fails, it forgets the method
	adopted bool   // the state is the loop's, and fasthttp has not noted one yet
}

// An interim is the state of the interim response that fasthttp may be writing.
type interim struct {
	unwanted bool   // the next one must not be sent
	begun    []byte // the end of the last Write, if it may begin an interim response
}

// A lane is the state of a connection's lane. Its goroutine writes it, and fasthttp's Shutdown, which
// takes the connection for idle while the lane answers.
type lane struct{ state atomic.Int32 }

const (
	laneEmpty   = iota
	laneTaken   // requests are being answered
	laneClosing // Close was called meanwhile: the connection is closed after the answers
)

// enter reports whether the lane may answer: the connection has not been closed.
func (l *lane) enter() bool { return l.state.CompareAndSwap(laneEmpty, laneTaken) }

// leave reports whether the connection stays open after the answers.
func (l *lane) leave() bool { return l.state.CompareAndSwap(laneTaken, laneEmpty) }

// mayClose reports whether the connection may be closed now. If not, leave returns false.
func (l *lane) mayClose() bool { return !l.state.CompareAndSwap(laneTaken, laneClosing) }

// note records that a request has begun (busy) or has been answered.
func (c *conn) note(busy bool) {
	c.Row.Note(busy, c.owner.Seconds.Load())
	c.forgetMoved()
}

// forgetMoved resets the count of moved bytes.
func (c *conn) forgetMoved() {
	if c.Moved.Load() != 0 {
		c.Moved.Store(0)
		c.gate.Large.Leave()
	}
}

// lingerBytes is how many bytes are discarded while a connection lingers.
const lingerBytes = 1 << 20

// Close closes the connection. Closing with unread bytes would reset it, and the client might lose
// an answer that it has not read yet. So a connection that lingers is closed for writing first, and
// bytes that still come are discarded for a while. It counts as open until then.
func (c *conn) Close() error {
	if !c.lane.mayClose() {
		return nil
	}
	talk := c.Conn
	if c.plain {
		talk = c.Socket()
	}
	if half, ok := talk.(interface{ CloseWrite() error }); ok && c.lingers.Swap(false) && half.CloseWrite() == nil {
		_ = c.SetReadDeadline(time.Now().Add(conns.LingerTime))
		_, _ = io.CopyN(io.Discard, talk, lingerBytes) // with or without an error, the connection is closed next
	}
	err := c.Conn.Close()
	c.gate.Large.Leave()
	if !c.closed.Swap(true) { // at a second call the row may belong to another connection
		c.owner.Forget(c.Row)
	}
	return err
}

// A tlsConn has the methods that fasthttp looks for to recognize TLS.
type tlsConn struct{ *conn }

func (c tlsConn) ConnectionState() tls.ConnectionState { return c.Conn.(*tls.Conn).ConnectionState() }

// asServed returns the connection as fasthttp has it, which tells TLS from plain text.
func (c *conn) asServed() net.Conn {
	if _, secure := c.Conn.(*tls.Conn); secure {
		return tlsConn{c}
	}
	return c
}

// connOf returns the conn of c, nil if c is another kind of connection.
func connOf(c net.Conn) *conn {
	switch c := c.(type) {
	case *conn:
		return c
	case tlsConn:
		return c.conn
	}
	return nil
}

// noteState is fasthttp's ConnState hook. fasthttp calls it once more after Close, when the row may be
// another connection's.
func noteState(c net.Conn, state fasthttp.ConnState) {
	tracked := connOf(c)
	if tracked == nil || state == fasthttp.StateClosed || state == fasthttp.StateHijacked {
		return
	}
	if tracked.adopted { // fasthttp notes a new connection as busy; this one may be so for longer
		tracked.adopted = false
		return
	}
	tracked.note(state != fasthttp.StateIdle)
}

// Renew restarts the time limit of the request under way on c. A handler of a long answer calls it
// whenever the client has read a part. c may be any connection.
func Renew(c net.Conn) {
	if tracked := connOf(c); tracked != nil && tracked.owner.Renew(&tracked.Served) {
		tracked.forgetMoved()
	}
}

// AwaitEnd waits until the client of c closes the connection or sends a byte, while the last request on it is being
// answered. A request that says Connection: close is the last one, and Read ends after it at once. c may be any
// connection.
func AwaitEnd(c net.Conn) {
	from := c
	if tracked := connOf(c); tracked != nil && tracked.gate.Closed() {
		from = tracked.Conn
	}
	_, _ = from.Read(make([]byte, 1))
}

// Sent extends the time limit of the request under way on c by the time that MinRate allows for
// bytes, a number of bytes of its answer that are being sent. So a client slower than MinRate is
// cut. c may be any connection.
func Sent(c net.Conn, bytes int) {
	if tracked := connOf(c); tracked != nil {
		tracked.Moved.Add(int64(bytes))
	}
}

// linger makes Close wait until the client has read the answer.
func linger(c net.Conn) {
	if tracked := connOf(c); tracked != nil {
		tracked.lingers.Store(true)
	}
}
