package problem

import (
	"errors"
	"fmt"
	"strconv"

	"shunt/api/account"
	"shunt/api/domain"
	"shunt/api/folder"
	"shunt/api/jsontext"
	"shunt/api/shed"
	"shunt/api/turnstile"
	"shunt/engine"
)

// A Kind is one row of the table of problems. The set is closed and its codes are stable.
type Kind struct {
	Status     int
	Code       string
	Title      string
	RetryAfter string // seconds; empty: no such field
}

var (
	MalformedJSON   = &Kind{400, "malformed_json", "The body is not well-formed JSON", ""}
	BadRequest      = &Kind{400, "bad_request", "The request is malformed", ""}
	Unauthorized    = &Kind{401, "unauthorized", "A valid token or session is needed", ""}
	Locked          = &Kind{401, "locked", "The link has a password", ""}
	Forbidden       = &Kind{403, "forbidden", "This is not allowed", ""}
	Blocked         = &Kind{403, "blocked", "The target is blocked here", ""}
	HTTPSRequired   = &Kind{403, "https_required", "Tokens travel over HTTPS only", ""}
	NotFound        = &Kind{404, "not_found", "Not found", ""}
	Method          = &Kind{405, "method_not_allowed", "The method is not allowed here", ""}
	Timeout         = &Kind{408, "timeout", "The request took too long to arrive", ""}
	AliasTaken      = &Kind{409, "alias_taken", "The alias is taken", ""}
	HostTaken       = &Kind{409, "host_taken", "The host is another domain already", ""}
	DomainInUse     = &Kind{409, "domain_in_use", "The domain has links", ""}
	FolderInUse     = &Kind{409, "folder_in_use", "The folder has links", ""}
	Busy            = &Kind{409, "busy", "Another operation is under way", ""}
	Gone            = &Kind{410, "gone", "The link is no longer active", ""}
	Precondition    = &Kind{412, "precondition_failed", "The link has another version", ""}
	FolderVersion   = &Kind{412, "precondition_failed", "The folder has another version", ""}
	BodyTooLarge    = &Kind{413, "body_too_large", "The body is too large", ""}
	URITooLong      = &Kind{414, "uri_too_long", "The address is too long", ""}
	MediaType       = &Kind{415, "unsupported_media_type", "The body must be JSON", ""}
	Invalid         = &Kind{422, "invalid", "Fields are invalid", ""}
	HeadersTooLarge = &Kind{431, "headers_too_large", "The header fields are too large", ""}
	Internal        = &Kind{500, "internal", "Something went wrong here", ""}
	NotImplemented  = &Kind{501, "not_implemented", "The server does not do that", ""}
	Version         = &Kind{505, "http_version", "This version of HTTP is not spoken here", ""}
	Loading         = &Kind{503, "loading", "Links are still being loaded", "1"}
	ReadOnly        = &Kind{503, "read_only", "Nothing can be written at present", "10"}
	Overloaded      = &Kind{503, "overloaded", "Too much to do at present", "1"}
	MemoryFull      = &Kind{503, "overloaded", "Too much to do at present", "10"} // garbage is collected every 10 s
	Stale           = &Kind{503, "stale", "This node has no connection to its cluster", "1"}
	CapElsewhere    = &Kind{503, "cap_elsewhere", "The cluster cannot count a hit of the link at present", "1"}
	OutcomeUnknown  = &Kind{503, "outcome_unknown", "The store did not answer in time", "1"}

	IdempotencyMismatch = &Kind{422, "idempotency_mismatch", "The Idempotency-Key was used for another request", ""}
	RateLimited         = &Kind{429, "rate_limited", "Too many requests", ""}               // the caller of New adds Retry-After
	TooManyReceipts     = &Kind{429, "rate_limited", "Too many requests with a key", "300"} // receipts are swept every 300 s
)

// table maps errors of the domain to problems; it is the only place that does. An error that is not
// in it is Internal.
var table = []struct {
	err  error
	kind *Kind
}{
	{engine.ErrNotFound, NotFound},
	{engine.ErrTaken, AliasTaken},
	{engine.ErrVersion, Precondition},
	{engine.ErrMismatch, IdempotencyMismatch},
	{engine.ErrTooManyReceipts, TooManyReceipts},
	{engine.ErrDeleted, Gone},
	{engine.ErrRefused, Invalid},
	{engine.ErrOwnerGone, Unauthorized}, // the caller has been deleted since; an import has a problem of its own, about the owner
	{engine.ErrDomainGone, Invalid},
	{engine.ErrLoading, Loading},
	{engine.ErrOutcomeUnknown, OutcomeUnknown},
	{engine.ErrReadOnly, ReadOnly},
	{engine.ErrNotLeader, Stale},
	{engine.ErrOverloaded, Overloaded},
	{engine.ErrFull, MemoryFull},
	{engine.ErrClosed, Overloaded},
	{account.ErrUnauthorized, Unauthorized},
	{account.ErrNoToken, NotFound},
	{domain.ErrNoDomain, NotFound},
	{domain.ErrInUse, DomainInUse},
	{folder.ErrNoFolder, NotFound},
	{folder.ErrNoMember, NotFound},
	{folder.ErrInUse, FolderInUse},
	{folder.ErrVersion, FolderVersion},
	{account.ErrNoUser, NotFound},
	{account.ErrNoSetupCode, NotFound},
	{account.ErrOverloaded, Overloaded},
	{turnstile.ErrFull, Overloaded},
	{shed.ErrPressed, Overloaded},
	{shed.ErrInFlight, Overloaded},
	{turnstile.ErrShare, Overloaded},
}

// A Problem is an error that a client may see.
type Problem struct {
	Kind   *Kind
	Detail string              // for people; never about internals
	Fields []engine.FieldError // of an Invalid request: at most MaxErrors
}

func (p Problem) Error() string { return p.Kind.Code + ": " + p.Detail }

// Is makes errors.Is find a Problem of the same kind and detail. Without it errors.Is would find
// none, because a Problem has a slice and cannot be compared.
func (p Problem) Is(target error) bool {
	t, ok := target.(Problem)
	return ok && p.Kind == t.Kind && p.Detail == t.Detail
}

// New returns a Problem of kind k with a detail for people.
func New(k *Kind, format string, args ...any) error {
	return Problem{Kind: k, Detail: fmt.Sprintf(format, args...)}
}

// MaxErrors limits the errors in the answer to one request, or to one item of a bulk, so that an
// answer is not much larger than its request.
const MaxErrors = 20

// Of returns the part of err that a client may see. known is false if err is not in the table: then
// the problem is Internal, and the caller must log err.
func Of(err error) (r Problem, known bool) {
	if errors.As(err, &r) {
		return r, true
	}
	var fields engine.InvalidError
	var field engine.FieldError
	var taken engine.TakenError
	switch {
	case errors.As(err, &fields):
		fields = fields[:min(len(fields), MaxErrors)]
		return Problem{kindOf(fields), fields.Error(), fields}, true
	case errors.As(err, &field):
		return Of(engine.InvalidError{field})
	case errors.As(err, &taken):
		return Problem{Kind: AliasTaken, Detail: taken.Error()}, true
	}
	for _, row := range table {
		if errors.Is(err, row.err) {
			return Problem{Kind: row.kind, Detail: row.err.Error()}, true
		}
	}
	return Problem{Kind: Internal, Detail: "the cause is in the server's log"}, false
}

// kindOf returns Blocked if the only error is a target on the block list, because such a request is
// otherwise valid, and Invalid for all other errors.
func kindOf(fields engine.InvalidError) *Kind {
	if len(fields) == 1 && fields[0].Code == engine.BlockedTarget {
		return Blocked
	}
	return Invalid
}

// Body is the JSON object of RFC 9457 with our code and errors.
type Body struct {
	Type   string              `json:"type"`
	Title  string              `json:"title"`
	Status int                 `json:"status"`
	Detail string              `json:"detail"`
	Code   string              `json:"code"`
	Errors []engine.FieldError `json:"errors,omitempty"`
}

// Body returns the object that a client gets.
func (p Problem) Body() Body {
	return Body{
		Type: "urn:shunt:problem:" + p.Kind.Code, Title: p.Kind.Title, Status: p.Kind.Status,
		Detail: p.Detail, Code: p.Kind.Code, Errors: p.Fields,
	}
}

// AppendJSON appends the object as encoding/json writes it without escapes of HTML.
func (b *Body) AppendJSON(dst []byte) []byte {
	dst = jsontext.AppendString(append(dst, `{"type":`...), b.Type)
	dst = jsontext.AppendString(append(dst, `,"title":`...), b.Title)
	dst = strconv.AppendInt(append(dst, `,"status":`...), int64(b.Status), 10)
	dst = jsontext.AppendString(append(dst, `,"detail":`...), b.Detail)
	dst = jsontext.AppendString(append(dst, `,"code":`...), b.Code)
	if len(b.Errors) == 0 {
		return append(dst, '}')
	}
	dst = append(dst, `,"errors":[`...)
	for i, e := range b.Errors {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = jsontext.AppendString(append(dst, `{"field":`...), e.Field)
		dst = jsontext.AppendString(append(dst, `,"code":`...), e.Code)
		dst = jsontext.AppendString(append(dst, `,"message":`...), e.Message)
		dst = append(dst, '}')
	}
	return append(dst, "]}"...)
}
