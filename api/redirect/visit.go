package redirect

import (
	"github.com/dchest/siphash"

	"shunt/api/visitor"
	"shunt/engine"
)

// visit returns the kind of the request q, and who made it. A HEAD is a head from every client,
// then a prefetch is a prefetch, then a bot is a bot: a request is certain about itself, but its
// User-Agent is only a guess, and its hash is computed only where it is needed. Only hits need the
// visitor and the dimensions.
func (r *Redirector) visit(q *Request) engine.Visit {
	v := engine.Visit{NowMs: q.NowMs}
	switch {
	case q.Head:
		v.Class = engine.ClassHead
		return v
	case q.Prefetch:
		v.Class = engine.ClassPrefetch
		return v
	}
	hash := siphash.Hash(r.k0, r.k1, q.UserAgent)
	agent := r.agents.Lookup(hash, q.UserAgent)
	if agent.IsBot() {
		v.Class = engine.ClassBot
		return v
	}
	v.Visitor = visitor.Hash(r.k0, r.k1, q.Client, hash)
	v.Agent = agent.Dimensions()
	v.Country = r.country(q)
	v.Referrer = visitor.Referrer(r.engine, q.Referrer)
	return v
}

// country returns where a request comes from. The answer of a trusted proxy counts even if it is
// that the proxy does not know (XX, T1): the proxy sees more than an address.
func (r *Redirector) country(q *Request) engine.Country {
	if len(q.Country) > 0 {
		return engine.CountryOf(q.Country)
	}
	return r.countries.Of(q.Client)
}
