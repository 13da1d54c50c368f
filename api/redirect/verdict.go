package redirect

import "shunt/engine"

// Facts are what decides about a link at a moment.
type Facts struct {
	Blocked   bool // the target, together with the query that it is asked with, is on the block list
	Expired   bool
	Exhausted bool // the cap of hits is used up
}

// Verdict is the one order in which facts count: for redirects, previews, QR codes and the state of
// a link object. Redirected means that the link works.
func (f Facts) Verdict() Outcome {
	switch {
	case f.Blocked:
		return TargetBlocked
	case f.Expired:
		return Expired
	case f.Exhausted:
		return Exhausted
	}
	return Redirected
}

// State returns the state of a link object. Without a query, since nobody asks for the link here.
func (r *Redirector) State(d *engine.Detail) engine.State {
	return Facts{
		Blocked:   r.blocks.Blocks([]byte(d.Target)),
		Expired:   d.State == engine.StateExpired,
		Exhausted: d.State == engine.StateExhausted,
	}.Verdict().State()
}

// Peeked is a link as Peek finds it, copied.
type Peeked struct {
	ID     uint64
	Target string
	Capped bool
}

// Peek returns the link of code if a redirect that forwards no query would follow it now; otherwise
// the outcome says what the redirect would get. It counts nothing but unknown codes.
func (r *Redirector) Peek(code []byte, nowMs int64) (Peeked, Outcome) {
	if !r.engine.Ready() {
		return Peeked{}, StillLoading
	}
	l, ok := r.engine.Resolve(code)
	if !ok {
		return Peeked{}, r.unknown(code).Outcome
	}
	defer l.Release()
	facts := Facts{Blocked: r.blocks.Blocks(l.Target()), Expired: l.Expired(nowMs), Exhausted: r.engine.UsedUp(l)}
	if o := facts.Verdict(); o != Redirected {
		return Peeked{}, o
	}
	return Peeked{l.ID(), string(l.Target()), l.Flags()&engine.FlagCapped != 0}, Redirected
}
