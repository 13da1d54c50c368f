package api

import (
	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/docs"
)

// docsPath is where the reference page is.
const docsPath = "/_/docs"

// serveDocs is GET /_/docs.
func (s *Server) serveDocs(ctx *fasthttp.RequestCtx, _ []byte) {
	guardPage(ctx, docs.Policy)
	writeDocument(ctx, s.docs(), "text/html; charset=utf-8")
}

// readDocument is GET /openapi.json. It says nothing that is not in the program, so it needs neither
// token nor HTTPS.
func (s *Server) readDocument(ctx *fasthttp.RequestCtx, _ account.Caller) error {
	return writeOpenAPI(ctx, docs.OpenAPI)
}

// readDocument30 is GET /openapi-3.0.json.
func (s *Server) readDocument30(ctx *fasthttp.RequestCtx, _ account.Caller) error {
	return writeOpenAPI(ctx, docs.OpenAPI30())
}

func writeOpenAPI(ctx *fasthttp.RequestCtx, d docs.Document) error {
	if err := noParameters(ctx); err != nil {
		return err
	}
	ctx.Response.Header.Set("X-Content-Type-Options", "nosniff")
	writeDocument(ctx, d, "application/json")
	return nil
}

// writeDocument answers with d, or with 304 if the client has it. Clients may cache it for five
// minutes: a new version of the program has a new document.
func writeDocument(ctx *fasthttp.RequestCtx, d docs.Document, contentType string) {
	h := &ctx.Response.Header
	h.Set("Cache-Control", "public, max-age=300")
	h.Set("ETag", d.ETag)
	if d.IsIn(ctx.Request.Header.PeekAll(fasthttp.HeaderIfNoneMatch)) {
		ctx.SetStatusCode(fasthttp.StatusNotModified)
		return
	}
	h.SetContentType(contentType)
	ctx.Response.SetBodyRaw(d.Body)
}
