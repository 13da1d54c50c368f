package wire

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/problem"
	"shunt/api/wire/conns"
	"shunt/api/wire/http1"
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
		r.Detail = fmt.Sprintf("request line and fields must be at most %d bytes", http1.MaxHeaderBytes)
	case c != nil && c.gate.Refused != nil:
		r = *c.gate.Refused
		isHEAD = isHEAD || c.gate.IsHEAD()
	case errors.Is(err, fasthttp.ErrBodyTooLarge):
		limit, _ := g.bodyLimit(&ctx.Request.Header)
		r.Kind = problem.BodyTooLarge
		r.Detail = fmt.Sprintf("the body must be at most %d bytes", limit)
	case conns.IsTimeout(err) && c != nil && c.gate.Large.WasCut():
		r.Kind = problem.Timeout
		r.Detail = fmt.Sprintf("while others wait, a large body must arrive at %d KiB a second or faster", http1.LargeBodyRate>>10)
	case conns.IsTimeout(err):
		r.Kind, r.Detail = problem.Timeout, "the request did not arrive in time"
	}
	ctx.Response.SkipBody = isHEAD
	if c != nil {
		c.gate.Large.Leave() // now, because the connection may linger
	}
	linger(ctx.Conn())
	g.WriteProblem(ctx, r)
}

// appendRefusal appends the answer to a request that could not be read because of err.
func (g *Group) appendRefusal(out []byte, err error) []byte {
	var ctx fasthttp.RequestCtx
	ctx.Init2(nil, silent{}, true)
	ctx.Response.Header.SetNoDefaultContentType(true)
	g.refuseUnread(&ctx, err)
	ctx.SetConnectionClose()
	w := bytes.NewBuffer(out)
	_, _ = ctx.Response.WriteTo(w) // a Buffer never fails
	return w.Bytes()
}
