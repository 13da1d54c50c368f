package api

import (
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"strings"

	"github.com/valyala/fasthttp"

	"shunt/api/problem"
	"shunt/api/redirect"
)

// pageStyle is the style of all pages. It stands in them, so that a page is one request, and is let in by its hash.
const pageStyle = `
body { font: 1.1rem/1.5 system-ui, sans-serif; max-width: 32rem; margin: 20vh auto; padding: 0 1rem }
.address { font-family: ui-monospace, monospace; overflow-wrap: anywhere; padding: .5rem 1rem; border: 1px solid #8888 }
@media (prefers-color-scheme: dark) { body { background: #111; color: #ddd } a { color: #8bf } }
`

// pagePolicy lets a page have its style and nothing else.
var pagePolicy = policyFor(pageStyle)

// policyFor returns the policy of a page that has a style and nothing else.
func policyFor(style string) string {
	hash := sha256.Sum256([]byte(style))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(hash[:]) +
		"'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}

// The words in capitals are replaced. What stands for TITLE and TEXT is HTML already.
const pageHTML = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="robots" content="noindex">
<title>TITLE</title>
<style>STYLE</style>
<h1>TITLE</h1>
TEXT
</html>
`

// htmlPage returns a page. It goes over pageHTML once, so that nothing in title or text is replaced.
func htmlPage(title, text string) []byte {
	return []byte(strings.NewReplacer("STYLE", pageStyle, "TITLE", title, "TEXT", text).Replace(pageHTML))
}

// A page is how an outcome that is no redirect is shown.
type page struct {
	kind  *problem.Kind
	html  []byte
	plain string // the problem's detail
}

func newPage(k *problem.Kind, title, text string) page {
	return page{k, htmlPage(title, "<p>"+text+"</p>"), text}
}

var pages = [redirect.NumOutcomes]page{
	redirect.UnknownCode:     newPage(problem.NotFound, "No such link", "There is no link at this address. Mind upper and lower case."),
	redirect.Expired:         newPage(problem.Gone, "This link has expired", "This link expired and no longer works."),
	redirect.Exhausted:       newPage(problem.Gone, "This link is used up", "This link has reached its limit of uses."),
	redirect.StillLoading:    newPage(problem.Loading, "One moment", "This server has just been started and is reading its links."),
	redirect.WrongMethod:     newPage(problem.Method, "Not this way", "This address can only be opened, that is, with GET or HEAD."),
	redirect.TooManyMisses:   newPage(problem.RateLimited, "Too many wrong links", "Too many unknown addresses were requested from your network. Try again in a minute."),
	redirect.LocationTooLong: newPage(problem.URITooLong, "Too long", "With this query, the link leads to too long an address."),
	redirect.TargetBlocked:   newPage(problem.Blocked, "This link is blocked", "It leads to an address that this server does not lead to any more."),
}

// writePage answers with a page, or with a problem if the client would rather have JSON.
func writePage(ctx *fasthttp.RequestCtx, o redirect.Outcome) {
	p := &pages[o]
	h := &ctx.Response.Header
	h.Set("Vary", "Accept")
	if p.kind == problem.Method {
		h.Set("Allow", "GET, HEAD")
	}
	if prefersJSON(ctx) {
		writeProblem(ctx, problem.Problem{Kind: p.kind, Detail: p.plain})
		return
	}
	if p.kind.RetryAfter != "" {
		h.Set("Retry-After", p.kind.RetryAfter)
	}
	h.Set("Cache-Control", "no-store")
	ctx.SetStatusCode(p.kind.Status)
	writeHTML(ctx, p.html)
}

// writeHTML sends a page with what every page has in its header.
func writeHTML(ctx *fasthttp.RequestCtx, html []byte) {
	guardPage(ctx, pagePolicy)
	ctx.Response.Header.SetContentType("text/html; charset=utf-8")
	ctx.Response.SetBodyRaw(html)
}

// guardPage says to browsers what they may do with an answer that they show: no more than policy, in no frame, as the type that
// it has, and without telling the next site where they were.
func guardPage(ctx *fasthttp.RequestCtx, policy string) {
	h := &ctx.Response.Header
	h.Set("Content-Security-Policy", policy)
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
}

// prefersJSON tells whether Accept names JSON, and not HTML as much or more. Wildcards count for neither, so that
// curl and browsers get pages, and clients that write "application/json, */*" get JSON.
func prefersJSON(ctx *fasthttp.RequestCtx) bool {
	json, html := 0.0, 0.0
	for _, line := range ctx.Request.Header.PeekAll("Accept") {
		for part := range strings.SplitSeq(string(line), ",") {
			mediaType, parameters, _ := strings.Cut(part, ";")
			switch strings.ToLower(strings.TrimSpace(mediaType)) {
			case "application/json", "application/problem+json":
				json = max(json, quality(parameters))
			case "text/html", "application/xhtml+xml":
				html = max(html, quality(parameters))
			}
		}
	}
	return json > html
}

// quality returns the q of a media range's parameters (RFC 9110, 12.4.2): 1 if there is none, 0 if it is malformed.
func quality(parameters string) float64 {
	for p := range strings.SplitSeq(parameters, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(p), "=")
		if !strings.EqualFold(name, "q") {
			continue
		}
		q, err := strconv.ParseFloat(value, 64)
		if err != nil || !(q >= 0 && q <= 1) {
			return 0
		}
		return q
	}
	return 1
}
