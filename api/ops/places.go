package ops

import (
	"errors"
	"time"

	"shunt/api/account"
	"shunt/api/problem"
	"shunt/api/turnstile"
)

// Limits of heavy reads: lists, and figures of more than a link's two counts. An answer has up to
// 1 MB, which stays in memory until it is sent.
const (
	maxHeavy       = 32
	maxHeavyCaller = 8 // including those whose answers are being sent

	// A browser that is started again asks for all of its tabs at once. So a page waits for a place.
	// A request has 30 s in all.
	maxHeavyWaiting = 32 // of a caller
	heavyPatience   = 5 * time.Second
)

// turnStep is how long costly work that can pause keeps a core while other work waits for one.
const turnStep = 4 * time.Millisecond

// Patience is how long a call waits for a core. A request has 30 s in all; after 20 s it is too
// late to begin.
const Patience = 20 * time.Second

// Places limit how many answers of one kind are under way, in all and for each caller. A caller
// without a place is refused, with an error that names the kind.
type Places struct {
	*turnstile.Turnstile
	what string // the kind, a noun in the plural
}

// NewPlaces returns places for answers of a kind; what is its name, a noun in the plural.
func NewPlaces(what string, limit, perCaller int) *Places {
	return &Places{turnstile.New(turnstile.Limits{Places: limit, PerCaller: perCaller}), what}
}

// Take takes one of the places, which Leave gives back.
func (p *Places) Take(key turnstile.Key) error { return p.explain(p.Enter(key)) }

// explain returns the error of a caller without a place.
func (p *Places) explain(err error) error {
	switch l := p.Limits(); {
	case errors.Is(err, turnstile.ErrShare):
		return problem.New(problem.Overloaded, "you have %d %s open; close some", l.PerCaller, p.what)
	case err != nil:
		return problem.New(problem.Overloaded, "%d %s are already under way, which is the limit; try again later", l.Places, p.what)
	}
	return nil
}

// KeyOf returns the key of a known caller for turnstiles.
func KeyOf(caller account.Caller) turnstile.Key { return turnstile.Key{User: caller.User.ID} }

// BeginHeavy takes a place for a heavy read. A handler holds it while it calls List, OwnerFigures
// or heavy Figures, and until the answer has been sent; then it calls release once.
func (c *Calls) BeginHeavy(caller account.Caller) (release func(), err error) {
	return c.releaseHeavy(caller, c.heavy.Take(KeyOf(caller)))
}

// BeginHeavyPatiently does what BeginHeavy does, but waits some seconds for a place, behind the
// caller's other requests that wait.
func (c *Calls) BeginHeavyPatiently(caller account.Caller) (release func(), err error) {
	err = c.heavy.EnterPatiently(KeyOf(caller), maxHeavyWaiting, heavyPatience)
	return c.releaseHeavy(caller, c.heavy.explain(err))
}

func (c *Calls) releaseHeavy(caller account.Caller, err error) (release func(), _ error) {
	if err != nil {
		return nil, err
	}
	return func() { c.heavy.Leave(KeyOf(caller)) }, nil
}

// HeavyHeld returns how many places for heavy reads are taken.
func (c *Calls) HeavyHeld() int { return c.heavy.Held() }

// HeavyWaiting returns how many pages wait for a place.
func (c *Calls) HeavyWaiting() int { return c.heavy.Waiting() }

// ExportsHeld returns how many exports are open.
func (c *Calls) ExportsHeld() int { return c.exports.Held() }

// InTurn calls do in turn with the costly work of other callers.
func (c *Calls) InTurn(caller account.Caller, do func() error) error {
	return c.o.Cores.Do(KeyOf(caller), do)
}

// turns returns a function that does what InTurn does, but starts nothing once Patience is over, however short each
// wait was, because the connection would soon be closed.
func (c *Calls) turns(caller account.Caller) func(step func() error) error {
	end := c.o.Now().Add(Patience)
	return func(step func() error) error {
		if c.o.Now().After(end) {
			return turnstile.ErrFull
		}
		return c.InTurn(caller, step)
	}
}

// inSteps calls do in turn with the costly work of other callers, and lets them take turns between
// the parts of do, whenever it calls pause.
func (c *Calls) inSteps(caller account.Caller, do func(pause func() error) error) error {
	return c.o.Cores.DoInSteps(KeyOf(caller), turnStep, do)
}
