package public

import (
	"bytes"
	"net/http"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttpadaptor"

	"shunt/api/exchange"
	"shunt/api/redirect"
	"shunt/api/urlpath"
	"shunt/engine"
)

// This file answers the plain HTTP listener of a server with HTTPS; it redirects every client to HTTPS.

// RedirectConnections is the limit of open connections to a plain listener.
const RedirectConnections = 256

// challengePrefix begins the paths of ACME's http-01 challenges (RFC 8555, 8.3).
var challengePrefix = []byte("/.well-known/acme-challenge/")

// An upgrader redirects requests over plain HTTP to HTTPS.
type upgrader struct {
	pages      Pages
	challenges fasthttp.RequestHandler // nil: none
}

// NewUpgrader returns what redirects to the base URL of the domain of a request. challenges answers http-01 challenges;
// nil: none.
func NewUpgrader(pages Pages, challenges http.Handler) *upgrader {
	u := &upgrader{pages: pages}
	if challenges != nil {
		u.challenges = fasthttpadaptor.NewFastHTTPHandler(challenges)
	}
	return u
}

// Answer redirects to the same path and query, as an address may have them, on the base URL of the domain, not on the
// Host of the request, which anybody can choose. Browsers may cache the redirect for a day: they skip the next ones,
// and an operator can still go back to plain HTTP.
func (u *upgrader) Answer(ctx *fasthttp.RequestCtx) {
	target := urlpath.OriginForm(ctx.Request.Header.RequestURI())
	if u.challenges != nil && bytes.HasPrefix(target, challengePrefix) {
		u.answerChallenge(ctx)
		return
	}
	status := fasthttp.StatusPermanentRedirect
	if ctx.IsGet() || ctx.IsHead() {
		status = fasthttp.StatusMovedPermanently
	}
	ctx.SetStatusCode(status)
	ctx.Response.Header.SetCanonical(exchange.NameLocation, engine.AppendASCII([]byte(u.pages.domain(ctx).BaseURL), target))
	ctx.Response.Header.SetCanonical(exchange.NameCacheControl, []byte("max-age=86400"))
}

// answerChallenge answers a challenge. A 404 has no reason: autocert's reason is meant for its log.
func (u *upgrader) answerChallenge(ctx *fasthttp.RequestCtx) {
	u.challenges(ctx)
	if ctx.Response.StatusCode() != fasthttp.StatusOK {
		ctx.Response.Reset()
		u.pages.Answer(ctx, redirect.UnknownCode)
	}
}
