package shlink

import (
	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/doors/door"
	"shunt/api/exchange"
	"shunt/api/ops"
	"shunt/api/problem"
)

// A Door answers the requests of Shlink's clients.
type Door struct {
	*door.House
	scans *ops.Places // for lists that are sorted or chosen in memory
	ends  *ends
}

// Limits of scans: each has up to maxDepth links in memory.
const (
	maxScans       = 2
	maxScansCaller = 1
	maxScansWait   = 2 // of a caller
)

// Open returns the door.
func Open(h *door.House) door.Handler {
	d := &Door{House: h, scans: ops.NewPlaces("lists in this order", maxScans, maxScansCaller), ends: new(ends)}
	return d.serve
}

// An asked is a request, as far as it has been read.
type asked struct {
	*door.Request
	query query
	part  string  // of the path, percent-encoded: what stands for the * of its spot
	about subject // what problems name
}

func (d *Door) serve(r *door.Request) {
	allowPages(&r.Ctx.Response.Header)
	spot, part := spotOf(r.Path)
	if r.Ctx.IsOptions() {
		answerPreflight(r.Ctx, spot)
		return
	}
	a := &asked{Request: r, part: part}
	if err := d.answer(a, spot); err != nil {
		d.refuse(a, err)
	}
}

// answer passes a request to its call, if its caller may make it.
func (d *Door) answer(a *asked, s *spot) error {
	if s == nil {
		return d.Refuse(a.Ctx, problem.New(problem.NotFound, "the door has no such path"))
	}
	c, found := s.callOf(string(a.Ctx.Method()))
	if !found {
		a.Ctx.Response.Header.Set(fasthttp.HeaderAllow, s.methods())
		return d.Refuse(a.Ctx, problem.New(problem.Method, "see Allow for the methods of this path"))
	}
	token, err := a.Token()
	if err != nil {
		return d.Refuse(a.Ctx, err)
	}
	q, errQuery := readQuery(a.Query)
	a.query = q
	by := door.Credential{Token: q.one("apiKey")}
	if !c.byGet {
		by.Token = ""
	}
	if token != "" {
		by.Token = token
	}
	err = d.Do(a.Ctx, by, c.action, func(_ *fasthttp.RequestCtx, caller account.Caller) error {
		if errQuery != nil {
			return errQuery
		}
		return c.answer(d, a, caller)
	})
	if p, _ := problem.Of(err); err != nil && p.Kind == problem.Unauthorized && by.Token == "" {
		return missingKey{c.byGet, err}
	}
	return err
}

// A missingKey is the error of a request without a key.
type missingKey struct {
	byGet bool
	error
}

func (m missingKey) Unwrap() error { return m.error }

// refuse answers with the problem of err.
func (d *Door) refuse(a *asked, err error) {
	answer := problemOf(d.Problem(a.Ctx, err), a.about)
	if m, missing := err.(missingKey); missing {
		answer.Type = typeRoot + "missing-authentication"
		if m.byGet {
			answer.Param, answer.Detail = "apiKey", "the parameter apiKey must have a token of this server"
		} else {
			answer.ExpectedHeaders, answer.Detail = []string{door.KeyField}, "the field "+door.KeyField+" must have a token of this server"
		}
	}
	_ = exchange.Write(a.Ctx, answer.Status, "application/problem+json", exchange.EncodeJSON(answer))
}

// show answers with v.
func show(a *asked, v any) error { return exchange.WriteJSON(a.Ctx, fasthttp.StatusOK, v) }

// done answers that something is done, with nothing.
func done(a *asked) error {
	a.Ctx.SetStatusCode(fasthttp.StatusNoContent)
	return nil
}

// Any page may use the door, as Shlink has it: its web client is a page of another host. No cookie is looked at, so a
// page gets nothing but by a key that it was given.
func allowPages(h *fasthttp.ResponseHeader) {
	h.Set(fasthttp.HeaderAccessControlAllowOrigin, "*")
	h.Set(fasthttp.HeaderAccessControlExposeHeaders, "Retry-After, RateLimit, RateLimit-Policy, X-Request-Id")
}

// answerPreflight answers a browser that asks what a page may send (Fetch, 3.2).
func answerPreflight(ctx *fasthttp.RequestCtx, s *spot) {
	h := &ctx.Response.Header
	if s != nil {
		h.Set(fasthttp.HeaderAccessControlAllowMethods, s.methods())
	}
	h.Set(fasthttp.HeaderAccessControlAllowHeaders, door.KeyField+", Content-Type, Accept, Idempotency-Key, X-Request-Id")
	h.Set(fasthttp.HeaderAccessControlMaxAge, "3600")
	ctx.SetStatusCode(fasthttp.StatusNoContent)
}
