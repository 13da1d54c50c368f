package exchange

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strconv"

	"github.com/valyala/fasthttp"

	"shunt/api/admin"
	"shunt/api/problem"
)

// This file writes the answers of the API: JSON objects and problems.

// Fail answers an API request with the problem of err, and logs the cause of an internal error.
func Fail(ctx *fasthttp.RequestCtx, log *slog.Logger, err error) {
	WriteProblem(ctx, ProblemOf(ctx, log, err))
}

// ProblemOf returns the problem of err, for an answer in another form, and logs the cause of an internal error.
func ProblemOf(ctx *fasthttp.RequestCtx, log *slog.Logger, err error) problem.Problem {
	r, known := problem.Of(err)
	if !known {
		log.Error("request failed", slog.String("method", admin.MethodLabel(ctx.Method())), slog.Any("cause", err), inLog(ctx))
	}
	return r
}

// SetRetryAfter says when to try again, if the problem of an answer passes.
func SetRetryAfter(ctx *fasthttp.RequestCtx, r problem.Problem) {
	if r.Kind.RetryAfter != "" {
		ctx.Response.Header.Set("Retry-After", r.Kind.RetryAfter)
	}
}

// WriteProblem answers with a problem.
func WriteProblem(ctx *fasthttp.RequestCtx, r problem.Problem) {
	h := &ctx.Response.Header
	SetRetryAfter(ctx, r)
	if r.Kind == problem.Unauthorized {
		h.Set("WWW-Authenticate", `Bearer realm="shunt"`)
	}
	begin(ctx, "application/problem+json", r.Kind.Status)
	body := r.Body()
	appendBody(ctx, body.AppendJSON)
}

// Header fields of most answers of the API, in the spelling in which fasthttp sends them: a name that it
// must bring into that form costs as much as the rest of setting the field.
var (
	NameCacheControl       = []byte("Cache-Control")
	nameContentTypeOptions = []byte("X-Content-Type-Options")
	NameETag               = []byte("Etag")
	NameLocation           = []byte("Location")

	NoStore = []byte("no-store")
	noSniff = []byte("nosniff")
)

// SetVersion says in ETag which version of a thing the answer has.
func SetVersion(ctx *fasthttp.RequestCtx, version uint64) {
	tag := strconv.AppendUint([]byte{'"'}, version, 10)
	ctx.Response.Header.SetCanonical(NameETag, append(tag, '"'))
}

// WriteJSON answers with v as encoding/json writes it.
func WriteJSON(ctx *fasthttp.RequestCtx, status int, v any) error {
	begin(ctx, "application/json", status)
	ctx.SetBody(EncodeJSON(v))
	return nil
}

// WriteCSV answers with a table.
func WriteCSV(ctx *fasthttp.RequestCtx, table []byte) error {
	begin(ctx, "text/csv; charset=utf-8; header=present", fasthttp.StatusOK)
	ctx.SetBody(table)
	return nil
}

// WriteAppended answers with the JSON that write appends.
func WriteAppended(ctx *fasthttp.RequestCtx, status int, write func(dst []byte) []byte) error {
	begin(ctx, "application/json", status)
	appendBody(ctx, write)
	return nil
}

// Write answers with a body of a media type.
func Write(ctx *fasthttp.RequestCtx, status int, contentType string, body []byte) error {
	begin(ctx, contentType, status)
	ctx.SetBody(body)
	return nil
}

// WriteText answers with a text alone, without an end of line.
func WriteText(ctx *fasthttp.RequestCtx, status int, text string) error {
	begin(ctx, "text/plain; charset=utf-8", status)
	ctx.Response.SetBodyString(text)
	return nil
}

// begin sets everything of an answer but its body.
func begin(ctx *fasthttp.RequestCtx, contentType string, status int) {
	h := &ctx.Response.Header
	h.SetCanonical(NameCacheControl, NoStore)
	h.SetCanonical(nameContentTypeOptions, noSniff)
	h.SetContentType(contentType)
	ctx.SetStatusCode(status)
}

// appendBody makes the body of an answer the line that write appends. It appends to the buffer that
// fasthttp keeps for the next answer, so that none has memory of its own or is copied.
func appendBody(ctx *fasthttp.RequestCtx, write func(dst []byte) []byte) {
	room := ctx.Response.SwapBody(nil)[:0]
	ctx.Response.SwapBody(append(write(room), '\n'))
}

// EncodeJSON returns a line of JSON.
func EncodeJSON(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // keeps addresses readable
	if err := enc.Encode(v); err != nil {
		panic(fmt.Sprintf("api: encoding an answer: %v", err)) // only our own types are encoded; handle recovers the panic
	}
	return b.Bytes()
}
