package polr

import (
	"strconv"

	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/doors/door"
	"shunt/api/exchange"
	"shunt/api/ops"
	"shunt/api/problem"
)

// Path is that of the door.
const Path = "/api/v2/action"

// polr is the door.
type polr struct{ *door.House }

// Open returns the door.
func Open(h *door.House) door.Handler { return (&polr{h}).answer }

// answer answers a request.
func (d *polr) answer(r *door.Request) {
	v, err := r.Values()
	asJSON := v["response_type"] == "json"
	if err != nil {
		d.fail(r, asJSON, d.Refuse(r.Ctx, err))
		return
	}
	var what door.Action
	var do exchange.Handler
	switch r.Below(Path) {
	case "shorten":
		what, do = door.Create, d.shorten(r, v, asJSON)
	case "lookup":
		what, do = door.Read, d.lookup(v, asJSON)
	default:
		d.fail(r, asJSON, d.Refuse(r.Ctx, problem.New(problem.NotFound, "there is no such action")))
		return
	}
	if !r.Is(fasthttp.MethodGet, fasthttp.MethodPost) {
		r.Ctx.Response.Header.Set(fasthttp.HeaderAllow, "GET, POST")
		d.fail(r, asJSON, d.Refuse(r.Ctx, problem.New(problem.Method, "send GET or POST")))
		return
	}
	if err := d.Do(r.Ctx, door.Credential{Token: v["key"]}, what, do); err != nil {
		d.fail(r, asJSON, err)
	}
}

// names are those of parameters, by those of the fields of a link.
var names = map[string]string{"url": "url", "alias": "custom_ending"}

// fail answers with an error.
func (d *polr) fail(r *door.Request, asJSON bool, err error) {
	p := d.Problem(r.Ctx, err)
	f := failure{p.Kind.Status, "SERVER_ERROR", door.Explain(p, names)}
	switch p.Kind {
	case problem.Unauthorized:
		f.Code, f.Error = "AUTH_ERROR", "Authentication token invalid."
	case problem.NotFound:
		f.Code = "NOT_FOUND"
	case problem.Forbidden, problem.HTTPSRequired:
		f.Code = "ACCESS_DENIED"
	case problem.RateLimited:
		f.Code = "QUOTA_EXCEEDED"
	case problem.AliasTaken:
		f.Status, f.Code, f.Error = 400, "CREATION_ERROR", "This URL ending is already in use."
	case problem.Invalid, problem.Blocked, problem.IdempotencyMismatch:
		f.Status, f.Code = 400, "CREATION_ERROR"
	case problem.BadRequest, problem.Method:
		f.Code = "MISSING_PARAMETERS"
	}
	writeFailure(r.Ctx, asJSON, f)
}

// shorten is the action of that name.
func (d *polr) shorten(r *door.Request, v door.Values, asJSON bool) exchange.Handler {
	return func(ctx *fasthttp.RequestCtx, caller account.Caller) error {
		key, err := r.Key()
		switch {
		case err != nil:
			return err
		case v["url"] == "":
			return problem.New(problem.BadRequest, "Invalid or missing parameters.")
		case v["is_secret"] == "true":
			return problem.New(problem.BadRequest, "Secret URLs are not supported here.")
		}
		var f door.Fields
		f.Text("url", v["url"])
		if ending := v["custom_ending"]; ending != "" {
			f.Text("alias", ending)
		} else {
			f.Yes("reuse")
		}
		l, _, err := d.Ops.CreateAs(ops.Manner{Reusable: true}, caller, key, f.Body())
		if err != nil {
			return err
		}
		return write(ctx, asJSON, "shorten", l.ShortURL, l.ShortURL)
	}
}

// lookup is the action of that name.
func (d *polr) lookup(v door.Values, asJSON bool) exchange.Handler {
	return func(ctx *fasthttp.RequestCtx, caller account.Caller) error {
		if v["url_ending"] == "" {
			return problem.New(problem.BadRequest, "Invalid or missing parameters.")
		}
		code, whose, err := d.Ops.Named(caller, v["url_ending"])
		if err != nil {
			return err
		}
		l, err := d.Ops.Read(caller, code, whose)
		if err != nil {
			return err
		}
		what := found{l.Target, momentOf(l.CreatedAt), strconv.FormatUint(l.Hits, 10), momentOf(l.UpdatedAt)}
		return write(ctx, asJSON, "lookup", what, l.Target)
	}
}
