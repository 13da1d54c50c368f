package api

import (
	"time"

	"github.com/valyala/fasthttp"
)

// A clock returns the time; nil is the clock of the system.
type clock func() time.Time

// time returns the time.
func (c clock) time() time.Time {
	if c != nil {
		return c()
	}
	return time.Now()
}

// of returns when the server began to handle the request.
func (c clock) of(ctx *fasthttp.RequestCtx) time.Time {
	if c != nil {
		return c()
	}
	return ctx.Time()
}
