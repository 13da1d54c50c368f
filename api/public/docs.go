package public

import (
	"sync"

	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/docs"
	"shunt/api/exchange"
	"shunt/api/page"
	"shunt/api/words"
)

// A handler answers GET and HEAD of a path. code is the part of the path before the page's
// suffix.
type handler func(ctx *fasthttp.RequestCtx, code []byte)

// DocsPath is where the reference page is.
const DocsPath = "/_/docs"

// serveDocs returns GET /_/docs. Its frame is in the language that the visitor has chosen for the dashboard, or else in
// that of the browser.
func serveDocs(baseURL string, site page.Site, translated *Translated) handler {
	languages := translated.languages
	pages := make(map[*words.Catalog]func() docs.Document)
	for _, c := range languages.All() { // each is made at its first request
		pages[c] = sync.OnceValue(func() docs.Document { return docs.Page(baseURL, site, c) })
	}
	policy := docs.Policy(site)
	return func(ctx *fasthttp.RequestCtx, _ []byte) {
		h := &ctx.Request.Header
		language := languages.For(string(h.Cookie(page.LanguageCookie)), string(h.Peek(fasthttp.HeaderAcceptLanguage)))
		guardPage(ctx, policy)
		ctx.Response.Header.Set("Vary", "Accept-Language, Cookie")
		writeCompressed(ctx, pages[language](), "text/html; charset=utf-8")
	}
}

// ReadDocument is GET /openapi.json. The document is part of the program and holds no secret, so it
// needs neither token nor HTTPS.
func ReadDocument(ctx *fasthttp.RequestCtx, _ account.Caller) error {
	return writeOpenAPI(ctx, docs.OpenAPI)
}

// ReadDocument30 is GET /openapi-3.0.json.
func ReadDocument30(ctx *fasthttp.RequestCtx, _ account.Caller) error {
	return writeOpenAPI(ctx, docs.OpenAPI30())
}

func writeOpenAPI(ctx *fasthttp.RequestCtx, d docs.Document) error {
	if err := exchange.NoParameters(ctx); err != nil {
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

// writeCompressed does what writeDocument does, but compresses the body for clients that accept it.
// Calls of the API do not: their contract has no Content-Encoding.
func writeCompressed(ctx *fasthttp.RequestCtx, d docs.Document, contentType string) {
	h := &ctx.Response.Header
	writeDocument(ctx, d, contentType)
	if ctx.Response.StatusCode() == fasthttp.StatusNotModified {
		h.Add("Vary", "Accept-Encoding")
	} else if writeText(ctx, d.Text) {
		h.Set("ETag", "W/"+d.ETag) // a strong tag names bytes, and these are others
	}
}
