package api

import (
	"bytes"

	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/problem"
	"shunt/api/turnstile"
	"shunt/api/wire"
)

// Limits of the front end.
const (
	MaxConnections    = wire.MaxConnections
	DefaultPerAddress = 512 // connections from one address; Options.MaxPerAddress
	maxOperators      = 32  // connections to the admin address, and to the socket
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

// localBodyLimit is bodyLimitOf for the socket: whoever can open that may send what the endpoint
// takes, and has no share.
func (s *Server) localBodyLimit(h *fasthttp.RequestHeader) (limit int, key turnstile.Key) {
	if e, found := s.limitedEndpoint(h); found {
		return e.maxBody, key
	}
	return wire.MaxBodyBytes, key
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
		return wire.MaxBodyBytes, key
	case e.maxBody <= wire.MaxBodyBytes:
		return e.maxBody, key
	}
	if caller, found := s.maybeSender(h, e.scope); found {
		return e.maxBody, keyOf(caller)
	}
	return wire.MaxBodyBytes, key
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

// refuseUnread answers a request that could not be read, or whose framing is refused.
func (s *Server) refuseUnread(ctx *fasthttp.RequestCtx, p problem.Problem) {
	writeProblem(ctx, p)
	s.metrics.Answered(badRequest, nil, ctx.Response.StatusCode())
}
