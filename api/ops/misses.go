package ops

import (
	"time"

	"shunt/api/jsonbody"
	"shunt/engine"
)

// Misses are the most requested codes that no link has.
type Misses struct {
	Data  []MissedCode `json:"data"`
	Total uint64       `json:"total"` // of all codes
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

// ParseTop reads the only parameter of a list of misses: the number of codes.
func ParseTop(p Parameters) (top int, err error) {
	top = defaultMisses
	seen := false
	for name, value := range p.All() {
		switch {
		case string(name) != "top":
			return 0, UnknownParameter(name)
		case seen:
			return 0, jsonbody.FieldError("top", "duplicate", "must not be given twice")
		}
		if top, err = readCount(string(value), maxTop); err != nil {
			return 0, engine.InvalidError(jsonbody.AppendError(nil, "top", err))
		}
		seen = true
	}
	return top, nil
}

// Misses returns the most missed codes, without those that have a link by now.
func (c *Calls) Misses(top int) (Misses, error) {
	if !c.o.Engine.Ready() {
		return Misses{}, engine.ErrLoading
	}
	m := c.o.Missed(top)
	m.Since = m.Since.UTC().Truncate(time.Millisecond)
	return m, nil
}
