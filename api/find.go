package api

import (
	"encoding/json"

	"github.com/valyala/fasthttp"

	"shunt/api/absent"
	"shunt/api/exchange"
	"shunt/api/lock"
	"shunt/api/password"
	"shunt/api/problem"
	"shunt/api/public"
	"shunt/engine"
)

// answerUnlock answers an edge whose visitor has typed the password of a link.
func answerUnlock(ctx *fasthttp.RequestCtx, g *public.Gatekeeper) error {
	var q lock.Question
	if body := ctx.PostBody(); len(body) > lock.MaxQuestionBytes || json.Unmarshal(body, &q) != nil {
		return problem.New(problem.BadRequest, "not a question about the password of a link")
	}
	if len(q.Password) > password.MaxBytes || !q.Link.View().Valid() {
		return problem.New(problem.BadRequest, "no link has such a code or password")
	}
	a := g.Compare(&q)
	return exchange.WriteJSON(ctx, fasthttp.StatusOK, &a)
}

// answerFind answers another server that asks about codes that it does not know (package absent). head returns the
// sequence of the last entry of the log that the other one follows.
func answerFind(ctx *fasthttp.RequestCtx, e *engine.Engine, head func() uint64) error {
	var q absent.Question
	if err := json.Unmarshal(ctx.PostBody(), &q); err != nil {
		return problem.New(problem.BadRequest, "not a question about codes: %v", err)
	}
	if len(q.Codes) > absent.MaxCodes {
		return problem.New(problem.BadRequest, "a question has at most %d codes", absent.MaxCodes)
	}
	if !e.Ready() {
		return engine.ErrLoading
	}
	f := absent.Found{Found: make([]bool, len(q.Codes))}
	for i, code := range q.Codes {
		if k := code.View(); k.Valid() {
			l, ok := e.Resolve(k)
			if f.Found[i] = ok; ok {
				l.Release()
			}
		}
	}
	f.After = head() // a link that was found is in an entry before
	return exchange.WriteJSON(ctx, fasthttp.StatusOK, &f)
}
