package api

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strings"

	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/problem"
	"shunt/api/wire"
)

// userHeader names the user that a local command acts as.
const userHeader = "Shunt-User"

// A door is a way in to the API: it says who somebody is who comes through it.
type door func(ctx *fasthttp.RequestCtx) (account.Caller, error)

// publicDoor: whoever brings a token, or else the cookie of a session, over a connection that nobody listens in on.
func (s *Server) publicDoor(ctx *fasthttp.RequestCtx) (account.Caller, error) {
	if err := s.requireHTTPS(ctx); err != nil {
		return account.Caller{}, err
	}
	token, found := bearerToken(ctx.Request.Header.Peek("Authorization"))
	if !found {
		return s.sessionCaller(ctx)
	}
	caller, err := s.accounts.Authenticate(token)
	if errors.Is(err, account.ErrUnauthorized) {
		s.metrics.authFailures.Inc()
		return account.Caller{}, problem.New(problem.Unauthorized, "the token is malformed, unknown, revoked or expired")
	}
	return caller, err
}

// oneAuthorization refuses a request with two Authorization lines, also if they are equal: the field is not a list
// (RFC 9110, 11.6.2), so somebody before us may have read the other one. As after all that could be read in two ways, the
// connection is closed.
func oneAuthorization(ctx *fasthttp.RequestCtx) error {
	if len(ctx.Request.Header.PeekAll(fasthttp.HeaderAuthorization)) > 1 {
		ctx.SetConnectionClose()
		return problem.New(problem.BadRequest, "there must be only one Authorization")
	}
	return nil
}

// bearerToken returns the credentials of Authorization, if its scheme is Bearer (RFC 6750).
func bearerToken(authorization []byte) (token string, found bool) {
	scheme, credentials, found := bytes.Cut(authorization, []byte{' '})
	if !found || !strings.EqualFold(string(scheme), "Bearer") {
		return "", false
	}
	return string(bytes.TrimSpace(credentials)), true
}

// localDoor: whoever can open the socket in the data folder owns the folder, and all that tokens protect is in it. So
// it needs no token, and acts as the oldest admin, who is made if there is no user yet, or as whom it names.
func (s *Server) localDoor(ctx *fasthttp.RequestCtx) (account.Caller, error) {
	name := string(ctx.Request.Header.Peek(userHeader))
	if name == "" {
		u, _, err := s.accounts.EnsureAdmin()
		return account.CallerOf(u), err
	}
	u, err := s.accounts.UserByName(name)
	if errors.Is(err, account.ErrNoUser) {
		err = fieldError("user", "unknown", fmt.Sprintf("there is no user %q", name))
	}
	return account.CallerOf(u), err
}

// forwardingHeaders are what proxies add to a request. One from a peer that is not trusted means that the request
// came from elsewhere.
var forwardingHeaders = []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Host", "X-Real-Ip"}

// requireHTTPS refuses a request whose token others could have read: plain HTTP from another machine, as far as we
// can tell.
func (s *Server) requireHTTPS(ctx *fasthttp.RequestCtx) error {
	if s.allowHTTP || ctx.IsTLS() {
		return nil
	}
	peer := wire.PeerAddr(ctx)
	forwarded := s.forwarded(ctx)
	switch {
	case s.proxies.Trust(peer) && saysHTTPS(ctx):
		return nil
	case s.proxies.Trust(peer) && forwarded:
		return problem.New(problem.HTTPSRequired, "the proxy must say X-Forwarded-Proto: https")
	case !peer.IsLoopback():
		return problem.New(problem.HTTPSRequired, "use https://, or start the server with --allow-http")
	case forwarded:
		s.warnUntrustedProxy(peer)
		return problem.New(problem.HTTPSRequired, "a proxy that is not trusted passed this request on; name it with --trusted-proxy")
	}
	return nil
}

// forwarded tells whether a proxy has passed the request on.
func (s *Server) forwarded(ctx *fasthttp.RequestCtx) bool {
	for _, name := range forwardingHeaders {
		if hasValue(ctx, name) {
			return true
		}
	}
	return s.proxies.Header != "" && hasValue(ctx, s.proxies.Header)
}

// hasValue tells whether one of the lines of a header has a value: the first may be the client's, and empty.
func hasValue(ctx *fasthttp.RequestCtx, name string) bool {
	return slices.ContainsFunc(ctx.Request.Header.PeekAll(name), func(value []byte) bool { return len(value) > 0 })
}

// saysHTTPS tells whether the nearest proxy says that it was reached by HTTPS: the last value of the last line is its
// own.
func saysHTTPS(ctx *fasthttp.RequestCtx) bool {
	lines := ctx.Request.Header.PeekAll("X-Forwarded-Proto")
	if len(lines) == 0 {
		return false
	}
	last := lines[len(lines)-1]
	last = bytes.TrimSpace(last[bytes.LastIndexByte(last, ',')+1:])
	return strings.EqualFold(string(last), "https")
}

// warnUntrustedProxy says once that a proxy on this machine is not trusted. The log names its network only: no address of who
// asked is in it, whatever that is.
func (s *Server) warnUntrustedProxy(peer netip.Addr) {
	network := "127.0.0.0/8"
	if peer.Is6() {
		network = "::1"
	}
	s.warnedProxy.Do(func() {
		s.log.Warn("refused a request that a proxy passed on; if the proxy is yours, name it with --trusted-proxy",
			slog.String("network", network))
	})
}
