package client

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// A Kind is the server's code for what went wrong. It is an error: errors.Is(err,
// client.ErrNotFound).
type Kind string

// The kinds of problems. A newer server may have others.
const (
	ErrMalformedJSON        Kind = "malformed_json"
	ErrBadRequest           Kind = "bad_request"
	ErrUnauthorized         Kind = "unauthorized"        // no valid token
	ErrForbidden            Kind = "forbidden"           // the token does not have the scope
	ErrHTTPSRequired        Kind = "https_required"      // the token came over plain HTTP
	ErrBlocked              Kind = "blocked"             // the target is on the block list
	ErrNotFound             Kind = "not_found"           // missing, deleted, or somebody else's
	ErrMethodNotAllowed     Kind = "method_not_allowed"  //
	ErrTimeout              Kind = "timeout"             // the request took too long to arrive
	ErrAliasTaken           Kind = "alias_taken"         //
	ErrHostTaken            Kind = "host_taken"          // it is another domain already
	ErrDomainInUse          Kind = "domain_in_use"       // the domain has links
	ErrFolderInUse          Kind = "folder_in_use"       // the folder has links
	ErrBusy                 Kind = "busy"                // another operation is under way
	ErrGone                 Kind = "gone"                // in a repeated bulk: the link has been deleted since
	ErrPreconditionFailed   Kind = "precondition_failed" // the link or the folder has another version
	ErrBodyTooLarge         Kind = "body_too_large"      //
	ErrURITooLong           Kind = "uri_too_long"
	ErrUnsupportedMediaType Kind = "unsupported_media_type"
	ErrInvalid              Kind = "invalid" // Errors says which fields
	ErrIdempotencyMismatch  Kind = "idempotency_mismatch"
	ErrRateLimited          Kind = "rate_limited"
	ErrHeadersTooLarge      Kind = "headers_too_large"
	ErrInternal             Kind = "internal"
	ErrNotImplemented       Kind = "not_implemented"
	ErrReadOnly             Kind = "read_only"       // links cannot be written at present
	ErrOverloaded           Kind = "overloaded"      //
	ErrLoading              Kind = "loading"         // the server is still loading links
	ErrOutcomeUnknown       Kind = "outcome_unknown" // the store did not answer in time; the change may still be made
	ErrHTTPVersion          Kind = "http_version"
)

func (k Kind) Error() string { return "shunt: " + printable(string(k)) }

// A Problem is an unsuccessful answer (RFC 9457).
type Problem struct {
	Type   string       `json:"type"`
	Title  string       `json:"title"`
	Status int          `json:"status"` // HTTP status
	Detail string       `json:"detail"`
	Kind   Kind         `json:"code"` // empty: the answer was not one of shunt's API
	Errors []FieldError `json:"errors"`
	// RetryAfter is how long to wait; 0: not given.
	RetryAfter time.Duration `json:"-"`
}

// A FieldError says what is wrong with one field or parameter.
type FieldError struct {
	Field   string `json:"field"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

// problemPrefix begins the type of every problem of shunt.
const problemPrefix = "urn:shunt:problem:"

func readProblem(status int, header http.Header, text []byte) *Problem {
	p := &Problem{}
	if json.Unmarshal(text, p) != nil || p.Kind == "" {
		*p = Problem{Type: "about:blank", Title: http.StatusText(status)}
	}
	p.Status = status
	p.RetryAfter = retryAfter(header, time.Now())
	return p
}

// maxRetryAfter, a year, is longer than any client waits.
const maxRetryAfter = 365 * 24 * time.Hour

// retryAfter reads Retry-After (RFC 9110, 10.2.3). A date is relative to the Date of the answer, if
// there is one, because the server's clock may differ.
func retryAfter(header http.Header, now time.Time) time.Duration {
	value := header.Get("Retry-After")
	if seconds, err := strconv.ParseUint(value, 10, 63); err == nil {
		return time.Duration(min(seconds, uint64(maxRetryAfter/time.Second))) * time.Second
	}
	until, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	if date, err := http.ParseTime(header.Get("Date")); err == nil {
		now = date
	}
	return min(max(until.Sub(now), 0), maxRetryAfter)
}

// Unwrap returns the Kind.
func (p *Problem) Unwrap() error {
	if p.Kind == "" {
		return nil
	}
	return p.Kind
}

// Error returns one line: the fields that are wrong, or else what went wrong.
func (p *Problem) Error() string {
	if p.Kind == "" {
		return fmt.Sprintf("the server answered %d %s; is that address a shunt server?", p.Status, p.Title)
	}
	var parts []string
	for _, e := range p.Errors {
		parts = append(parts, strings.TrimPrefix(e.Field+": "+e.Message, ": "))
	}
	if len(parts) == 0 && p.Detail != "" {
		parts = append(parts, p.Detail)
	}
	if len(parts) == 0 {
		parts = append(parts, p.Title)
	}
	return printable(fmt.Sprintf("%s (%d %s)", strings.Join(parts, "; "), p.Status, string(p.Kind)))
}

// printable returns a server's text as one line without control characters.
func printable(text string) string {
	if hasControls(text) {
		text = strings.Trim(strconv.Quote(text), `"`)
	}
	return text
}
