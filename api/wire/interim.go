package wire

import (
	"bytes"
	"slices"

	"github.com/valyala/fasthttp"
)

// A client that expects 100 has a body that it has not sent yet (RFC 9110, 10.1.1). fasthttp writes the interim
// response to every request that says so, and a client that asked without a body, by GET, may take it for the answer.
//
// For methods that may have a body, prepareBody takes Expect away if there is none. To look for it among the fields of
// every GET would cost a redirect 20 to 40 ns, so there fasthttp finds it, and the connection does not write what
// fasthttp writes then.

// interimText is what fasthttp writes.
const interimText = "HTTP/1.1 100 Continue\r\n\r\n"

// An interim is an interim response that is on its way out.
type interim struct {
	unwanted bool   // the next one is not to be sent
	begun    []byte // a beginning of it, or of something like it, that ended a Write
}

// expected is fasthttp's ExpectHandler: it is called for a request that says Expect: 100-continue, right before the
// interim response is written and flushed.
func expected(ctx *fasthttp.RequestCtx) int {
	if c := connOf(ctx.Conn()); c != nil && (ctx.IsGet() || ctx.IsHead()) {
		c.interim.unwanted = true
	}
	return fasthttp.StatusContinue
}

// writeWithoutInterim writes b but for the interim response at its end. Answers to requests before may stand before it,
// and fasthttp's buffer may have been full in the middle of it.
func (c *conn) writeWithoutInterim(b []byte) (n int, err error) {
	all := slices.Concat(c.interim.begun, b)
	kept, found := bytes.CutSuffix(all, []byte(interimText))
	next := interim{unwanted: !found}
	if !found {
		begun := interimBegun(all)
		kept, next.begun = all[:len(all)-begun], all[len(all)-begun:]
	}
	c.interim = interim{} // so that Write writes what is kept
	if len(kept) > 0 {
		if _, err := c.Write(kept); err != nil {
			return 0, err
		}
	}
	c.interim = next
	return len(b), nil
}

// interimBegun returns how many bytes at the end of b may begin an interim response.
func interimBegun(b []byte) int {
	for n := min(len(b), len(interimText)-1); n > 0; n-- {
		if bytes.HasSuffix(b, []byte(interimText[:n])) {
			return n
		}
	}
	return 0
}
