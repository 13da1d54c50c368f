package ops

import (
	"iter"
	"strconv"
	"unicode/utf8"

	"shunt/api/account"
	"shunt/api/jsonbody"
	"shunt/api/problem"
	"shunt/engine"
)

// Parameters are the query parameters of a request, or of a form, in their order. *fasthttp.Args
// implements it.
type Parameters interface {
	Len() int
	All() iter.Seq2[[]byte, []byte] // names and values; valid until the next
}

// MaxParameters limits the parameters that are read, and so the errors in an answer.
const MaxParameters = 32

// maxOwnerBytes is longer than the id of any user.
const maxOwnerBytes = 32

// A parameterReader reads one query parameter into q. Its error is an engine.FieldError without
// Field.
type parameterReader[T any] func(q *T, value string) error

// ParseGuard reads the parameters of a request that has none but owner, and returns whose links the
// request is about: the caller's own without owner; with owner=all or owner=ID, which need the
// scope admin, everybody's or that user's.
func ParseGuard(caller account.Caller, p Parameters) (engine.Guard, error) {
	return readParameters[struct{}](caller, p, nil, nil, maxOwnerBytes)
}

// ParseNone refuses a request that has a query parameter.
func ParseNone(p Parameters) error {
	for name := range p.All() {
		return UnknownParameter(name)
	}
	return nil
}

// UnknownParameter returns the error of a parameter that a request does not have.
func UnknownParameter(name []byte) error {
	return jsonbody.FieldError(string(name), "unknown", "is not a parameter of this request")
}

// readParameters reads the query parameters into q, and returns the guard, as ParseGuard does. No
// parameter may be unknown, or longer than maxBytes; only include may occur twice. It returns all
// errors at once, except for an owner that the caller may not ask for.
func readParameters[T any](
	caller account.Caller, p Parameters, q *T, readers map[string]parameterReader[T], maxBytes int,
) (engine.Guard, error) {
	guard := engine.Guard{Owner: caller.User.ID}
	var invalid engine.InvalidError
	seen := make(map[string]bool)
	if p.Len() > MaxParameters {
		return guard, problem.New(problem.BadRequest, "there must be at most %d query parameters", MaxParameters)
	}
	for nameBytes, value := range p.All() {
		name := string(nameBytes)
		read, known := readers[name]
		switch {
		case name == "owner" && !caller.Has(account.Admin):
			return guard, errOwnerNeedsAdmin
		case !known && name != "owner":
			invalid = jsonbody.AppendError(invalid, name, UnknownParameter(nameBytes))
		case seen[name] && name != "include":
			invalid = append(invalid, jsonbody.FieldError(name, "duplicate", "must not be given twice"))
		case len(value) > maxBytes && (name != codesName || len(value) > maxCodesBytes):
			invalid = append(invalid, jsonbody.FieldError(name, "too_long", "must be at most "+strconv.Itoa(maxBytes)+" bytes"))
		case name == "owner":
			invalid = jsonbody.AppendError(invalid, name, readOwner(&guard, value))
		default:
			invalid = jsonbody.AppendError(invalid, name, read(q, string(value)))
		}
		seen[name] = true
	}
	if len(invalid) > 0 {
		return guard, invalid
	}
	return guard, nil
}

var errOwnerNeedsAdmin = problem.New(problem.Forbidden, "owner needs the scope %s", account.Admin)

// mayUse refuses a guard that admits links of others, unless the caller is an admin. Every call
// checks its guard with it, wherever the guard came from.
func mayUse(caller account.Caller, g engine.Guard) error {
	if (g.AnyOwner || g.Owner != caller.User.ID) && !caller.Has(account.Admin) {
		return errOwnerNeedsAdmin
	}
	return nil
}

// readOwner reads the parameter owner: all, or a user's id.
func readOwner(g *engine.Guard, value []byte) error {
	if g.AnyOwner = string(value) == "all"; g.AnyOwner {
		return nil
	}
	id, err := strconv.ParseUint(string(value), 10, 32)
	if err != nil || id == 0 {
		return jsonbody.FieldError("owner", "range", "must be a user's id or all")
	}
	g.Owner = uint32(id)
	return nil
}

// readCount reads a number of things, from 1 to most.
func readCount(value string, most int) (int, error) {
	n, err := strconv.ParseUint(value, 10, 16) // ParseUint accepts no sign
	if err != nil || n < 1 || n > uint64(most) {
		return 0, jsonbody.FieldError("", "range", "must be 1 to "+strconv.Itoa(most))
	}
	return int(n), nil
}

// checkTextParameter refuses a value that is not UTF-8, is longer than maxBytes bytes, or has
// control characters.
func checkTextParameter(value string, maxBytes int) error {
	if !utf8.ValidString(value) {
		return jsonbody.FieldError("", "characters", "must be UTF-8")
	}
	return checkText("", value, maxBytes)
}
