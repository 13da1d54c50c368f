package public

import (
	"github.com/valyala/fasthttp"

	"shunt/api/exchange"
	"shunt/api/page"
	"shunt/api/problem"
	"shunt/api/redirect"
)

// Pages are the pages of this site.
type Pages struct{ *page.Set }

// Answer sends the page of an outcome, or a problem if the client prefers JSON.
func (s Pages) Answer(ctx *fasthttp.RequestCtx, o redirect.Outcome) {
	p := s.Error(o)
	h := &ctx.Response.Header
	h.Set("Vary", "Accept")
	if p.Kind == problem.Method {
		h.Set("Allow", "GET, HEAD")
	}
	if page.PrefersJSON(ctx.Request.Header.PeekAll("Accept")) {
		exchange.WriteProblem(ctx, problem.Problem{Kind: p.Kind, Detail: p.Detail})
		return
	}
	if p.Kind.RetryAfter != "" {
		h.Set("Retry-After", p.Kind.RetryAfter)
	}
	h.Set("Cache-Control", "no-store")
	ctx.SetStatusCode(p.Kind.Status)
	s.write(ctx, p.HTML)
}

// AnswerProblem sends a page that says what is wrong, or the problem if the client prefers JSON.
func (s Pages) AnswerProblem(ctx *fasthttp.RequestCtx, p problem.Problem) {
	h := &ctx.Response.Header
	h.Set("Vary", "Accept")
	if page.PrefersJSON(ctx.Request.Header.PeekAll("Accept")) {
		exchange.WriteProblem(ctx, p)
		return
	}
	if p.Kind.RetryAfter != "" {
		h.Set("Retry-After", p.Kind.RetryAfter)
	}
	h.Set("Cache-Control", "no-store")
	ctx.SetStatusCode(p.Kind.Status)
	s.writeOnce(ctx, s.Problem(p))
}

// write sends a page of the set with the header fields that every page has.
func (s Pages) write(ctx *fasthttp.RequestCtx, html page.Text) {
	guardPage(ctx, s.Policy)
	ctx.Response.Header.SetContentType("text/html; charset=utf-8")
	writeText(ctx, html)
}

// writeOnce does what write does with a page that is made for one request.
func (s Pages) writeOnce(ctx *fasthttp.RequestCtx, html []byte) {
	guardPage(ctx, s.Policy)
	ctx.Response.Header.SetContentType("text/html; charset=utf-8")
	ctx.Response.SetBodyRaw(html)
	compress(ctx)
}

// compress compresses the answer if the client accepts that.
var compress = fasthttp.CompressHandler(func(*fasthttp.RequestCtx) {})

// writeText sends the body of t, compressed if the client accepts that. It reports whether it is.
func writeText(ctx *fasthttp.RequestCtx, t page.Text) (compressed bool) {
	zipped := t.Gzip()
	if zipped == nil {
		ctx.Response.SetBodyRaw(t.Body)
		return false
	}
	h := &ctx.Response.Header
	h.Add("Vary", "Accept-Encoding")
	if !ctx.Request.Header.HasAcceptEncoding("gzip") {
		ctx.Response.SetBodyRaw(t.Body)
		return false
	}
	h.SetContentEncoding("gzip")
	ctx.Response.SetBodyRaw(zipped)
	return true
}

// guardPage restricts what browsers may do with an answer that they show: load only what policy
// allows, show it in no frame, take its type as sent, and send no Referer to the next site.
func guardPage(ctx *fasthttp.RequestCtx, policy string) {
	h := &ctx.Response.Header
	h.Set("Content-Security-Policy", policy)
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
}
