package api

import (
	"strconv"

	"shunt/api/admin"
	"shunt/api/wire"
)

// missReasons are the labels of outcomes.
var missReasons = [numOutcomes]string{
	unknownCode: "not_found", expired: "expired", exhausted: "exhausted",
	stillLoading: "loading", wrongMethod: "method", locationTooLong: "too_long", targetBlocked: "blocked",
}

// counts returns what redirects, rules and connections have counted, for the metrics.
func (s *Server) counts() (front admin.Front) {
	redirects := s.redirects.counts
	for i, n := range redirects.sum() {
		front.Redirects = append(front.Redirects, admin.Count{Label: strconv.Itoa(countedStatuses[i]), N: n})
	}
	for o, reason := range missReasons {
		if reason != "" {
			front.Misses = append(front.Misses, admin.Count{Label: reason, N: redirects.misses[o].Load()})
		}
	}
	for scope, n := range s.limiter.rules.Refused {
		front.Limited = append(front.Limited, admin.Count{Label: scope, N: n})
	}
	front.Connections = s.public.Open()
	front.Ended = endedCounts(&s.connections)
	return front
}

// endedCounts returns the connections that the server ended, by reason.
func endedCounts(c *wire.Counts) []admin.Count {
	return []admin.Count{
		{Label: "late", N: c.Late.Load()},
		{Label: "idle", N: c.Idle.Load()},
		{Label: "evicted", N: c.Evicted.Load()},
		{Label: "address", N: c.Address.Load()},
		{Label: "plain_http", N: c.PlainHTTP.Load()},
	}
}
