package wire

import (
	"errors"
	"fmt"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/problem"
)

// refuseUnread is fasthttp's ErrorHandler. It answers a request that the gate or fasthttp has
// refused, and closes the connection.
func (g *Group) refuseUnread(ctx *fasthttp.RequestCtx, err error) {
	RefreshDate(time.Now())
	r := problem.Problem{Kind: problem.BadRequest, Detail: "the request could not be read"}
	c := connOf(ctx.Conn())
	var small *fasthttp.ErrSmallBuffer
	isHEAD := ctx.IsHead() || c != nil && c.isHEAD // else, if fasthttp has no head, the gate may know
	switch {
	case errors.As(err, &small):
		r.Kind = problem.HeadersTooLarge
		r.Detail = fmt.Sprintf("request line and fields must be at most %d bytes", maxHeaderBytes)
	case c != nil && c.gate.refused != nil:
		r = *c.gate.refused
		isHEAD = isHEAD || c.gate.head.isHEAD
	case errors.Is(err, fasthttp.ErrBodyTooLarge):
		limit, _ := g.bodyLimit(&ctx.Request.Header)
		r.Kind = problem.BodyTooLarge
		r.Detail = fmt.Sprintf("the body must be at most %d bytes", limit)
	case isTimeout(err) && c != nil && c.gate.large.cut.Load():
		r.Kind = problem.Timeout
		r.Detail = fmt.Sprintf("while others wait, a large body must arrive at %d KiB a second or faster", largeBodyRate>>10)
	case isTimeout(err):
		r.Kind, r.Detail = problem.Timeout, "the request did not arrive in time"
	}
	ctx.Response.SkipBody = isHEAD
	if c != nil {
		c.gate.large.leave() // now, because the connection may linger
	}
	linger(ctx.Conn())
	g.WriteProblem(ctx, r)
}
