package links

import (
	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/exchange"
	"shunt/api/ops"
	"shunt/api/page"
)

// ReadStats is GET /stats/{code}.
func (l *Calls) ReadStats(ctx *fasthttp.RequestCtx, caller account.Caller) error {
	q, err := l.Ops.ParseFigures(caller, ctx.QueryArgs())
	if err != nil {
		return err
	}
	code, err := codeAsked(ctx)
	if err != nil {
		return err
	}
	if _, err := l.Ops.Find(caller, code, q.Whose); err != nil { // so that a missing link takes no place
		return err
	}
	answer := func(ctx *fasthttp.RequestCtx, caller account.Caller) error {
		figures, err := l.Ops.Figures(caller, code, q)
		if err != nil {
			return err
		}
		return writeFigures(ctx, &figures)
	}
	if q.Heavy() {
		answer = l.Heavy.Bounded(answer)
	}
	return answer(ctx, caller)
}

// ReadOwnerStats is GET /stats.
func (l *Calls) ReadOwnerStats(ctx *fasthttp.RequestCtx, caller account.Caller) error {
	q, err := l.Ops.ParseOwnerFigures(caller, ctx.QueryArgs())
	if err != nil {
		return err
	}
	figures, err := l.Ops.OwnerFigures(caller, q)
	if err != nil {
		return err
	}
	return writeFigures(ctx, &figures)
}

// writeFigures answers with figures, as CSV if the client prefers that.
func writeFigures(ctx *fasthttp.RequestCtx, figures *ops.Figures) error {
	ctx.Response.Header.Set(fasthttp.HeaderVary, "Accept")
	if page.PrefersCSV(ctx.Request.Header.PeekAll(fasthttp.HeaderAccept)) {
		return exchange.WriteCSV(ctx, figures.CSV())
	}
	return exchange.WriteJSON(ctx, fasthttp.StatusOK, figures)
}

// ReadMisses is GET /misses.
func (l *Calls) ReadMisses(ctx *fasthttp.RequestCtx, caller account.Caller) error {
	q, err := l.Ops.ParseMisses(caller, ctx.QueryArgs())
	if err != nil {
		return err
	}
	misses, err := l.Ops.Misses(caller, q)
	if err != nil {
		return err
	}
	return exchange.WriteJSON(ctx, fasthttp.StatusOK, misses)
}

// ReadAudit is GET /audit.
func (l *Calls) ReadAudit(ctx *fasthttp.RequestCtx, caller account.Caller) error {
	q, err := l.Ops.ParseAudit(caller, ctx.QueryArgs())
	if err != nil {
		return err
	}
	page, err := l.Ops.Audit(caller, q)
	if err != nil {
		return err
	}
	return exchange.WriteJSON(ctx, fasthttp.StatusOK, page)
}
