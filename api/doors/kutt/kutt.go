package kutt

import (
	"strconv"
	"strings"

	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/doors/door"
	"shunt/api/exchange"
	"shunt/api/jsonbody"
	"shunt/api/ops"
	"shunt/api/problem"
)

// Links and Health are the paths of the door.
const (
	Links  = "/api/v2/links"
	Health = "/api/v2/health"
)

// kutt is the door.
type kutt struct{ *door.House }

// Open returns the door.
func Open(h *door.House) door.Handler { return (&kutt{h}).answer }

// answer answers a request.
func (k *kutt) answer(r *door.Request) {
	id, rest, _ := strings.Cut(r.Below(Links), "/")
	method := string(r.Ctx.Method())
	if method == fasthttp.MethodHead {
		method = fasthttp.MethodGet
	}
	switch {
	case strings.HasPrefix(r.Path, Health):
		k.health(r, method)
	case id == "" && rest == "" && method == fasthttp.MethodGet:
		k.do(r, door.List, k.list(r))
	case id == "" && rest == "" && method == fasthttp.MethodPost:
		k.do(r, door.Create, k.create(r))
	case r.Below(Links) == "":
		k.wrongMethod(r, "GET, POST")
	case id == "" || rest != "" && rest != "stats":
		k.fail(r, k.Refuse(r.Ctx, problem.New(problem.NotFound, "Not found.")))
	case rest == "stats" && (method == fasthttp.MethodGet || method == fasthttp.MethodDelete):
		k.do(r, door.Action{Scope: account.StatsRead, Also: account.LinksRead, Heavy: true}, func(ctx *fasthttp.RequestCtx, caller account.Caller) error {
			return k.stats(ctx, caller, id)
		})
	case rest == "" && method == fasthttp.MethodPatch:
		k.do(r, door.Edit, k.edit(r, id))
	case rest == "" && method == fasthttp.MethodDelete:
		k.do(r, door.Delete, k.remove(id))
	default:
		k.wrongMethod(r, map[string]string{"": "PATCH, DELETE", "stats": "GET, DELETE"}[rest])
	}
}

// wrongMethod answers a request with a method that its path does not have.
func (k *kutt) wrongMethod(r *door.Request, allowed string) {
	r.Ctx.Response.Header.Set(fasthttp.HeaderAllow, allowed)
	k.fail(r, k.Refuse(r.Ctx, problem.New(problem.Method, "Method not allowed.")))
}

// do answers a request of a caller who may make it.
func (k *kutt) do(r *door.Request, what door.Action, do exchange.Handler) {
	token, err := r.Token()
	if err != nil {
		err = k.Refuse(r.Ctx, err)
	} else {
		err = k.Do(r.Ctx, door.Credential{Token: token}, what, do)
	}
	if err != nil {
		k.fail(r, err)
	}
}

// health is GET /health.
func (k *kutt) health(r *door.Request, method string) {
	switch {
	case r.Below(Health) != "":
		k.fail(r, k.Refuse(r.Ctx, problem.New(problem.NotFound, "Not found.")))
	case method != fasthttp.MethodGet:
		k.wrongMethod(r, "GET")
	default:
		k.do(r, door.Public, func(ctx *fasthttp.RequestCtx, _ account.Caller) error {
			return exchange.WriteText(ctx, fasthttp.StatusOK, "OK")
		})
	}
}

// fail answers with an error.
func (k *kutt) fail(r *door.Request, err error) {
	p := k.Problem(r.Ctx, err)
	status, message := p.Kind.Status, door.Explain(p, names)
	switch p.Kind {
	case problem.Unauthorized:
		message = "Unauthorized."
	case problem.AliasTaken:
		status, message = fasthttp.StatusBadRequest, "Custom URL is already in use."
	case problem.Invalid, problem.MediaType, problem.IdempotencyMismatch:
		status = fasthttp.StatusBadRequest
	case problem.NotFound:
		message = "Link was not found."
	}
	_ = exchange.WriteJSON(r.Ctx, status, map[string]string{"error": message})
}

// The numbers of links on a page.
const (
	defaultLimit = 10
	maxLimit     = 50
)

// list is GET /links.
func (k *kutt) list(r *door.Request) exchange.Handler {
	return func(ctx *fasthttp.RequestCtx, caller account.Caller) error {
		v, err := r.Values()
		if err != nil {
			return err
		}
		parameters := []string{"q", v["search"]}
		if v["all"] == "true" {
			parameters = append(parameters, "owner", "all")
		}
		q, err := k.Ops.ParseList(caller, door.Parameters(parameters...))
		if err != nil {
			return err
		}
		limit, skip := min(number(v["limit"], defaultLimit), maxLimit), number(v["skip"], 0)
		links, total, err := k.List(caller, q, skip, limit)
		if err != nil {
			return err
		}
		return exchange.WriteAppended(ctx, fasthttp.StatusOK, func(dst []byte) []byte {
			dst = strconv.AppendUint(append(dst, `{"total":`...), total, 10)
			dst = strconv.AppendInt(append(dst, `,"limit":`...), int64(limit), 10)
			dst = strconv.AppendInt(append(dst, `,"skip":`...), int64(skip), 10)
			dst = append(dst, `,"data":[`...)
			for i := range links {
				if i > 0 {
					dst = append(dst, ',')
				}
				dst = append(k.appendLink(append(dst, '{'), &links[i]), '}')
			}
			return append(dst, "]}"...)
		})
	}
}

// number returns a number of a client, or else other if it is 0 or not one.
func number(text string, other int) int {
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil || n == 0 {
		return other
	}
	return int(n)
}

// manner is how links are made: reuse asks for a link to the same target in the same domain, whatever else it has.
var manner = ops.Manner{Reusable: true, Apart: []string{"note", "expires_at"}}

// create is POST /links.
func (k *kutt) create(r *door.Request) exchange.Handler {
	return func(ctx *fasthttp.RequestCtx, caller account.Caller) error {
		key, err := r.Key()
		if err != nil {
			return err
		}
		b, err := read(r)
		if err != nil {
			return err
		}
		if b["target"] == nil {
			return refused("Target is missing.")
		}
		var f door.Fields
		if err := b.shared(&f, k.Now()); err != nil {
			return err
		}
		for _, name := range []string{"alias", "domain", "reuse"} {
			if value, sent := b[names[name]]; sent && (name != "reuse" || b["customurl"] == nil && b["password"] == nil) {
				f.Raw(name, value)
			}
		}
		l, existed, err := k.Ops.CreateAs(manner, caller, key, f.Body())
		if err != nil {
			return err
		}
		status := fasthttp.StatusCreated
		if existed {
			status = fasthttp.StatusOK
		}
		return k.writeLink(ctx, status, l)
	}
}

// edit is PATCH /links/{id}.
func (k *kutt) edit(r *door.Request, id string) exchange.Handler {
	return func(ctx *fasthttp.RequestCtx, caller account.Caller) error {
		b, err := read(r)
		if err != nil {
			return err
		}
		code, whose, err := k.find(caller, id)
		if err != nil {
			return err
		}
		var f door.Fields
		if err := b.shared(&f, k.Now()); err != nil {
			return err
		}
		if value, sent := b["address"]; sent {
			if address, err := jsonbody.String(value); err != nil || address != code {
				return refused("The address of a link cannot be changed here: make another link.")
			}
		}
		if !f.Any() {
			return refused("Should at least update one field.")
		}
		l, err := k.Ops.Update(caller, code, whose, nil, f.Body())
		if err != nil {
			return err
		}
		return k.writeLink(ctx, fasthttp.StatusOK, &l)
	}
}

// remove is DELETE /links/{id}.
func (k *kutt) remove(id string) exchange.Handler {
	return func(ctx *fasthttp.RequestCtx, caller account.Caller) error {
		code, whose, err := k.find(caller, id)
		if err == nil {
			err = k.Ops.Delete(caller, code, whose, nil)
		}
		if err != nil {
			return err
		}
		return exchange.WriteJSON(ctx, fasthttp.StatusOK, map[string]string{"message": "Link has been deleted successfully."})
	}
}
