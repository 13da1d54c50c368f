package door

import (
	"strings"

	"github.com/valyala/fasthttp"

	"shunt/api/exchange"
	"shunt/api/form"
	"shunt/api/ops"
	"shunt/api/problem"
)

// Values are the fields of a query and a form, by name.
type Values map[string]string

// Values reads the query and the form of a request. A field of the form comes before one of the query, and a later one
// before an earlier one, as in PHP. A body that is no form has no fields here. Errors are for House.Problem; then the
// values are those before the error.
func (r *Request) Values() (Values, error) {
	v := make(Values)
	add := func(name, value string) error {
		v[name] = value
		return nil
	}
	if err := form.EachOfQuery(r.Query, add); err != nil {
		return v, err
	}
	_, err := form.Each(exchange.BodyOf(r.Ctx), add)
	return v, err
}

// First returns the value of the first of names that has one; empty: none has.
func (v Values) First(names ...string) string {
	for _, name := range names {
		if v[name] != "" {
			return v[name]
		}
	}
	return ""
}

// Key returns the Idempotency-Key of a request. The clients of doors send none, but who calls one by hand may.
func (r *Request) Key() (ops.Key, error) {
	return ops.ParseKey(r.Ctx.Request.Header.PeekAll("Idempotency-Key"))
}

// KeyField is the field in which clients of Shlink and of Kutt send a token of this server.
const KeyField = "X-Api-Key"

// Token returns the token in KeyField; empty: the request has none. A request with two is refused, because whoever
// stands before this server may have read the other one. Errors are for House.Refuse.
func (r *Request) Token() (token string, err error) {
	keys := r.Ctx.Request.Header.PeekAll(KeyField)
	switch len(keys) {
	case 0:
		return "", nil
	case 1:
		return strings.TrimSpace(string(keys[0])), nil
	}
	r.Ctx.SetConnectionClose()
	return "", problem.New(problem.BadRequest, "send only one %s field", KeyField)
}

// Is reports whether a request has one of methods.
func (r *Request) Is(methods ...string) bool {
	for _, method := range methods {
		if string(r.Ctx.Method()) == method {
			return true
		}
	}
	return false
}

// Below returns the part of the path that follows own, which is that of the door, or of a part of it, without a slash
// at its end.
func (r *Request) Below(own string) string {
	return strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(r.Path, own), "/"), "/")
}

// Line is text in one line, without blanks around it: what other shorteners make of a title.
func Line(text string) string { return strings.Join(strings.Fields(text), " ") }

// Parameters returns parameters of a call in package ops: names and values in turn.
func Parameters(namesAndValues ...string) ops.Parameters {
	var args fasthttp.Args
	for i := 0; i+1 < len(namesAndValues); i += 2 {
		args.Add(namesAndValues[i], namesAndValues[i+1])
	}
	return &args
}
