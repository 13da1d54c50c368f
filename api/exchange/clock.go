package exchange

import (
	"time"

	"github.com/valyala/fasthttp"
)

// A Clock returns the time; nil is the clock of the system.
type Clock func() time.Time

// Time returns the time.
func (c Clock) Time() time.Time {
	if c != nil {
		return c()
	}
	return time.Now()
}

// Of returns when the server began to handle the request.
func (c Clock) Of(ctx *fasthttp.RequestCtx) time.Time {
	if c != nil {
		return c()
	}
	return ctx.Time()
}
