package exchange

import (
	"github.com/valyala/fasthttp"

	"shunt/api/account"
)

// A Handler answers an API request of a caller that may make it. If it returns an error, the answer
// is a problem.
type Handler func(ctx *fasthttp.RequestCtx, caller account.Caller) error
