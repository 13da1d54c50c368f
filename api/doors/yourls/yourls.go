package yourls

import (
	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/doors/door"
	"shunt/api/problem"
)

// Path is that of the door.
const Path = "/yourls-api.php"

// The version whose answers these are, and that of its database.
const (
	version   = "1.10.2"
	dbVersion = "507"
)

// yourls is the door.
type yourls struct {
	*door.House
	actions map[string]action
	unique  bool // a repeated target is an error
}

// An action is what the parameter action names.
type action struct {
	what door.Action
	do   func(r *door.Request, caller account.Caller, v door.Values) (answer, error)
}

// Open returns the door.
func Open(h *door.House) door.Handler { return open(h, false) }

// OpenUnique returns a door at which a repeated target is an error, as in YOURLS.
func OpenUnique(h *door.House) door.Handler { return open(h, true) }

func open(h *door.House, unique bool) door.Handler {
	d := &yourls{House: h, unique: unique}
	sums := door.Action{Scope: account.LinksRead, Also: account.StatsRead, Heavy: true}
	d.actions = map[string]action{
		"shorturl":  {door.Create, d.shorten},
		"expand":    {door.Read, d.expand},
		"url-stats": {door.Read, d.linkStats},
		"stats":     {sums, d.stats},
		"db-stats":  {sums, d.dbStats},
		"version":   {door.Action{}, d.version},
	}
	return d.answer
}

// answer answers a request.
func (d *yourls) answer(r *door.Request) {
	v, err := r.Values()
	f, good := formOf(v)
	switch {
	case err != nil:
		d.refuse(r, f, failed(400, d.Problem(r.Ctx, err).Detail))
	case r.Below(Path) != "":
		d.refuse(r, f, failed(404, "there is nothing here; the API is "+Path))
	case !r.Is(fasthttp.MethodGet, fasthttp.MethodPost):
		r.Ctx.Response.Header.Set(fasthttp.HeaderAllow, "GET, POST")
		d.refuse(r, f, failed(405, "send GET or POST"))
	case !good:
		d.refuse(r, f, errCallback)
	default:
		d.act(r, v, f)
	}
}

// refuse answers a request that is refused whoever sent it. It counts for the client's address, as all do.
func (d *yourls) refuse(r *door.Request, f form, a answer) {
	err := d.Do(r.Ctx, door.Credential{}, door.Public, func(ctx *fasthttp.RequestCtx, _ account.Caller) error {
		return f.write(ctx, a)
	})
	if err != nil {
		p := d.Problem(r.Ctx, err)
		_ = f.write(r.Ctx, failed(p.Kind.Status, p.Detail))
	}
}

// unknown is the action that no other is.
var unknown = action{door.Action{}, func(*door.Request, account.Caller, door.Values) (answer, error) {
	return failed(400, `Unknown or missing "action" parameter`), nil
}}

// act does what a request asks for.
func (d *yourls) act(r *door.Request, v door.Values, f form) {
	a, known := d.actions[v["action"]]
	if !known {
		a = unknown
	}
	if v["signature"] != "" && v["timestamp"] != "" {
		d.refuse(r, f, refusedLogin("Signatures with a timestamp are not supported: send a token as signature, without timestamp and hash", f))
		return
	}
	by := door.Credential{Token: v["signature"], Name: v["username"], Password: v["password"]}
	err := d.Do(r.Ctx, by, a.what, func(ctx *fasthttp.RequestCtx, caller account.Caller) error {
		said, err := a.do(r, caller, v)
		if err != nil {
			return err
		}
		return f.write(ctx, said)
	})
	if err != nil {
		_ = f.write(r.Ctx, d.refused(by, v, f, d.Problem(r.Ctx, err)))
	}
}

// refused is the answer to a request that has failed.
func (d *yourls) refused(by door.Credential, v door.Values, f form, p problem.Problem) answer {
	switch {
	case p.Kind == problem.Unauthorized && by == door.Credential{}:
		return refusedLogin("Please log in", f)
	case p.Kind == problem.Unauthorized:
		return refusedLogin("Invalid username or password", f)
	case v["action"] == "shorturl":
		return notShortened(p, v["keyword"])
	}
	return failed(p.Kind.Status, door.Explain(p, map[string]string{"alias": "keyword"}))
}

// refusedLogin is the answer to who is not known. It always has a callback, if only an empty one.
func refusedLogin(message string, f form) answer {
	a := answer{403, fields{{"message", message}, {"errorCode", "403"}}, message}
	if f.callback == "" {
		a.fields = append(a.fields, field{"callback", ""})
	}
	return a
}

// version is the action of that name.
func (d *yourls) version(_ *door.Request, _ account.Caller, v door.Values) (answer, error) {
	all := fields{{"version", version}}
	if v["db"] == "1" {
		all = append(all, field{"db_version", dbVersion})
	}
	return answer{200, all, version}, nil
}
