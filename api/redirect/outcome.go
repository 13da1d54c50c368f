package redirect

import "shunt/engine"

// An Outcome is how a request for a code ends.
type Outcome uint8

const (
	Redirected Outcome = iota
	UnknownCode
	Expired
	Exhausted
	StillLoading
	WrongMethod
	LocationTooLong
	TooManyMisses // an unknown code, of a client who has asked for too many: the front door decides that
	TargetBlocked
	NumOutcomes
)

// outcomes is the table of outcomes. An outcome's page is in package page.
var outcomes = [NumOutcomes]struct {
	reason string       // the label of redirect_misses_total; empty: not counted there
	state  engine.State // of a link whose verdict is the outcome; empty: not a verdict on a link
}{
	Redirected:      {"", engine.StateActive},
	UnknownCode:     {"not_found", ""},
	Expired:         {"expired", engine.StateExpired},
	Exhausted:       {"exhausted", engine.StateExhausted},
	StillLoading:    {"loading", ""},
	WrongMethod:     {"method", ""},
	LocationTooLong: {"too_long", ""},
	TooManyMisses:   {"", ""}, // counted as UnknownCode
	TargetBlocked:   {"blocked", engine.StateBlocked},
}

// Reason returns the label of o in redirect_misses_total, or "" if o has none.
func (o Outcome) Reason() string { return outcomes[o].reason }

// State returns the state of a link whose verdict is o.
func (o Outcome) State() engine.State { return outcomes[o].state }
