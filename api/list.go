package api

import (
	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/ops"
)

// listLinks is GET /links.
func (l *linkCalls) listLinks(ctx *fasthttp.RequestCtx, caller account.Caller) error {
	q, err := ops.ParseList(caller, ctx.QueryArgs())
	if err != nil {
		return err
	}
	return l.calls.List(caller, q, func(page ops.Page) error {
		return writeAppended(ctx, fasthttp.StatusOK, page.AppendJSON)
	})
}
