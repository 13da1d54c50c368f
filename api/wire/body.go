package wire

import (
	"github.com/valyala/fasthttp"

	"shunt/api/turnstile"
	"shunt/api/wire/http1"
)

// maxRequestsPerConn lets the clients of a load balancer spread again after a change.
const maxRequestsPerConn = 100_000

// noBody is fasthttp's ContentLength of a request without Content-Length and Transfer-Encoding.
const noBody = -2

// prepareBody is fasthttp's HeaderReceived hook: it returns how large the body may be. For a
// redirect it returns after its first lines. A body of GET or HEAD has no meaning (RFC 9110, 9.3.1):
// fasthttp reads it, and no handler looks at it.
func (g *Group) prepareBody(h *fasthttp.RequestHeader) fasthttp.RequestConfig {
	if isGetOrHead(h) && !hasBody(h) {
		return fasthttp.RequestConfig{}
	}
	if c := connOf(contextOf(h).Conn()); c != nil {
		c.isHEAD = h.IsHead()
	}
	dropExpect(h)
	limit, sender := g.bodyLimit(h)
	return fasthttp.RequestConfig{MaxRequestBodySize: admitBody(h, limit, sender)}
}

// isGetOrHead reports whether the request of h has a method whose body has no meaning.
func isGetOrHead(h *fasthttp.RequestHeader) bool { return h.IsGet() || h.IsHead() }

// hasBody reports whether the request of h has a body of at least a byte, or a chunked one.
func hasBody(h *fasthttp.RequestHeader) bool {
	length := h.ContentLength()
	return length != 0 && length != noBody
}

func (g *Group) bodyLimit(h *fasthttp.RequestHeader) (limit int, sender turnstile.Key) {
	if g.MaxBody == nil || isGetOrHead(h) {
		return http1.MaxBodyBytes, turnstile.Key{}
	}
	return g.MaxBody(h)
}

// dropExpect removes Expect from a request of HTTP/1.0, whose client does not know 100 Continue
// (RFC 9110, 10.1.1), and from a request without a body, for which no client waits (write.go).
func dropExpect(h *fasthttp.RequestHeader) {
	if !h.IsHTTP11() || !hasBody(h) {
		h.Del(fasthttp.HeaderExpect)
	}
}
