package auth

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
	"shunt/api/relay"
	"shunt/api/wire/http1"
)

// HTTPS refuses requests whose secrets others could have read on the way.
type HTTPS struct {
	Proxies    *http1.Proxies
	AllowHTTP  bool // secrets may come over plain HTTP from anywhere
	SecureBase bool // the base URL begins with https
	Log        *slog.Logger
	warned     sync.Once // by warnUntrustedProxy
}

// forwarding are the header fields, spelled as fasthttp spells them, that proxies add to a request. If a peer that is
// not trusted sends one, the request came from elsewhere.
var forwarding = []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Host", "X-Real-Ip"}

// DropForwarding removes what proxies say of the client of a request that another server passes on, which has said
// itself who that is.
func DropForwarding(h *fasthttp.RequestHeader, p *http1.Proxies) {
	for _, name := range forwarding {
		h.Del(name)
	}
	for _, name := range []string{p.Header, p.CountryHeader, p.HostHeader} {
		if name != "" {
			h.Del(name)
		}
	}
}

// Require refuses a request whose token others could have read: one over plain HTTP from another
// machine, as far as the server can tell.
func (r *HTTPS) Require(ctx *fasthttp.RequestCtx) error {
	if r.AllowHTTP || relay.OverTLS(ctx) {
		return nil
	}
	peer := http1.PeerAddr(ctx)
	forwarded := r.forwarded(ctx)
	switch {
	case r.Proxies.Trust(peer) && saysHTTPS(ctx):
		return nil
	case r.Proxies.Trust(peer) && forwarded:
		return problem.New(problem.HTTPSRequired, "the proxy must send X-Forwarded-Proto: https")
	case !peer.IsLoopback():
		return problem.New(problem.HTTPSRequired, "use https://, or start the server with --allow-http")
	case forwarded:
		r.warnUntrustedProxy(peer)
		return problem.New(problem.HTTPSRequired, "this request came through a proxy that is not trusted; name the proxy with --trusted-proxy")
	}
	return nil
}

// Reached reports whether the browser used HTTPS, as far as the server can tell.
func (r *HTTPS) Reached(ctx *fasthttp.RequestCtx) bool {
	return relay.OverTLS(ctx) || r.Proxies.Trust(http1.PeerAddr(ctx)) && saysHTTPS(ctx) || r.AllowHTTP && r.SecureBase
}

// forwarded reports whether a proxy has passed the request on.
func (r *HTTPS) forwarded(ctx *fasthttp.RequestCtx) bool {
	for name, value := range ctx.Request.Header.All() {
		if len(value) > 0 && slices.Contains(forwarding, string(name)) {
			return true
		}
	}
	p := r.Proxies
	return p.Header != "" && hasValue(ctx, p.Header) || p.HostHeader != "" && hasValue(ctx, p.HostHeader)
}

// hasValue reports whether any line of a header field has a value. It checks all lines, because the
// first may be the client's own, and empty.
func hasValue(ctx *fasthttp.RequestCtx, name string) bool {
	return slices.ContainsFunc(ctx.Request.Header.PeekAll(name), func(value []byte) bool { return len(value) > 0 })
}

// saysHTTPS reports whether the nearest proxy was reached by HTTPS, by its own word: the last value
// of the last line is from that proxy.
func saysHTTPS(ctx *fasthttp.RequestCtx) bool {
	lines := ctx.Request.Header.PeekAll("X-Forwarded-Proto")
	if len(lines) == 0 {
		return false
	}
	last := lines[len(lines)-1]
	last = bytes.TrimSpace(last[bytes.LastIndexByte(last, ',')+1:])
	return strings.EqualFold(string(last), "https")
}

// warnUntrustedProxy logs once that a proxy on this machine is not trusted. It names only the
// proxy's network, because no line but that of a failed login or a refused token (package failures)
// has the address of a client, whatever that address is.
func (r *HTTPS) warnUntrustedProxy(peer netip.Addr) {
	network := "127.0.0.0/8"
	if peer.Is6() {
		network = "::1"
	}
	r.warned.Do(func() {
		r.Log.Warn("refused a request from a proxy that is not trusted; if the proxy is yours, name it with --trusted-proxy",
			slog.String("network", network))
	})
}

// headerHSTS makes browsers use only HTTPS for a while (RFC 6797).
const headerHSTS = "Strict-Transport-Security"

// HSTS is the value of Strict-Transport-Security; empty: none.
type HSTS string

// NewHSTS returns the value for a time; 0: none.
func NewHSTS(maxAge time.Duration) HSTS {
	if maxAge <= 0 {
		return ""
	}
	return HSTS(fmt.Sprintf("max-age=%d", int64(maxAge/time.Second)))
}

// Demand adds the field to an answer over HTTPS; over plain HTTP browsers ignore it. Redirects of
// known codes do without: a visitor that follows one makes no second request to this host.
func (h HSTS) Demand(ctx *fasthttp.RequestCtx) {
	if h != "" && ctx.IsTLS() {
		ctx.Response.Header.Set(headerHSTS, string(h))
	}
}
