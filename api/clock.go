package api

import (
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/wire/http1"
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

// ofPlain returns when the server read the request, in Unix milliseconds.
func (c clock) ofPlain(r *http1.Plain) int64 {
	if c != nil {
		return c().UnixMilli()
	}
	return r.NowMs
}
