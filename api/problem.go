package api

import (
	"errors"
	"fmt"

	"shunt/api/account"
	"shunt/api/turnstile"
	"shunt/engine"
)

// A kind of problem: what a client sees of an error (RFC 9457). The set is closed and its codes are stable.
type kind struct {
	status     int
	code       string
	title      string
	retryAfter string // seconds; empty: no such field
}

var (
	kindMalformedJSON   = &kind{400, "malformed_json", "The body is not well-formed JSON", ""}
	kindBadRequest      = &kind{400, "bad_request", "The request is malformed", ""}
	kindUnauthorized    = &kind{401, "unauthorized", "A valid token or session is needed", ""}
	kindForbidden       = &kind{403, "forbidden", "This is not allowed", ""}
	kindBlocked         = &kind{403, "blocked", "The target is blocked here", ""}
	kindHTTPSRequired   = &kind{403, "https_required", "Tokens travel over HTTPS only", ""}
	kindNotFound        = &kind{404, "not_found", "Not found", ""}
	kindMethod          = &kind{405, "method_not_allowed", "The method is not allowed here", ""}
	kindTimeout         = &kind{408, "timeout", "The request took too long to arrive", ""}
	kindAliasTaken      = &kind{409, "alias_taken", "The alias is taken", ""}
	kindBusy            = &kind{409, "busy", "Another operation is under way", ""}
	kindGone            = &kind{410, "gone", "The link is no longer active", ""}
	kindPrecondition    = &kind{412, "precondition_failed", "The link has another version", ""}
	kindBodyTooLarge    = &kind{413, "body_too_large", "The body is too large", ""}
	kindURITooLong      = &kind{414, "uri_too_long", "The address is too long", ""}
	kindMediaType       = &kind{415, "unsupported_media_type", "The body must be JSON", ""}
	kindInvalid         = &kind{422, "invalid", "Fields are invalid", ""}
	kindHeadersTooLarge = &kind{431, "headers_too_large", "The header fields are too large", ""}
	kindInternal        = &kind{500, "internal", "Something went wrong here", ""}
	kindNotImplemented  = &kind{501, "not_implemented", "The server does not do that", ""}
	kindVersion         = &kind{505, "http_version", "This version of HTTP is not spoken here", ""}
	kindLoading         = &kind{503, "loading", "Links are still being loaded", "1"}
	kindReadOnly        = &kind{503, "read_only", "Nothing can be written at present", "10"}
	kindOverloaded      = &kind{503, "overloaded", "Too much to do at present", "1"}
	kindOutcomeUnknown  = &kind{503, "outcome_unknown", "The store did not answer in time", "1"}

	kindIdempotencyMismatch = &kind{422, "idempotency_mismatch", "The Idempotency-Key was used for another request", ""}
	kindRateLimited         = &kind{429, "rate_limited", "Too many requests", ""}               // whoever refuses says for how long
	kindTooManyReceipts     = &kind{429, "rate_limited", "Too many requests with a key", "300"} // receipts are swept as often
)

// problemTable is the one place where errors of the domain become problems. Whatever is not in it is kindInternal.
var problemTable = []struct {
	err  error
	kind *kind
}{
	{engine.ErrNotFound, kindNotFound},
	{engine.ErrTaken, kindAliasTaken},
	{engine.ErrVersion, kindPrecondition},
	{engine.ErrMismatch, kindIdempotencyMismatch},
	{engine.ErrTooManyReceipts, kindTooManyReceipts},
	{engine.ErrDeleted, kindGone},
	{engine.ErrRefused, kindInvalid},
	{engine.ErrOwnerGone, kindUnauthorized}, // the caller, deleted since; an import says which owner
	{engine.ErrLoading, kindLoading},
	{engine.ErrOutcomeUnknown, kindOutcomeUnknown},
	{engine.ErrReadOnly, kindReadOnly},
	{engine.ErrOverloaded, kindOverloaded},
	{engine.ErrClosed, kindOverloaded},
	{account.ErrUnauthorized, kindUnauthorized},
	{account.ErrNoToken, kindNotFound},
	{account.ErrNoUser, kindNotFound},
	{account.ErrOverloaded, kindOverloaded},
	{turnstile.ErrFull, kindOverloaded},
	{turnstile.ErrShare, kindOverloaded},
}

// A refusal is an error that knows its kind.
type refusal struct {
	kind   *kind
	detail string // for people; never anything of the inside
	fields []engine.FieldError
}

func (r refusal) Error() string { return r.kind.code + ": " + r.detail }

func refuse(k *kind, format string, args ...any) error {
	return refusal{kind: k, detail: fmt.Sprintf(format, args...)}
}

// maxToldErrors is how much of what is wrong with a request, or with an item of a bulk, is told: an answer is not to be much larger
// than what it answers.
const maxToldErrors = 20

// refusalOf turns any error into what a client may see of it. known is false for what should not have happened.
func refusalOf(err error) (r refusal, known bool) {
	if errors.As(err, &r) {
		return r, true
	}
	var fields engine.InvalidError
	var field engine.FieldError
	var taken engine.TakenError
	switch {
	case errors.As(err, &fields):
		fields = fields[:min(len(fields), maxToldErrors)]
		return refusal{kindOfFields(fields), fields.Error(), fields}, true
	case errors.As(err, &field):
		return refusalOf(engine.InvalidError{field})
	case errors.As(err, &taken):
		return refusal{kind: kindAliasTaken, detail: taken.Error()}, true
	}
	for _, row := range problemTable {
		if errors.Is(err, row.err) {
			return refusal{kind: row.kind, detail: row.err.Error()}, true
		}
	}
	return refusal{kind: kindInternal, detail: "the cause is in the server's log"}, false
}

// kindOfFields: a target that is blocked is well-formed, and forbidden, if nothing else is wrong with the request.
func kindOfFields(fields engine.InvalidError) *kind {
	if len(fields) == 1 && fields[0].Code == engine.BlockedTarget {
		return kindBlocked
	}
	return kindInvalid
}

// problemBody is RFC 9457's object with our code and errors.
type problemBody struct {
	Type   string              `json:"type"`
	Title  string              `json:"title"`
	Status int                 `json:"status"`
	Detail string              `json:"detail"`
	Code   string              `json:"code"`
	Errors []engine.FieldError `json:"errors,omitempty"`
}

// body returns the object that a client gets.
func (r refusal) body() problemBody {
	return problemBody{
		Type: "urn:shunt:problem:" + r.kind.code, Title: r.kind.title, Status: r.kind.status,
		Detail: r.detail, Code: r.kind.code, Errors: r.fields,
	}
}
