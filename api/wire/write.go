package wire

import (
	"bytes"
	"slices"

	"github.com/valyala/fasthttp"
)

// A client that sends Expect: 100-continue has a body that it has not sent yet (RFC 9110, 10.1.1).
// fasthttp writes the interim response to every such request, and a client without a body may take
// it for the answer.
//
// For other methods than GET and HEAD, prepareBody removes Expect if there is no body. Looking for it
// among the fields of every GET would cost a redirect 20 to 40 ns, so of a GET or HEAD without a body
// fasthttp finds it, and the connection does not write the interim response that fasthttp then writes.

// interimText is the interim response as fasthttp writes it.
const interimText = "HTTP/1.1 100 Continue\r\n\r\n"

// expected is fasthttp's ExpectHandler. It is called for a request with Expect: 100-continue, right
// before the interim response is written and flushed.
func expected(ctx *fasthttp.RequestCtx) int {
	if c := connOf(ctx.Conn()); c != nil && isGetOrHead(&ctx.Request.Header) && !hasBody(&ctx.Request.Header) {
		c.interim.unwanted = true
	}
	return fasthttp.StatusContinue
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
		c.Moved.Add(int64(m))
	}
	if err != nil {
		return n, err
	}
	m, err := c.Conn.Write(b[n:])
	return n + m, err
}

// writeWithoutInterim writes b without the interim response at its end. Answers to earlier requests
// may come before it in b, and it may be split over two Writes, because fasthttp's buffer was full.
func (c *conn) writeWithoutInterim(b []byte) (n int, err error) {
	all := slices.Concat(c.interim.begun, b)
	kept, found := bytes.CutSuffix(all, []byte(interimText))
	next := interim{unwanted: !found}
	if !found {
		begun := interimBegun(all)
		kept, next.begun = all[:len(all)-begun], all[len(all)-begun:]
	}
	c.interim = interim{} // so that Write writes the kept bytes
	if len(kept) > 0 {
		if _, err := c.Write(kept); err != nil {
			return 0, err
		}
	}
	c.interim = next
	return len(b), nil
}

// interimBegun returns the number of bytes at the end of b that may begin an interim response.
func interimBegun(b []byte) int {
	for n := min(len(b), len(interimText)-1); n > 0; n-- {
		if bytes.HasSuffix(b, []byte(interimText[:n])) {
			return n
		}
	}
	return 0
}
