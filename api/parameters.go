package api

import (
	"strconv"
	"unicode/utf8"

	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/problem"
	"shunt/engine"
)

// maxParameters bounds how many parameters are looked at, and complained about.
const maxParameters = 32

// A parameterReader reads one query parameter into q and returns what is wrong with it: a FieldError without Field.
type parameterReader[T any] func(q *T, value string) error

// readParameters reads the query parameters into q, and whose links are asked for: the caller's, or by owner=all or owner=ID,
// which need scope admin, anybody's. None may be unknown, or longer than maxBytes; only include may come twice. Everything that
// is wrong is returned at once, but for an owner that the caller may not ask for.
func readParameters[T any](
	ctx *fasthttp.RequestCtx, caller account.Caller, q *T, readers map[string]parameterReader[T], maxBytes int,
) (engine.Guard, error) {
	guard := engine.Guard{Owner: caller.User.ID}
	var invalid engine.InvalidError
	seen := make(map[string]bool)
	if ctx.QueryArgs().Len() > maxParameters {
		return guard, problem.New(problem.BadRequest, "more than %d query parameters", maxParameters)
	}
	for nameBytes, value := range ctx.QueryArgs().All() {
		name := string(nameBytes)
		read, known := readers[name]
		switch {
		case name == "owner" && !caller.Has(account.Admin):
			return guard, errOwnerNeedsAdmin
		case !known && name != "owner":
			invalid = append(invalid, unknownParameter(nameBytes))
		case seen[name] && name != "include":
			invalid = append(invalid, fieldError(name, "duplicate", "must not be given twice"))
		case len(value) > maxBytes:
			invalid = append(invalid, fieldError(name, "too_long", "must be at most "+strconv.Itoa(maxBytes)+" bytes"))
		case name == "owner":
			invalid = appendFieldError(invalid, name, readOwner(&guard, value))
		default:
			invalid = appendFieldError(invalid, name, read(q, string(value)))
		}
		seen[name] = true
	}
	if len(invalid) > 0 {
		return guard, invalid
	}
	return guard, nil
}

// checkTextParameter: UTF-8, at most maxBytes bytes, no control characters.
func checkTextParameter(value string, maxBytes int) error {
	if !utf8.ValidString(value) {
		return fieldError("", "characters", "must be UTF-8")
	}
	return checkText("", value, maxBytes)
}
