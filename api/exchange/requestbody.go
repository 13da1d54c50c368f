package exchange

import (
	"github.com/valyala/fasthttp"

	"shunt/api/jsonbody"
	"shunt/api/ops"
	"shunt/engine"
)

// BodyOf returns the body of a request. It is valid until the handler returns.
func BodyOf(ctx *fasthttp.RequestCtx) jsonbody.Body {
	return jsonbody.Body{MediaType: ctx.Request.Header.ContentType(), Text: ctx.PostBody()}
}

// ReadBody reads the request's JSON object into v. A null field counts as absent. It
// returns the names of the fields that were sent, and all errors of fields in invalid.
func ReadBody[T any](ctx *fasthttp.RequestCtx, v *T, fields jsonbody.Fields[T]) (
	sent []string, invalid engine.InvalidError, err error,
) {
	sent, _, invalid, err = ReadFields(ctx, v, fields)
	return sent, invalid, err
}

// ReadFields is ReadBody that also returns the names of the members that are null.
func ReadFields[T any](ctx *fasthttp.RequestCtx, v *T, fields jsonbody.Fields[T]) (
	sent, null []string, invalid engine.InvalidError, err error,
) {
	body := BodyOf(ctx)
	if err := body.WantJSON(); err != nil {
		return nil, nil, nil, err
	}
	members, err := jsonbody.Object(body.Text)
	if err != nil {
		return nil, nil, nil, err
	}
	sent, null, invalid = jsonbody.Read(members, v, fields)
	return sent, null, invalid, nil
}

// NoParameters refuses a request that has a query parameter.
func NoParameters(ctx *fasthttp.RequestCtx) error {
	if len(ctx.URI().QueryString()) == 0 {
		return nil
	}
	return ops.ParseNone(ctx.QueryArgs())
}
