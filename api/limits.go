package api

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/problem"
	"shunt/api/turnstile"
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

// noBody is fasthttp's ContentLength of a request without Content-Length and Transfer-Encoding.
const noBody = -2

// prepareBody is fasthttp's HeaderReceived hook: it says how large the body may be. The hot path ends at its first line.
func (s *Server) prepareBody(h *fasthttp.RequestHeader) fasthttp.RequestConfig {
	if h.IsGet() || h.IsHead() {
		return fasthttp.RequestConfig{}
	}
	dropExpect(h)
	limit, key := s.bodyLimitOf(h)
	return fasthttp.RequestConfig{MaxRequestBodySize: admitBody(h, limit, key)}
}

// dropExpect takes the wish for 100 Continue out of a request whose client does not know it, which is one of HTTP/1.0
// (RFC 9110, 10.1.1), or has no body to wait with (interim.go).
func dropExpect(h *fasthttp.RequestHeader) {
	if !h.IsHTTP11() || h.ContentLength() == 0 || h.ContentLength() == noBody {
		h.Del(fasthttp.HeaderExpect)
	}
}

// prepareLocalBody is prepareBody for the socket: whoever can open that may send what the endpoint
// takes, and has no share.
func (s *Server) prepareLocalBody(h *fasthttp.RequestHeader) fasthttp.RequestConfig {
	if h.IsGet() || h.IsHead() {
		return fasthttp.RequestConfig{}
	}
	dropExpect(h)
	return fasthttp.RequestConfig{MaxRequestBodySize: admitBody(h, s.localBodyLimit(h), turnstile.Key{})}
}

func (s *Server) localBodyLimit(h *fasthttp.RequestHeader) int {
	if e, found := s.limitedEndpoint(h); found {
		return e.maxBody
	}
	return maxBodyBytes
}

// limitedEndpoint returns the endpoint that h is for, if that has a limit of its own.
func (s *Server) limitedEndpoint(h *fasthttp.RequestHeader) (e endpoint, found bool) {
	if len(s.bodyLimits) == 0 {
		return endpoint{}, false
	}
	path, _, _ := bytes.Cut(h.RequestURI(), []byte{'?'})
	e, found = s.bodyLimits[string(h.Method())+" "+string(path)]
	return e, found
}

// bodyLimitOf returns how large h's body may be, and whose it is if it may be a large one. fasthttp
// reads it whole before anybody asks who sends it, so more than the usual is for those whose token
// or session is good for the endpoint.
func (s *Server) bodyLimitOf(h *fasthttp.RequestHeader) (limit int, key turnstile.Key) {
	e, found := s.limitedEndpoint(h)
	switch {
	case !found:
		return maxBodyBytes, key
	case e.maxBody <= maxBodyBytes:
		return e.maxBody, key
	}
	if caller, found := s.maybeSender(h, e.scope); found {
		return e.maxBody, keyOf(caller)
	}
	return maxBodyBytes, key
}

func (s *Server) bodyLimit(h *fasthttp.RequestHeader) int {
	limit, _ := s.bodyLimitOf(h)
	return limit
}

// maybeSender returns who sends h, if they have scope. What is still to be asked (is it by the
// right scheme, from a page of ours?) the door asks when it has the body.
func (s *Server) maybeSender(h *fasthttp.RequestHeader, scope account.Scope) (caller account.Caller, found bool) {
	if token, _ := bearerToken(h.Peek(fasthttp.HeaderAuthorization)); token != "" {
		caller, err := s.accounts.Authenticate(token)
		return caller, err == nil && caller.Has(scope)
	}
	for _, name := range []string{secureCookie, plainCookie} {
		if cookie := h.Cookie(name); len(cookie) > 0 {
			if caller, err := s.accounts.AuthenticateSession(string(cookie)); err == nil && caller.Has(scope) {
				return caller, true
			}
		}
	}
	return account.Caller{}, false
}

// badRequest labels requests that could not be read, or whose framing is refused.
const badRequest = "malformed"

// parseFailed answers a request that the gate or fasthttp refuses, and closes the connection.
func (s *Server) parseFailed(ctx *fasthttp.RequestCtx, err error) {
	s.refuseUnread(ctx, err, s.bodyLimit)
}

// localParseFailed is parseFailed on the socket.
func (s *Server) localParseFailed(ctx *fasthttp.RequestCtx, err error) {
	s.refuseUnread(ctx, err, s.localBodyLimit)
}

func (s *Server) refuseUnread(ctx *fasthttp.RequestCtx, err error, bodyLimit func(*fasthttp.RequestHeader) int) {
	r := problem.Problem{Kind: problem.BadRequest, Detail: "the request could not be read"}
	c := connOf(ctx.Conn())
	var small *fasthttp.ErrSmallBuffer
	switch {
	case errors.As(err, &small):
		r.Kind, r.Detail = problem.HeadersTooLarge, fmt.Sprintf("request line and fields must be at most %d bytes", maxHeaderBytes)
	case c != nil && c.gate.refused != nil:
		r = *c.gate.refused
		ctx.Response.SkipBody = c.gate.head.isHead
	case errors.Is(err, fasthttp.ErrBodyTooLarge):
		r.Kind, r.Detail = problem.BodyTooLarge, fmt.Sprintf("the body must be at most %d bytes", bodyLimit(&ctx.Request.Header))
	case isTimeout(err) && c != nil && c.gate.large.cut.Load():
		r.Kind, r.Detail = problem.Timeout, fmt.Sprintf("others waited, and a large body must move %d KiB a second then", largeBodyRate>>10)
	case isTimeout(err):
		r.Kind, r.Detail = problem.Timeout, "the request did not arrive in time"
	}
	if c != nil {
		c.gate.large.leave() // now, because who is refused may linger
	}
	linger(ctx.Conn())
	writeProblem(ctx, r)
	s.metrics.unread(ctx)
}
