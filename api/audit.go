package api

import (
	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/ops"
)

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
	return writeJSON(ctx, fasthttp.StatusOK, page)
}
