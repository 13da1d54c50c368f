package api

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/valyala/fasthttp"
)

// Limits of the front end.
const (
	MaxConnections    = 1 << 15 // to the public address, at 16 + 4 KiB of buffers each: 640 MiB
	DefaultPerAddress = 512     // of them from one address; Options.MaxPerAddress

	maxHeaderBytes     = 16 << 10 // request line and header fields together
	maxBodyBytes       = 64 << 10 // where the endpoint does not say otherwise
	maxOperators       = 32       // connections to the admin address, and to the socket
	maxRequestsPerConn = 100_000  // so that the clients of a balancer spread again after a change
)

// bodyLimits returns the endpoints that have a limit of their own, by method and path. Only paths without parameters may have one.
func bodyLimits(endpoints []endpoint) map[string]endpoint {
	limits := make(map[string]endpoint)
	for _, e := range endpoints {
		if e.maxBody > 0 {
			limits[e.method+" "+apiRoot+e.path] = e
		}
	}
	return limits
}

// prepareBody is fasthttp's HeaderReceived hook: it says how large the body may be. The hot path ends at its first line.
func (s *Server) prepareBody(h *fasthttp.RequestHeader) fasthttp.RequestConfig {
	if h.IsGet() || h.IsHead() {
		return fasthttp.RequestConfig{}
	}
	if !h.IsHTTP11() {
		h.Del(fasthttp.HeaderExpect) // a client of HTTP/1.0 does not know 100 (RFC 9110, 10.1.1)
	}
	return fasthttp.RequestConfig{MaxRequestBodySize: s.bodyLimit(h)}
}

// bodyLimit returns how large h's body may be. fasthttp reads it whole before anybody asks who sends it, so more than the
// usual is for those whose token is good for the endpoint. The socket's clients send none, and live with the usual.
func (s *Server) bodyLimit(h *fasthttp.RequestHeader) int {
	if len(s.bodyLimits) == 0 {
		return maxBodyBytes
	}
	path, _, _ := bytes.Cut(h.RequestURI(), []byte{'?'})
	e, found := s.bodyLimits[string(h.Method())+" "+string(path)]
	switch {
	case !found:
		return maxBodyBytes
	case e.maxBody <= maxBodyBytes:
		return e.maxBody
	}
	token, _ := bearerToken(h.Peek(fasthttp.HeaderAuthorization))
	if caller, err := s.accounts.Authenticate(token); err != nil || !caller.Has(e.scope) {
		return maxBodyBytes
	}
	return e.maxBody
}

// badRequest labels requests that could not be read, or whose framing is refused.
const badRequest = "malformed"

// parseFailed answers a request that the gate or fasthttp refuses, and closes the connection.
func (s *Server) parseFailed(ctx *fasthttp.RequestCtx, err error) {
	r := refusal{kind: kindBadRequest, detail: "the request could not be read"}
	c := connOf(ctx.Conn())
	var small *fasthttp.ErrSmallBuffer
	switch {
	case errors.As(err, &small):
		r.kind, r.detail = kindHeadersTooLarge, fmt.Sprintf("request line and fields must be at most %d bytes", maxHeaderBytes)
	case errors.Is(err, fasthttp.ErrBodyTooLarge):
		r.kind, r.detail = kindBodyTooLarge, fmt.Sprintf("the body must be at most %d bytes", s.bodyLimit(&ctx.Request.Header))
	case isTimeout(err):
		r.kind, r.detail = kindTimeout, "the request did not arrive in time"
	case c != nil && c.gate.refused != nil:
		r = *c.gate.refused
		ctx.Response.SkipBody = c.gate.head.isHead
	}
	if c != nil {
		c.gate.large.leave() // now, because who is refused may linger
	}
	linger(ctx.Conn())
	writeProblem(ctx, r)
	s.metrics.unread(ctx)
}
