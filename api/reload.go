package api

import (
	"net/netip"

	"shunt/api/limit"
)

// Reloadable are the options that Reload changes.
type Reloadable struct {
	TrustedProxies []netip.Prefix
	RateLimits     limit.Limits
}

// Reload puts r in force for every request that begins after it returns; it cannot fail. Those under
// way may be judged by either. A limit that is unchanged keeps what it has counted. Calls must not
// overlap.
func (s *Server) Reload(r Reloadable) {
	s.proxies.Replace(r.TrustedProxies)
	s.limiter.Rules.Replace(r.RateLimits, s.now.Time())
}

// Beat reports whether the event loops of the public listeners have run since the last call. It waits
// for nothing.
func (s *Server) Beat() bool { return s.public.Beat() }
