package relay

import (
	"context"
	"io"
	"net/http"
	"net/url"

	"github.com/valyala/fasthttp"
)

// RequestIDField is the id of a request, which is one on both servers.
const RequestIDField = "X-Request-Id"

// ofOneConnection are fields that concern one connection (RFC 9110, 7.6.1), and Expect, whose answer has been given.
var ofOneConnection = []string{
	fasthttp.HeaderConnection, fasthttp.HeaderExpect, fasthttp.HeaderTrailer, fasthttp.HeaderTE, fasthttp.HeaderUpgrade,
	"Keep-Alive", "Proxy-Connection",
}

// Prepare makes req the request of ctx as it goes on, without the fields of one connection, and without own, which the
// caller sets.
func Prepare(req *fasthttp.Request, ctx *fasthttp.RequestCtx, own ...string) {
	ctx.Request.CopyTo(req)
	h := &req.Header
	for _, field := range own {
		h.Del(field)
	}
	for _, field := range ofOneConnection {
		h.Del(field)
	}
	_ = h.SetTrailer("") // fasthttp would leave out the fields that it names
	h.SetBytesV(RequestIDField, ctx.Response.Header.Peek(RequestIDField))
}

// To returns the request of sent as it goes to a server: scheme and host as in at, and then target, which begins with
// one slash and is sent byte by byte. The caller sets its Host.
func To(ctx context.Context, at, target string, sent *fasthttp.Request, body io.Reader) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, string(sent.Header.Method()), at, body)
	if err != nil {
		return nil, err
	}
	req.URL = &url.URL{Scheme: req.URL.Scheme, Host: req.URL.Host, Opaque: target}
	for key, value := range sent.Header.All() {
		if name := http.CanonicalHeaderKey(string(key)); name != fasthttp.HeaderHost && name != fasthttp.HeaderContentLength {
			req.Header.Add(name, string(value))
		}
	}
	if len(req.Header[fasthttp.HeaderUserAgent]) == 0 {
		req.Header.Set(fasthttp.HeaderUserAgent, "") // or net/http names itself
	}
	return req, nil
}
