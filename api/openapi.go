package api

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/valyala/fasthttp"

	"shunt/api/account"
)

// documentText describes the API for programs (OpenAPI 3.1). It is written by hand; the tests hold every answer of theirs
// against it, and the reference page is made from it (docs.go).
//
//go:embed openapi.json
var documentText []byte

// A document is an answer that is the same for everybody, with its entity tag.
type document struct {
	body []byte
	etag string
}

func newDocument(body []byte) document {
	hash := sha256.Sum256(body)
	return document{body, `"` + base64.RawURLEncoding.EncodeToString(hash[:12]) + `"`}
}

// openAPIDocument is documentText without the white space that is for people: half of it.
var openAPIDocument = func() document {
	var compact bytes.Buffer
	if err := json.Compact(&compact, documentText); err != nil {
		panic(fmt.Sprintf("api: openapi.json: %v", err)) // it is part of the program
	}
	return newDocument(compact.Bytes())
}()

// readDocument is GET /openapi.json. It says nothing that is not in the program, so it needs neither token nor HTTPS.
func (s *Server) readDocument(ctx *fasthttp.RequestCtx, _ account.Caller) error {
	return writeOpenAPI(ctx, openAPIDocument)
}

// readDocument30 is GET /openapi-3.0.json.
func (s *Server) readDocument30(ctx *fasthttp.RequestCtx, _ account.Caller) error {
	return writeOpenAPI(ctx, openAPI30Document())
}

func writeOpenAPI(ctx *fasthttp.RequestCtx, d document) error {
	if err := noParameters(ctx); err != nil {
		return err
	}
	ctx.Response.Header.Set("X-Content-Type-Options", "nosniff")
	d.write(ctx, "application/json")
	return nil
}

// write answers with d, or with 304 if the client has it. Five minutes' cache: a new version of the program is a new document.
func (d *document) write(ctx *fasthttp.RequestCtx, contentType string) {
	h := &ctx.Response.Header
	h.Set("Cache-Control", "public, max-age=300")
	h.Set("ETag", d.etag)
	if d.isIn(ctx.Request.Header.PeekAll(fasthttp.HeaderIfNoneMatch)) {
		ctx.SetStatusCode(fasthttp.StatusNotModified)
		return
	}
	h.SetContentType(contentType)
	ctx.Response.SetBodyRaw(d.body)
}

// isIn tells whether lines of If-None-Match name d: a weak tag is as good as a strong one (RFC 9110, 13.1.2).
func (d *document) isIn(lines [][]byte) bool {
	for _, line := range lines {
		for tag := range strings.SplitSeq(string(line), ",") {
			tag = strings.TrimPrefix(strings.TrimSpace(tag), "W/")
			if tag == "*" || tag == d.etag {
				return true
			}
		}
	}
	return false
}
