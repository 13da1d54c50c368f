package wire

import (
	"errors"
	"fmt"

	"github.com/valyala/fasthttp"

	"shunt/api/problem"
	"shunt/api/wire/http1"
)

// refuseUnread is fasthttp's ErrorHandler. It answers a request that the gate or fasthttp has
// refused, and closes the connection.
func (g *Group) refuseUnread(ctx *fasthttp.RequestCtx, err error) {
	r := problem.Problem{Kind: problem.BadRequest, Detail: "the request could not be read"}
	c := connOf(ctx.Conn())
	var small *fasthttp.ErrSmallBuffer
	isHEAD := ctx.IsHead() || c != nil && c.isHEAD // else, if fasthttp has no head, the gate may know
	switch {
	case errors.As(err, &small):
		r.Kind = problem.HeadersTooLarge
		r.Detail = fmt.Sprintf("request line and fields must be at most %d bytes", http1.MaxHeaderBytes)
	case c != nil && c.gate.Refused != nil:
		r = *c.gate.Refused
		isHEAD = isHEAD || c.gate.IsHEAD()
	case errors.Is(err, fasthttp.ErrBodyTooLarge):
		limit, _ := g.bodyLimit(&ctx.Request.Header)
		r.Kind = problem.BodyTooLarge
		r.Detail = fmt.Sprintf("the body must be at most %d bytes", limit)
	case isTimeout(err) && c != nil && c.gate.Large.WasCut():
		r.Kind = problem.Timeout
		r.Detail = fmt.Sprintf("while others wait, a large body must arrive at %d KiB a second or faster", http1.LargeBodyRate>>10)
	case isTimeout(err):
		r.Kind, r.Detail = problem.Timeout, "the request did not arrive in time"
	}
	ctx.Response.SkipBody = isHEAD
	if c != nil {
		c.gate.Large.Leave() // now, because the connection may linger
	}
	linger(ctx.Conn())
	g.WriteProblem(ctx, r)
}
