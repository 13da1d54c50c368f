package redirect

import (
	"shunt/api/turnstile"
	"shunt/engine"
	"shunt/engine/extras"
	"shunt/engine/index"
)

// An Outcome is how a request for a code ends.
type Outcome uint8

const (
	Redirected Outcome = iota
	UnknownCode
	Disabled
	Expired
	Exhausted
	NotStarted // it looks like UnknownCode
	Locked     // the visitor must type a password: see Redirector.closed
	StillLoading
	WrongMethod
	LocationTooLong
	TooManyMisses // an unknown code, from a client that asked for too many; the front door decides that
	TargetBlocked
	CapElsewhere // the node that leads the cluster cannot decide at present about the link's cap
	Prefetched   // a redirect would follow, but nobody has asked for it yet
	Fallback     // the link is over, and sends its visitors elsewhere: see Redirector.AppendFallback
	Carded       // a program that shows previews of links gets the link's card: see Redirector.Card
	MustAsk      // to a Quick request: the node that leads the cluster decides, for which somebody else must wait; nothing is counted
	NumOutcomes
)

// outcomes is the table of outcomes. An outcome's page is in package page.
var outcomes = [NumOutcomes]struct {
	reason string       // the label of redirect_misses_total; empty: not counted there
	state  engine.State // of a link with this verdict; empty: not a verdict on a link
}{
	Redirected:      {"", engine.StateActive},
	UnknownCode:     {"not_found", ""},
	Disabled:        {"disabled", engine.StateDisabled},
	Expired:         {"expired", engine.StateExpired},
	Exhausted:       {"exhausted", engine.StateExhausted},
	NotStarted:      {"scheduled", engine.StateScheduled},
	Locked:          {"locked", engine.StateActive},
	StillLoading:    {"loading", ""},
	WrongMethod:     {"method", ""},
	LocationTooLong: {"too_long", ""},
	TooManyMisses:   {"", ""}, // counted as UnknownCode
	TargetBlocked:   {"blocked", engine.StateBlocked},
	CapElsewhere:    {"elsewhere", ""},
	Fallback:        {"fallback", ""}, // the state is Expired or Exhausted
	Prefetched:      {"", ""},         // counted by the engine as a prefetch; it is no failure
	Carded:          {"card", ""},     // it would redirect others
	MustAsk:         {"", ""},         // nobody gets this answer
}

// Reason returns the label of o in redirect_misses_total, or "" if o has none.
func (o Outcome) Reason() string { return outcomes[o].reason }

// State returns the state of a link whose verdict is o.
func (o Outcome) State() engine.State { return outcomes[o].state }

// IsUnknown reports whether a visitor gets the answer to a code that no link has. That of a link which has not started
// is the same, byte for byte, and counts towards the limit of unknown codes, or else a visitor could tell them apart.
// It is not among the codes that were asked for in vain: these have no link, and are what somebody may want to make
// one of. The metric of misses has its own reason, which only operators see.
func (o Outcome) IsUnknown() bool { return o == UnknownCode || o == NotStarted }

// Facts are the facts that decide about a link at one moment.
type Facts struct {
	Blocked  bool // the target, together with the query that it is asked with, is on the block list
	Disabled bool

	// Limited says that the link has an expiry, a cap or extras. Else the rest is false, and is not looked at: so a
	// usual link pays for all of it with one test.
	Limited    bool
	Expired    bool
	Exhausted  bool // the cap of hits is used up
	NotStarted bool
}

// factsOf returns the facts about link l. Exhausted is missing if it has started: a redirect learns that from Hit,
// because a cap must be exact. location is the target with the query that is forwarded, because the
// block list may match both together.
func (r *Redirector) factsOf(l index.Link, location []byte, nowMs int64) Facts {
	f := Facts{Blocked: r.blocks.Blocks(location), Disabled: l.Flags().Disabled(), Limited: l.Unusual()}
	if f.Limited {
		f.Expired, f.NotStarted = l.Expired(nowMs), nowMs < extras.StartsAtMs(l.Extras())
		f.Exhausted = f.NotStarted && r.engine.UsedUp(l) // no Hit will say it
	}
	return f
}

// Verdict returns the outcome of a link with these facts. It is the one order in which facts count:
// for redirects, previews, QR codes and the state of a link object. Redirected means that the link
// works, for those who have its password if it has one.
func (f Facts) Verdict() Outcome {
	switch {
	case f.Blocked:
		return TargetBlocked
	case f.Disabled:
		return Disabled
	case !f.Limited:
		return Redirected
	case f.Expired:
		return Expired
	case f.Exhausted:
		return Exhausted
	case f.NotStarted:
		return NotStarted
	}
	return Redirected
}

// State returns the state of a link object. The block list is asked without a query, because here
// nobody follows the link.
func (r *Redirector) State(d *engine.Detail) engine.State {
	return Facts{
		Blocked:    r.blocks.BlocksText(d.Target),
		Disabled:   d.Disabled,
		Limited:    true,
		Expired:    d.State == engine.StateExpired,
		Exhausted:  d.State == engine.StateExhausted,
		NotStarted: d.State == engine.StateScheduled,
	}.Verdict().State()
}

// StateNow returns the state that a link object of l has at nowMs, judged by what is in memory. It
// takes no lock and reads nothing from the store.
func (r *Redirector) StateNow(l index.Link, nowMs int64) engine.State {
	return r.verdictOn(l, nowMs).State()
}

// verdictOn returns the outcome of a redirect of l that forwards no query.
func (r *Redirector) verdictOn(l index.Link, nowMs int64) Outcome {
	var target [256]byte
	facts := r.factsOf(l, l.AppendTarget(target[:0]), nowMs)
	facts.Exhausted = r.engine.UsedUp(l)
	return facts.Verdict()
}

// Peeked is a link as Peek finds it, copied.
type Peeked struct {
	engine.Key
	ID     uint64
	Target string   // its own
	Others []string // targets that its rules or its split may choose instead
	Capped bool
	Locked bool // visitors must type a password
}

// Known returns Redirected if there is a link of k, whatever its state; else UnknownCode, or StillLoading. It counts
// nothing, and reads the store as Peek does.
func (r *Redirector) Known(key turnstile.Key, k engine.KeyView, fold bool) Outcome {
	l, o := r.look(key, k, fold)
	if o == Redirected {
		l.Release()
	}
	return o
}

// look returns the link of k, which may be in another case with fold. The outcome is Redirected with a link.
func (r *Redirector) look(key turnstile.Key, k engine.KeyView, fold bool) (index.Link, Outcome) {
	ready := r.engine.Ready() // before Resolve: then that is the last word
	l, ok := r.engine.Resolve(k)
	if !ok && !ready {
		switch o := r.fetch(key, k); {
		case o == StillLoading, o == UnknownCode && fold && !r.engine.Ready():
			return l, StillLoading
		}
		l, ok = r.engine.Resolve(k)
	}
	if !ok && fold {
		l, ok = r.engine.ResolveFolded(k)
	}
	if !ok {
		return l, UnknownCode
	}
	return l, Redirected
}

// Peek returns the link of k if a redirect that forwards no query would follow it now; otherwise the outcome is that of
// such a redirect. With fold, the code may be in any case. It counts only unknown codes. While links are loaded it
// reads the store as DecideUnread does, for the client with key.
func (r *Redirector) Peek(key turnstile.Key, k engine.KeyView, fold bool, nowMs int64) (Peeked, Outcome) {
	l, o := r.look(key, k, fold)
	switch o {
	case UnknownCode:
		return Peeked{}, r.unknown(k)
	case StillLoading:
		return Peeked{}, o
	}
	defer l.Release()
	uncounted := l.Flags()&engine.FlagCapped != 0 && !r.engine.HitsLoaded()
	switch o := r.verdictOn(l, nowMs); {
	case uncounted && (o == Redirected || o == Exhausted):
		return Peeked{}, StillLoading
	case o != Redirected:
		return Peeked{}, o
	}
	return Peeked{l.Key(nil).Own(), l.ID(), string(l.AppendTarget(nil)), othersOf(l), l.Flags()&engine.FlagCapped != 0, extras.Lock(l.Extras()) != 0}, Redirected
}

// othersOf returns the targets of a link beside its own.
func othersOf(l index.Link) (urls []string) {
	more, _ := extras.Read(l.Extras())
	for _, rule := range more.Rules {
		urls = append(urls, rule.URL)
	}
	for _, share := range more.Split {
		urls = append(urls, share.URL)
	}
	return urls
}
