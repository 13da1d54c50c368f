package api

import (
	"errors"

	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/problem"
	"shunt/api/turnstile"
	"shunt/api/wire"
)

// places are the places for answers that go on: nobody waits for one, and a refusal says what there
// is too much of.
type places struct {
	*turnstile.Turnstile
	what string // they are for, in the plural
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

// keyOf names a caller that a door knows.
func keyOf(caller account.Caller) turnstile.Key { return turnstile.Key{User: caller.User.ID} }

// strangerKey names a client that nobody knows by its network. It is nobody in particular if a
// trusted proxy has not said for whom it asks, or if the request came through a socket that only
// this machine can open.
func (s *Server) strangerKey(ctx *fasthttp.RequestCtx) turnstile.Key {
	client := s.proxies.ClientAddr(ctx, wire.PeerAddr(ctx))
	if !isLimited(ctx) || s.proxies.Trust(client) {
		return turnstile.Key{}
	}
	return turnstile.Key{Network: wire.NetworkOf(client)}
}
