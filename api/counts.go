package api

import (
	"strconv"

	"shunt/api/admin"
	"shunt/api/redirect"
	"shunt/api/wire/conns"
	"shunt/api/wire/loop"
)

// metricSources returns the sources of all figures: those of o, and what this package makes.
func (s *Server) metricSources(o Options) admin.Sources {
	sources := o.Metrics
	sources.Engine, sources.Front, sources.Shed = o.Engine, s.counts, s.shed
	sources.Latency = s.latencies
	sources.Refused = o.EdgeOf.Revoked
	sources.Ready = func() bool {
		return o.Engine.Ready() && !s.drain.Begun() && (sources.Refused == nil || !sources.Refused()) && (sources.Cluster == nil || !sources.Cluster().CatchingUp)
	}
	sources.Loaded = func() float64 { return o.Engine.LoadProgress().Share }
	sources.Sessions = o.Accounts.CountSessions
	if o.Edges.Met != nil && sources.Edges == nil {
		sources.Edges = s.edgeList.figures
	}
	if o.Access != nil {
		sources.AccessDropped = o.Access.Dropped
	}
	if o.Blocks != nil {
		sources.Blocks = o.Blocks.Figures
	}
	return sources
}

// latencies returns how long answers to requests for codes took.
func (s *Server) latencies() admin.Exponential {
	c := s.latency.Counts()
	return admin.Exponential{Zero: c.Zero, First: loop.LatencyFirst, Counts: c.Buckets[:], Sum: c.Seconds}
}

// counts returns the counters of redirects, rules and connections, for the metrics.
func (s *Server) counts() (front admin.Front) {
	counts := s.redirects.Counts()
	for i, n := range counts.Redirects {
		front.Redirects = append(front.Redirects, admin.Count{Label: strconv.Itoa(redirect.Statuses[i]), N: n})
	}
	for o, n := range counts.Misses {
		if reason := redirect.Outcome(o).Reason(); reason != "" {
			front.Misses = append(front.Misses, admin.Count{Label: reason, N: n})
		}
	}
	for scope, n := range s.limiter.Rules.Refused {
		front.Limited = append(front.Limited, admin.Count{Label: scope, N: n})
	}
	for result, n := range s.gatekeeper.Unlocks {
		front.Unlocks = append(front.Unlocks, admin.Count{Label: result, N: n})
	}
	front.Connections, front.Loops = s.public.Open(), s.public.LoopConnections()
	front.Ended = endedCounts(&s.connections)
	if s.domains.Several() {
		front.Domains = s.domainCounts()
	}
	return front
}

// domainCounts returns the hits and misses of each domain, the default one first, then by host.
func (s *Server) domainCounts() (all []admin.DomainCounts) {
	hits := s.engine.DomainHits()
	for _, d := range s.domains.All() {
		one := admin.DomainCounts{Host: d.Host, Misses: s.redirects.MissesIn(d.Number)}
		if int(d.Number) < len(hits) {
			one.Hits = hits[d.Number]
		}
		all = append(all, one)
	}
	return all
}

// endedCounts returns the connections that the server ended, by reason.
func endedCounts(c *conns.Counts) []admin.Count {
	return []admin.Count{
		{Label: "late", N: c.Late.Load()},
		{Label: "idle", N: c.Idle.Load()},
		{Label: "evicted", N: c.Evicted.Load()},
		{Label: "address", N: c.Address.Load()},
		{Label: "plain_http", N: c.PlainHTTP.Load()},
	}
}

// shed returns the requests that were refused because of overload, by kind.
func (s *Server) shed() []admin.Count {
	pressed, inFlight := s.shedder.Refused()
	return []admin.Count{{Label: "creates", N: pressed}, {Label: "in_flight", N: inFlight}}
}
