package wire

import (
	"io"

	"shunt/api/wire/conns"
)

// Read reads the bytes that the gate lets through. Over TLS, the first byte that the gate sees is
// the first of a request, not of the handshake.
func (c *conn) Read(b []byte) (n int, err error) {
	for n == 0 && err == nil && len(b) > 0 {
		if c.gate.Closed() {
			return 0, c.gate.End()
		}
		if n, err = c.readAhead(b); n == 0 {
			n, err = c.Conn.Read(b)
		}
		if err == io.EOF && c.gate.InBody() {
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
	c.Row.Mark(conns.StateHeard, true)
	if c.gate.InBody() {
		c.Moved.Add(int64(len(b)))
	}
	n := c.gate.Pass(b)
	inHead := c.gate.InHead()
	if c.Row.Mark(conns.StateInHead, inHead); !inHead {
		c.owner.Finish(c.Row)
	}
	return n
}
