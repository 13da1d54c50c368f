package account

import (
	"net/netip"
	"time"

	"shunt/engine"
)

// An Origin is where a request came from, as far as the operator wants it kept. Each request has its
// own: a caller that is known from memory has none until the request fills it in.
type Origin struct {
	RequestID string       // of the X-Request-Id of the answer; empty: the request has none
	Network   netip.Prefix // of the client; zero: not kept
	Local     bool         // by the socket of local commands
}

// By returns c as the audit log keeps who made a change at that time. Whoever owns the data folder
// acts as an admin, but is not that user: the entry says only that the request was local.
func (c Caller) By(now time.Time) engine.By {
	by := engine.By{
		AtMs: now.UnixMilli(), User: c.User.ID, Name: c.User.Name, TokenID: c.TokenID, SessionID: c.SessionID,
		Local: c.Origin.Local, RequestID: c.Origin.RequestID, Network: c.Origin.Network,
	}
	if by.Local && by.TokenID == "" && by.SessionID == "" {
		by.User, by.Name = 0, ""
	}
	return by
}
