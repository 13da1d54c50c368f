package conns

import (
	"crypto/tls"
	"net"
	"sync/atomic"
	"time"

	"shunt/api/wire/http1"
)

// A Served is a connection that fasthttp owns, as far as the table knows it.
type Served struct {
	net.Conn
	Row   *Row         // given back when the connection is closed
	Moved atomic.Int64 // bytes of this request's body, and of its answer if that is large
	Large *http1.Place // the place for the body
}

// LingerTime is how long an end of a connection waits for the client to read the last answer.
const LingerTime = time.Second

// drop closes the connection from another goroutine; the connection's own goroutine notices and
// calls Close. drop never blocks: with TLS it closes the socket below, because a close alert would
// wait for a client that does not read.
func (c *Served) drop() {
	_ = c.Socket().Close()
}

// reset is drop, but the kernel also discards the bytes that the client has not read.
func (c *Served) reset() {
	if tcp, ok := c.Socket().(interface{ SetLinger(sec int) error }); ok {
		_ = tcp.SetLinger(0)
	}
	c.drop()
}

// Socket returns the connection below TLS.
func (c *Served) Socket() net.Conn {
	if t, ok := c.Conn.(*tls.Conn); ok {
		return t.NetConn()
	}
	return c.Conn
}

// late makes the read fail.
func (c *Served) late() { _ = c.SetReadDeadline(time.Unix(1, 0)) } // if it fails, the connection is dead already

// cutLarge makes the read of a slow body fail. fasthttp then answers 408, and the place is given
// back.
func (c *Served) cutLarge() {
	c.Large.CutOff()
	c.late()
}
