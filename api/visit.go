package api

import (
	"github.com/dchest/siphash"

	"shunt/api/visitor"
	"shunt/engine"
)

// visit tells what kind of request it is, and of whom. A HEAD is a head whoever sends it, then a prefetch is a prefetch,
// then a bot is a bot: what the request says of itself is certain, what its User-Agent says is a guess, and the hash is
// computed only where it is needed. Only hits need the visitor and the dimensions.
func (h *redirector) visit(r *request) engine.Visit {
	v := engine.Visit{NowMs: r.nowMs}
	switch {
	case r.head:
		v.Class = engine.ClassHead
		return v
	case r.prefetch:
		v.Class = engine.ClassPrefetch
		return v
	}
	agent := siphash.Hash(h.k0, h.k1, r.userAgent)
	info := h.agents.Lookup(agent, r.userAgent)
	if info.IsBot() {
		v.Class = engine.ClassBot
		return v
	}
	v.Visitor = visitor.Hash(h.k0, h.k1, r.client, agent)
	v.Agent = info.Dimensions()
	v.Country = h.country(r)
	v.Referrer = visitor.Referrer(h.engine, r.referrer)
	return v
}

// country returns where a request comes from. What a trusted proxy says of it counts even if it says that it does not
// know (XX, T1): it sees more than an address.
func (h *redirector) country(r *request) engine.Country {
	if len(r.country) > 0 {
		return engine.CountryOf(r.country)
	}
	return h.countries.Of(r.client)
}
