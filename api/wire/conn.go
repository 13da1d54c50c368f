package wire

import (
	"crypto/tls"
	"io"
	"net"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"
)

// A conn passes the client's bytes through a gate, and records its progress for the sweep. That
// costs a request two atomic stores; more only if a head does not come in one piece, or if there is
// a body.
type conn struct {
	net.Conn
	owner *listener
	row   *row // given back by Close
	gate  gate // of the goroutine that reads

	moved   atomic.Int64 // bytes of this request's body, and of its answer if that is large
	lingers atomic.Bool  // Close must wait until the client has read the answer
	closed  atomic.Bool  // Close has been called
	interim interim      // of the goroutine that writes
	plain   bool         // the client spoke HTTP on a TLS port; of the connection's goroutine
	lane    lane
	ahead   []byte // bytes that a loop has read already; of the goroutine that reads
	isHEAD  bool   // fasthttp reads the body of a HEAD: if that fails, it forgets the method
	adopted bool   // the state is the loop's, and fasthttp has not noted one yet
}

// Read reads the bytes that the gate lets through. Over TLS, the first byte that the gate sees is
// the first of a request, not of the handshake.
func (c *conn) Read(b []byte) (n int, err error) {
	for n == 0 && err == nil && len(b) > 0 {
		if c.gate.closed() {
			return 0, c.gate.end()
		}
		if n, err = c.readAhead(b); n == 0 {
			n, err = c.Conn.Read(b)
		}
		if err == io.EOF && c.gate.inBody() {
			// With io.EOF before a chunk, fasthttp would drop the answers that it has not sent yet.
			err = io.ErrUnexpectedEOF
		}
		if n > 0 && c.opensLane() {
			n, err = c.answerPlain(b[:n])
		}
		if n > 0 {
			n = c.pass(b[:n])
		}
	}
	return n, err
}

// readAhead reads from what a loop has read already.
func (c *conn) readAhead(b []byte) (n int, err error) {
	if len(c.ahead) > 0 {
		n = copy(b, c.ahead)
		if c.ahead = c.ahead[n:]; len(c.ahead) == 0 {
			c.ahead = nil
		}
	}
	return n, nil
}

// pass passes b through the gate and records progress for the sweep.
func (c *conn) pass(b []byte) int {
	c.row.mark(stateHeard, true)
	if c.gate.inBody() {
		c.moved.Add(int64(len(b)))
	}
	n := c.gate.pass(b)
	inHead := c.gate.inHead()
	if c.row.mark(stateInHead, inHead); !inHead {
		c.owner.finish(c.row)
	}
	return n
}

// largeWrite is the largest number of bytes in one write. A redirect is smaller.
const largeWrite = 32 << 10

// Write writes b, without an interim response that the client does not wait for.
func (c *conn) Write(b []byte) (n int, err error) {
	if len(b) > largeWrite || c.interim.unwanted {
		return c.writeSlow(b)
	}
	return c.Conn.Write(b)
}

// writeSlow writes a large answer in pieces, so that the sweep sees that the client reads it.
func (c *conn) writeSlow(b []byte) (n int, err error) {
	if c.interim.unwanted {
		return c.writeWithoutInterim(b)
	}
	for len(b)-n > largeWrite && err == nil {
		var m int
		m, err = c.Conn.Write(b[n : n+largeWrite])
		n += m
		c.moved.Add(int64(m))
	}
	if err != nil {
		return n, err
	}
	m, err := c.Conn.Write(b[n:])
	return n + m, err
}

// note records that a request has begun (busy) or has been answered.
func (c *conn) note(busy bool) {
	c.row.note(busy, c.owner.seconds.Load())
	c.forgetMoved()
}

// forgetMoved resets the count of moved bytes.
func (c *conn) forgetMoved() {
	if c.moved.Load() != 0 {
		c.moved.Store(0)
		c.gate.large.leave()
	}
}

// renew is note(true) from a goroutine that may outlive the connection. It returns false if the row no
// longer belongs to the connection.
func (c *conn) renew() bool {
	c.owner.mu.Lock()
	defer c.owner.mu.Unlock()
	if c.row.conn != c {
		return false
	}
	c.row.note(true, c.owner.seconds.Load())
	return true
}

// Limits of lingering.
const (
	lingerTime  = time.Second
	lingerBytes = 1 << 20
)

// Close closes the connection. Closing with unread bytes would reset it, and the client might lose
// an answer that it has not read yet. So a connection that lingers is closed for writing first, and
// bytes that still come are discarded for a while. It counts as open until then.
func (c *conn) Close() error {
	if !c.lane.mayClose() {
		return nil
	}
	talk := c.Conn
	if c.plain {
		talk = c.socket()
	}
	if half, ok := talk.(interface{ CloseWrite() error }); ok && c.lingers.Swap(false) && half.CloseWrite() == nil {
		_ = c.SetReadDeadline(time.Now().Add(lingerTime))
		_, _ = io.CopyN(io.Discard, talk, lingerBytes) // with or without an error, the connection is closed next
	}
	err := c.Conn.Close()
	c.gate.large.leave()
	if !c.closed.Swap(true) { // at a second call the row may belong to another connection
		c.owner.forget(c.row)
	}
	return err
}

// drop closes the connection from another goroutine; the connection's own goroutine notices and
// calls Close. drop never blocks: with TLS it closes the socket below, because a close alert would
// wait for a client that does not read.
func (c *conn) drop() {
	_ = c.socket().Close()
}

// reset is drop, but the kernel also discards the bytes that the client has not read.
func (c *conn) reset() {
	if tcp, ok := c.socket().(interface{ SetLinger(sec int) error }); ok {
		_ = tcp.SetLinger(0)
	}
	c.drop()
}

// socket returns the connection below TLS.
func (c *conn) socket() net.Conn {
	if t, ok := c.Conn.(*tls.Conn); ok {
		return t.NetConn()
	}
	return c.Conn
}

// A tlsConn has the methods that fasthttp looks for to recognize TLS.
type tlsConn struct{ *conn }

func (c tlsConn) ConnectionState() tls.ConnectionState { return c.Conn.(*tls.Conn).ConnectionState() }

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
	if tracked := connOf(c); tracked != nil && tracked.renew() {
		tracked.forgetMoved()
	}
}

// AwaitEnd waits until the client of c closes the connection or sends a byte, while the last request on it is being
// answered. A request that says Connection: close is the last one, and Read ends after it at once. c may be any
// connection.
func AwaitEnd(c net.Conn) {
	from := c
	if tracked := connOf(c); tracked != nil && tracked.gate.closed() {
		from = tracked.Conn
	}
	_, _ = from.Read(make([]byte, 1))
}

// Sent extends the time limit of the request under way on c by the time that minRate allows for
// bytes, a number of bytes of its answer that are being sent. So a client slower than minRate is
// cut. c may be any connection.
func Sent(c net.Conn, bytes int) {
	if tracked := connOf(c); tracked != nil {
		tracked.moved.Add(int64(bytes))
	}
}

// linger makes Close wait until the client has read the answer.
func linger(c net.Conn) {
	if tracked := connOf(c); tracked != nil {
		tracked.lingers.Store(true)
	}
}
