package api

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/problem"
	"shunt/api/wire"
)

// A httpsRule refuses requests whose secrets others could have read on the way.
type httpsRule struct {
	proxies    *wire.Proxies
	allowHTTP  bool // secrets may come over plain HTTP from anywhere
	secureBase bool // the base URL is of HTTPS
	log        *slog.Logger
	warned     sync.Once // that a proxy on this machine is not trusted
}

// forwardingHeaders are what proxies add to a request. One from a peer that is not trusted means
// that the request came from elsewhere.
var forwardingHeaders = []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Host", "X-Real-Ip"}

// require refuses a request whose token others could have read: plain HTTP from another machine, as
// far as we can tell.
func (r *httpsRule) require(ctx *fasthttp.RequestCtx) error {
	if r.allowHTTP || ctx.IsTLS() {
		return nil
	}
	peer := wire.PeerAddr(ctx)
	forwarded := r.forwarded(ctx)
	switch {
	case r.proxies.Trust(peer) && saysHTTPS(ctx):
		return nil
	case r.proxies.Trust(peer) && forwarded:
		return problem.New(problem.HTTPSRequired, "the proxy must say X-Forwarded-Proto: https")
	case !peer.IsLoopback():
		return problem.New(problem.HTTPSRequired, "use https://, or start the server with --allow-http")
	case forwarded:
		r.warnUntrustedProxy(peer)
		return problem.New(problem.HTTPSRequired, "a proxy that is not trusted passed this request on; name it with --trusted-proxy")
	}
	return nil
}

// reached reports whether the browser reached us by HTTPS, as far as we can tell.
func (r *httpsRule) reached(ctx *fasthttp.RequestCtx) bool {
	return ctx.IsTLS() || r.proxies.Trust(wire.PeerAddr(ctx)) && saysHTTPS(ctx) || r.allowHTTP && r.secureBase
}

// forwarded reports whether a proxy has passed the request on.
func (r *httpsRule) forwarded(ctx *fasthttp.RequestCtx) bool {
	for _, name := range forwardingHeaders {
		if hasValue(ctx, name) {
			return true
		}
	}
	return r.proxies.Header != "" && hasValue(ctx, r.proxies.Header)
}

// hasValue reports whether one of the lines of a header has a value: the first may be the client's,
// and empty.
func hasValue(ctx *fasthttp.RequestCtx, name string) bool {
	return slices.ContainsFunc(ctx.Request.Header.PeekAll(name), func(value []byte) bool { return len(value) > 0 })
}

// saysHTTPS reports whether the nearest proxy says that it was reached by HTTPS: the last value of
// the last line is its own.
func saysHTTPS(ctx *fasthttp.RequestCtx) bool {
	lines := ctx.Request.Header.PeekAll("X-Forwarded-Proto")
	if len(lines) == 0 {
		return false
	}
	last := lines[len(lines)-1]
	last = bytes.TrimSpace(last[bytes.LastIndexByte(last, ',')+1:])
	return strings.EqualFold(string(last), "https")
}

// warnUntrustedProxy says once that a proxy on this machine is not trusted. The log names its
// network only: no log line has the address of anybody who asked, whatever that address is.
func (r *httpsRule) warnUntrustedProxy(peer netip.Addr) {
	network := "127.0.0.0/8"
	if peer.Is6() {
		network = "::1"
	}
	r.warned.Do(func() {
		r.log.Warn("refused a request that a proxy passed on; if the proxy is yours, name it with --trusted-proxy",
			slog.String("network", network))
	})
}

// headerHSTS lets browsers use nothing but HTTPS for a while (RFC 6797).
const headerHSTS = "Strict-Transport-Security"

// hsts is the value of Strict-Transport-Security; empty: none.
type hsts string

func newHSTS(maxAge time.Duration) hsts {
	if maxAge <= 0 {
		return ""
	}
	return hsts(fmt.Sprintf("max-age=%d", int64(maxAge/time.Second)))
}

// demand adds the field to an answer over HTTPS, where it counts. Redirects of known codes go
// without: a visitor who follows one makes no second request to this host.
func (h hsts) demand(ctx *fasthttp.RequestCtx) {
	if h != "" && ctx.IsTLS() {
		ctx.Response.Header.Set(headerHSTS, string(h))
	}
}
