package api

import (
	"errors"

	"shunt/api/account"
	"shunt/api/problem"
	"shunt/api/turnstile"
)

// places are the places for long answers. No request waits for one, and a refusal says what there
// is too much of.
type places struct {
	*turnstile.Turnstile
	what string // what the places are for, in the plural
}

func newPlaces(what string, limit, perCaller int) places {
	return places{turnstile.New(turnstile.Limits{Places: limit, PerCaller: perCaller}), what}
}

// take takes one of the places, to be given back with Leave.
func (p *places) take(key turnstile.Key) error {
	switch err, l := p.Enter(key), p.Limits(); {
	case errors.Is(err, turnstile.ErrShare):
		return problem.New(problem.Overloaded, "you have %d %s open; close some", l.PerCaller, p.what)
	case err != nil:
		return problem.New(problem.Overloaded, "%d %s are open, and no more are served", l.Places, p.what)
	}
	return nil
}

// keyOf names a caller that an authenticator knows.
func keyOf(caller account.Caller) turnstile.Key { return turnstile.Key{User: caller.User.ID} }
