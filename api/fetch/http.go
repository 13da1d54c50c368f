package fetch

import (
	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/exchange"
)

// StartCheck is POST /target-check.
func (c *Checks) StartCheck(ctx *fasthttp.RequestCtx, caller account.Caller) error {
	found, err := c.Start(caller, ctx.QueryArgs())
	if err != nil {
		return err
	}
	return exchange.WriteJSON(ctx, fasthttp.StatusOK, &found)
}

// ReadCheck is GET /target-check.
func (c *Checks) ReadCheck(ctx *fasthttp.RequestCtx, caller account.Caller) error {
	if err := exchange.NoParameters(ctx); err != nil {
		return err
	}
	found := c.Read(caller)
	return exchange.WriteJSON(ctx, fasthttp.StatusOK, &found)
}

// StopCheck is DELETE /target-check.
func (c *Checks) StopCheck(ctx *fasthttp.RequestCtx, caller account.Caller) error {
	if err := exchange.NoParameters(ctx); err != nil {
		return err
	}
	c.Stop(caller)
	ctx.SetStatusCode(fasthttp.StatusNoContent)
	return nil
}
