package redirect

import (
	"github.com/dchest/siphash"

	"shunt/api/visitor"
	"shunt/engine"
)

// visit returns the kind of the request q, which is redirected, and who made it. A HEAD is a head from
// every client, then a bot is a bot: a request is certain about itself, but its User-Agent is only a
// guess, and its hash is computed only where it is needed. Only hits need the visitor and the
// dimensions. A prefetch does not come here, because it is not redirected.
func (r *Redirector) visit(q *Request) engine.Visit {
	v := engine.Visit{NowMs: q.NowMs}
	if q.Head {
		v.Kind = engine.Kind(engine.ClassHead)
		return v
	}
	who, agent, country := r.asks(q)
	if agent.IsBot() {
		v.Kind = engine.Kind(engine.ClassBot)
		return v
	}
	v.Visitor = who
	v.Agent = agent.Dimensions()
	v.Country = country
	if v.Referrer = engine.ScanReferrer; !q.Scan {
		v.Referrer = visitor.Referrer(r.engine, q.Referrer) // never from Memo: its number has an end
	}
	return v
}

// asks returns who asks: the visitor, the agent and the country. Of a bot it returns the agent only.
// It keeps them in q.Memo, or takes them from there.
func (r *Redirector) asks(q *Request) (who uint64, agent visitor.Agent, country engine.Country) {
	const countryShift = 16 // above the Agent, which is never 0
	if q.Memo != nil && q.Memo[1] != 0 {
		return q.Memo[0], visitor.Agent(q.Memo[1]), engine.Country(q.Memo[1] >> countryShift)
	}
	hash := siphash.Hash(r.k0, r.k1, q.UserAgent)
	if agent = r.agents.Lookup(hash, q.UserAgent); !agent.IsBot() {
		who, country = visitor.Hash(r.k0, r.k1, q.Client, hash), r.country(q)
	}
	if q.Memo != nil {
		*q.Memo = [2]uint64{who, uint64(agent) | uint64(country)<<countryShift}
	}
	return who, agent, country
}

// country returns where a request comes from. The answer of a trusted proxy counts even if it is
// that the proxy does not know (XX, T1): the proxy sees more than an address.
func (r *Redirector) country(q *Request) engine.Country {
	if len(q.Country) > 0 {
		return engine.CountryOf(q.Country)
	}
	return r.countries.Of(q.Client)
}

// KnowsCountries reports whether there is a table of countries; a trusted proxy may name them without one.
func (r *Redirector) KnowsCountries() bool { return r.countries != nil }
