package wire

import (
	"github.com/valyala/fasthttp"

	"shunt/api/turnstile"
)

// Sizes of requests and of what is kept for connections.
const (
	MaxConnections     = 1 << 15  // of a group, at 16 + 4 KiB of buffers each: 640 MiB
	maxHeaderBytes     = 16 << 10 // request line and header fields together
	MaxBodyBytes       = 64 << 10 // unless Group.MaxBody says otherwise
	maxRequestsPerConn = 100_000  // so that the clients of a balancer spread again after a change
)

// noBody is fasthttp's ContentLength of a request without Content-Length and Transfer-Encoding.
const noBody = -2

// prepareBody is fasthttp's HeaderReceived hook: it says how large the body may be. The hot path ends at its first line.
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

// dropExpect takes the wish for 100 Continue out of a request whose client does not know it, which is one of HTTP/1.0
// (RFC 9110, 10.1.1), or has no body to wait with (interim.go).
func dropExpect(h *fasthttp.RequestHeader) {
	if !h.IsHTTP11() || h.ContentLength() == 0 || h.ContentLength() == noBody {
		h.Del(fasthttp.HeaderExpect)
	}
}
