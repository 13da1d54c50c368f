package account

import "net/netip"

// An Origin is where a request came from, as far as the operator wants it kept. Each request has its
// own: a caller that is known from memory has none until the request fills it in.
type Origin struct {
	RequestID string       // of the X-Request-Id of the answer; empty: the request has none
	Network   netip.Prefix // of the client; zero: not kept
	Local     bool         // by the socket of local commands
}
