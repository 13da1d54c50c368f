package api

import (
	"bytes"
	"net"

	"github.com/valyala/fasthttp"

	"shunt/api/redirect"
)

// The plain listener beside HTTPS: it sends everybody there.

// RedirectConnections is how many clients may be connected to a plain listener at a time.
const RedirectConnections = 256

// challengePrefix begins the paths of ACME's http-01 challenges (RFC 8555, 8.3).
var challengePrefix = []byte("/.well-known/acme-challenge/")

// ServeRedirects redirects everything that comes to ln to BaseURL, until Shutdown, except for ACME challenges.
func (s *Server) ServeRedirects(ln net.Listener) error { return s.insecure.serve(ln) }

// handleInsecure redirects to the same path and query on BaseURL: the Host that a request names is anybody's. A day's cache lets
// browsers skip it, and its operator change his mind.
func (s *Server) handleInsecure(ctx *fasthttp.RequestCtx) {
	defer s.recovered(ctx)
	if s.drain.hasBegun() {
		ctx.SetConnectionClose()
	}
	target := originForm(ctx.Request.Header.RequestURI())
	if s.challenges != nil && bytes.HasPrefix(target, challengePrefix) {
		s.answerChallenge(ctx)
		return
	}
	status := fasthttp.StatusPermanentRedirect
	if ctx.IsGet() || ctx.IsHead() {
		status = fasthttp.StatusMovedPermanently
	}
	ctx.SetStatusCode(status)
	ctx.Response.Header.SetCanonical(headerLocation, append([]byte(s.baseURL), target...))
	ctx.Response.Header.SetCanonical(headerCacheControl, []byte("max-age=86400"))
}

// answerChallenge answers a challenge, or 404 without a reason: what autocert says of a refusal is for its log.
func (s *Server) answerChallenge(ctx *fasthttp.RequestCtx) {
	s.challenges(ctx)
	if ctx.Response.StatusCode() != fasthttp.StatusOK {
		ctx.Response.Reset()
		s.writePage(ctx, redirect.UnknownCode)
	}
}

// originForm returns path and query of a request target as they were sent: of an absolute-form target what follows the authority,
// of "*" the root.
func originForm(uri []byte) []byte {
	if len(uri) > 0 && uri[0] == '/' {
		return uri
	}
	_, after, _ := bytes.Cut(uri, []byte("://"))
	start := bytes.IndexAny(after, "/?")
	switch {
	case start < 0:
		return []byte{'/'}
	case after[start] == '?':
		return append([]byte{'/'}, after[start:]...)
	}
	return after[start:]
}

// headerHSTS lets browsers use nothing but HTTPS for a while (RFC 6797).
const headerHSTS = "Strict-Transport-Security"

// demandHTTPS adds that demand to an answer over HTTPS, where it counts. Redirects of known codes go without: whoever follows
// one stays on this host for no second request.
func (s *Server) demandHTTPS(ctx *fasthttp.RequestCtx) {
	if s.hsts != "" && ctx.IsTLS() {
		ctx.Response.Header.Set(headerHSTS, s.hsts)
	}
}
