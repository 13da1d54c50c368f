package ops

import (
	"time"

	"shunt/api/jsonbody"
	"shunt/engine"
)

// Misses are the codes that were asked for most and that no link has.
type Misses struct {
	Data  []MissedCode `json:"data"`
	Total uint64       `json:"total"` // of all codes
	Since time.Time    `json:"since"`
}

// A MissedCode says how often a code was asked for.
type MissedCode struct {
	Code  string `json:"code"`
	Count uint64 `json:"count"`
	Error uint64 `json:"error"` // how much too high the count may be
}

// defaultMisses is how many codes are listed unless top says otherwise.
const defaultMisses = 50

// ParseTop reads the one parameter of a list of misses: how many codes are asked for.
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
		if top, err = readCount(string(value)); err != nil {
			return 0, engine.InvalidError(jsonbody.AppendError(nil, "top", err))
		}
		seen = true
	}
	return top, nil
}

// Misses returns the codes that were missed most. Codes that have a link by now are not among them.
func (c *Calls) Misses(top int) (Misses, error) {
	if !c.engine.Ready() {
		return Misses{}, engine.ErrLoading
	}
	m := c.missed(top)
	m.Since = m.Since.UTC().Truncate(time.Millisecond)
	return m, nil
}
