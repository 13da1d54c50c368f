package ops

import (
	"time"

	"shunt/api/account"
	"shunt/engine"
)

// Misses are the most requested codes that no link has.
type Misses struct {
	Data  []MissedCode `json:"data"`
	Total uint64       `json:"total"` // of all codes of the domain, or of all domains
	Since time.Time    `json:"since"`
}

// A MissedCode is a code and the number of requests for it.
type MissedCode struct {
	Domain string `json:"domain,omitempty"` // a host; absent: the default domain
	Code   string `json:"code"`
	Count  uint64 `json:"count"`
	Error  uint64 `json:"error"` // the count is too high by at most this
}

// defaultMisses is the number of codes listed without the parameter top.
const defaultMisses = 50

// A MissQuery asks for the most missed codes.
type MissQuery struct {
	Top    int
	Domain engine.Domain
	Every  bool // codes of all domains; Domain is not looked at
}

// A MissedFunc returns the top most missed codes of the domains that of accepts.
type MissedFunc func(top int, of func(engine.Domain) bool) Misses

var missParameters = map[string]parameterReader[MissQuery]{
	"top": func(q *MissQuery, value string) (err error) {
		q.Top, err = readCount(value, maxTop)
		return err
	},
}

// ParseMisses reads the parameters of a list of misses. It has no owner: nobody owns a code without a link.
func (c *Calls) ParseMisses(caller account.Caller, p Parameters) (q MissQuery, err error) {
	if err := refuseOwner(p); err != nil {
		return q, err
	}
	q.Top = defaultMisses
	whose, err := readParameters(c, caller, p, &q, missParameters, maxWhoseBytes)
	q.Domain, q.Every = whose.Domain, whose.Every
	return q, err
}

// Misses returns the most missed codes, without those that have a link by now, and those of domains that were removed.
func (c *Calls) Misses(caller account.Caller, q MissQuery) (Misses, error) {
	if !c.o.Engine.Ready() {
		return Misses{}, engine.ErrLoading
	}
	m := c.o.Missed(q.Top, func(d engine.Domain) bool {
		return (q.Every || d == q.Domain) && caller.Domains.Has(d) && c.o.Domains.Numbered(d) != nil
	})
	m.Since = m.Since.UTC().Truncate(time.Millisecond)
	return m, nil
}
