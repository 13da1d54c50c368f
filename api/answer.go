package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"

	"github.com/valyala/fasthttp"

	"shunt/api/admin"
	"shunt/api/problem"
)

// This file writes the answers of the API: JSON objects and problems.

// fail answers an API request with the problem of err, and logs the cause of an internal error.
func fail(ctx *fasthttp.RequestCtx, log *slog.Logger, err error) {
	r, known := problem.Of(err)
	if !known {
		log.Error("request failed", slog.String("method", admin.MethodLabel(ctx.Method())), slog.Any("cause", err))
	}
	writeProblem(ctx, r)
}

func writeProblem(ctx *fasthttp.RequestCtx, r problem.Problem) {
	h := &ctx.Response.Header
	if r.Kind.RetryAfter != "" {
		h.Set("Retry-After", r.Kind.RetryAfter)
	}
	if r.Kind == problem.Unauthorized {
		h.Set("WWW-Authenticate", `Bearer realm="shunt"`)
	}
	h.Set("Cache-Control", "no-store")
	writeEncodedAs(ctx, "application/problem+json", r.Kind.Status, encodeJSON(r.Body()))
}

func writeJSON(ctx *fasthttp.RequestCtx, status int, v any) error {
	return writeEncoded(ctx, status, encodeJSON(v))
}

// writeEncoded answers with text, a line of JSON.
func writeEncoded(ctx *fasthttp.RequestCtx, status int, text []byte) error {
	ctx.Response.Header.Set("Cache-Control", "no-store")
	writeEncodedAs(ctx, "application/json", status, text)
	return nil
}

func writeEncodedAs(ctx *fasthttp.RequestCtx, contentType string, status int, text []byte) {
	h := &ctx.Response.Header
	h.Set("X-Content-Type-Options", "nosniff")
	h.SetContentType(contentType)
	ctx.SetStatusCode(status)
	ctx.SetBody(text)
}

// encodeJSON returns a line of JSON.
func encodeJSON(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // keeps addresses readable
	if err := enc.Encode(v); err != nil {
		panic(fmt.Sprintf("api: encoding an answer: %v", err)) // only our own types are encoded; handle recovers the panic
	}
	return b.Bytes()
}
