package wire

import (
	"github.com/valyala/fasthttp"

	"shunt/api/turnstile"
)

// Limits of every group.
const (
	MaxConnections = 1 << 15  // at 16 + 4 KiB of buffers each: 640 MiB
	MaxBodyBytes   = 64 << 10 // of a body, unless Group.MaxBody says otherwise

	maxHeaderBytes     = 16 << 10 // request line and header fields together
	maxRequestsPerConn = 100_000  // so that the clients of a load balancer spread again after a change
)

// noBody is fasthttp's ContentLength of a request without Content-Length and Transfer-Encoding.
const noBody = -2

// prepareBody is fasthttp's HeaderReceived hook: it returns how large the body may be. For a
// redirect it returns after its first line.
func (g *Group) prepareBody(h *fasthttp.RequestHeader) fasthttp.RequestConfig {
	if h.IsGet() || h.IsHead() {
		return fasthttp.RequestConfig{}
	}
	dropExpect(h)
	limit, sender := g.bodyLimit(h)
	return fasthttp.RequestConfig{MaxRequestBodySize: admitBody(h, limit, sender)}
}

func (g *Group) bodyLimit(h *fasthttp.RequestHeader) (limit int, sender turnstile.Key) {
	if g.MaxBody == nil {
		return MaxBodyBytes, turnstile.Key{}
	}
	return g.MaxBody(h)
}

// dropExpect removes Expect from a request of HTTP/1.0, whose client does not know 100 Continue
// (RFC 9110, 10.1.1), and from a request without a body, for which no client waits (interim.go).
func dropExpect(h *fasthttp.RequestHeader) {
	if !h.IsHTTP11() || h.ContentLength() == 0 || h.ContentLength() == noBody {
		h.Del(fasthttp.HeaderExpect)
	}
}
