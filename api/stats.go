package api

import (
	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/exchange"
	"shunt/api/ops"
)

// readStats is GET /stats/{code}.
func (l *linkCalls) readStats(ctx *fasthttp.RequestCtx, caller account.Caller) error {
	q, err := ops.ParseFigures(caller, ctx.QueryArgs())
	if err != nil {
		return err
	}
	code, err := codeAsked(ctx)
	if err != nil {
		return err
	}
	if _, err := l.calls.Find(caller, code, q.Guard); err != nil { // so that a missing link takes no place
		return err
	}
	answer := func(ctx *fasthttp.RequestCtx, caller account.Caller) error {
		figures, err := l.calls.Figures(caller, code, q)
		if err != nil {
			return err
		}
		return exchange.WriteJSON(ctx, fasthttp.StatusOK, figures)
	}
	if q.Heavy() {
		answer = l.heavy.bounded(answer)
	}
	return answer(ctx, caller)
}

// readOwnerStats is GET /stats.
func (l *linkCalls) readOwnerStats(ctx *fasthttp.RequestCtx, caller account.Caller) error {
	q, err := ops.ParseOwnerFigures(caller, ctx.QueryArgs())
	if err != nil {
		return err
	}
	figures, err := l.calls.OwnerFigures(caller, q)
	if err != nil {
		return err
	}
	return exchange.WriteJSON(ctx, fasthttp.StatusOK, figures)
}

// readMisses is GET /misses.
func (l *linkCalls) readMisses(ctx *fasthttp.RequestCtx, _ account.Caller) error {
	top, err := ops.ParseTop(ctx.QueryArgs())
	if err != nil {
		return err
	}
	misses, err := l.calls.Misses(top)
	if err != nil {
		return err
	}
	return exchange.WriteJSON(ctx, fasthttp.StatusOK, misses)
}

// readAudit is GET /audit.
func (l *linkCalls) readAudit(ctx *fasthttp.RequestCtx, caller account.Caller) error {
	q, err := ops.ParseAudit(caller, ctx.QueryArgs())
	if err != nil {
		return err
	}
	page, err := l.calls.Audit(caller, q)
	if err != nil {
		return err
	}
	return exchange.WriteJSON(ctx, fasthttp.StatusOK, page)
}
