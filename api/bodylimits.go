package api

import (
	"bytes"

	"github.com/valyala/fasthttp"

	"shunt/api/ops"
	"shunt/api/turnstile"
	"shunt/api/wire"
)

// Limits of the front end.
const (
	MaxConnections    = wire.MaxConnections
	DefaultPerAddress = 512 // connections from one address; Options.MaxPerAddress
	maxOperators      = 32  // connections to the admin address, and to the socket
)

// bodyLimits decides how large the body of a request may be, before the body is read.
type bodyLimits struct {
	auth      *authenticator
	endpoints map[string]endpoint // those with a limit of their own, by method and path
}

// newBodyLimits returns the limits of endpoints. Only paths without parameters may have one.
func newBodyLimits(auth *authenticator, endpoints []endpoint) *bodyLimits {
	b := &bodyLimits{auth: auth, endpoints: make(map[string]endpoint)}
	for _, e := range endpoints {
		if e.maxBody > 0 {
			b.endpoints[e.method+" "+apiRoot+e.path] = e
		}
	}
	return b
}

// endpointOf returns the endpoint of h, if the endpoint has a limit of its own.
func (b *bodyLimits) endpointOf(h *fasthttp.RequestHeader) (e endpoint, found bool) {
	if len(b.endpoints) == 0 {
		return endpoint{}, false
	}
	path, _, _ := bytes.Cut(h.RequestURI(), []byte{'?'})
	e, found = b.endpoints[string(h.Method())+" "+string(path)]
	return e, found
}

// overNetwork returns the limit of h's body in bytes and, if the body may be large, the key of its
// caller. fasthttp reads the whole body before the handler identifies the caller, so only a caller
// whose token or session is valid for the endpoint gets more than the usual limit.
func (b *bodyLimits) overNetwork(h *fasthttp.RequestHeader) (limit int, key turnstile.Key) {
	e, found := b.endpointOf(h)
	switch {
	case !found:
		return wire.MaxBodyBytes, key
	case e.maxBody <= wire.MaxBodyBytes:
		return e.maxBody, key
	}
	if caller, found := b.auth.sender(h, e.scope); found {
		return e.maxBody, ops.KeyOf(caller)
	}
	return wire.MaxBodyBytes, key
}

// overSocket is overNetwork for the socket of local commands: a command may send as much as the
// endpoint accepts, and has no share.
func (b *bodyLimits) overSocket(h *fasthttp.RequestHeader) (limit int, key turnstile.Key) {
	if e, found := b.endpointOf(h); found {
		return e.maxBody, key
	}
	return wire.MaxBodyBytes, key
}
