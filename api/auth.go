package api

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/exchange"
	"shunt/api/failures"
	"shunt/api/jsonbody"
	"shunt/api/problem"
	"shunt/api/wire/http1"
)

// userHeader names the user that a local command acts as.
const userHeader = "Shunt-User"

// An authenticate returns who makes a request. The network and the socket of local commands have
// one each.
type authenticate func(ctx *fasthttp.RequestCtx) (account.Caller, error)

// An authenticator identifies the caller of a request: by a token, by the cookie of a session, or
// by the fact that the request came through the socket in the data folder.
type authenticator struct {
	accounts *account.Accounts
	https    *httpsRule
	cookies  cookies
	pages    ownPages
	origins  origins
	failed   func() // counts a request without a valid token
	failures *failures.Log
	now      clock
}

// overNetwork identifies the caller by a token, or else by the cookie of a session. It refuses
// connections on which others could read either.
func (a *authenticator) overNetwork(ctx *fasthttp.RequestCtx) (account.Caller, error) {
	if err := a.https.require(ctx); err != nil {
		return account.Caller{}, err
	}
	token, found := bearerToken(ctx.Request.Header.Peek("Authorization"))
	if !found {
		return a.bySession(ctx)
	}
	caller, err := a.accounts.Authenticate(token)
	if errors.Is(err, account.ErrUnauthorized) {
		a.note(ctx, failures.Token)
		return account.Caller{}, a.unauthorized("the token is malformed, unknown, revoked or expired")
	}
	return caller, err
}

// unauthorized counts a request without a valid token, and returns the problem to answer it with.
func (a *authenticator) unauthorized(detail string) error {
	a.failed()
	return problem.New(problem.Unauthorized, "%s", detail)
}

// note logs that what failed for the client of a request. A session that has ended is no failure:
// every browser that was open for long would look like an attack. If a trusted proxy sends the
// request and does not name its client, the line names nobody, so that nobody locks the proxy out.
func (a *authenticator) note(ctx *fasthttp.RequestCtx, what failures.Kind) {
	proxies := a.https.proxies
	client := proxies.ClientAddr(ctx, http1.PeerAddr(ctx))
	if !isLimited(ctx) || proxies.Trust(client) {
		client = netip.Addr{}
	}
	a.failures.Note(what, client, exchange.RequestID(ctx), a.now.of(ctx))
}

// oneAuthorization refuses a request with two Authorization lines, even if they are equal: the
// field is not a list (RFC 9110, 11.6.2), so a proxy before us may have read the other one. The
// connection is closed, as after every request that could be read in two ways.
func oneAuthorization(ctx *fasthttp.RequestCtx) error {
	if len(ctx.Request.Header.PeekAll(fasthttp.HeaderAuthorization)) > 1 {
		ctx.SetConnectionClose()
		return problem.New(problem.BadRequest, "send only one Authorization field")
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

// bySession identifies the caller of a request without a token by the cookie of a session.
func (a *authenticator) bySession(ctx *fasthttp.RequestCtx) (account.Caller, error) {
	cookie := a.cookies.read(ctx)
	if cookie == "" {
		return account.Caller{}, a.unauthorized("send a token in the field Authorization: Bearer")
	}
	caller, err := a.accounts.AuthenticateSession(cookie)
	if errors.Is(err, account.ErrUnauthorized) {
		return account.Caller{}, a.unauthorized("the session has ended; log in again")
	}
	if err == nil && !ctx.IsGet() && !ctx.IsHead() {
		err = a.pages.require(ctx, true)
	}
	return caller, err
}

// sender returns the caller that sends h, if it has scope. Whether the request came over HTTPS and
// from a page of ours is checked when the body has arrived.
func (a *authenticator) sender(h *fasthttp.RequestHeader, scope account.Scope) (caller account.Caller, found bool) {
	if token, _ := bearerToken(h.Peek(fasthttp.HeaderAuthorization)); token != "" {
		caller, err := a.accounts.Authenticate(token)
		return caller, err == nil && caller.Has(scope)
	}
	return a.visitor(h, scope)
}

// visitor returns the caller whose session sends h, if it has scope.
func (a *authenticator) visitor(h *fasthttp.RequestHeader, scope account.Scope) (caller account.Caller, found bool) {
	for _, name := range []string{secureCookie, plainCookie} {
		if cookie := h.Cookie(name); len(cookie) > 0 {
			if caller, err := a.accounts.AuthenticateSession(string(cookie)); err == nil && caller.Has(scope) {
				return caller, true
			}
		}
	}
	return account.Caller{}, false
}

// overSocket identifies the caller of a local command. A user of the machine that can open the
// socket owns the data folder, which holds everything that tokens protect. So a command needs no
// token. It acts as the user that it names, or else as the oldest admin, which is created if there
// is no user yet.
func (a *authenticator) overSocket(ctx *fasthttp.RequestCtx) (account.Caller, error) {
	name := string(ctx.Request.Header.Peek(userHeader))
	if name == "" {
		u, _, err := a.accounts.EnsureAdmin()
		return account.CallerOf(u), err
	}
	u, err := a.accounts.UserByName(name)
	if errors.Is(err, account.ErrNoUser) {
		err = jsonbody.FieldError("user", "unknown", fmt.Sprintf("there is no user %q", name))
	}
	return account.CallerOf(u), err
}

// Origins say where requests come from.
type origins struct {
	proxies  *http1.Proxies
	networks bool // callers have the network of their client
}

// Of the address of a client, origins have this many bits: networks that providers give to a
// customer or more, so that no line of the audit log is about one machine.
const (
	originBits4 = 24
	originBits6 = 48
)

// of returns where a request that NameRequest has named came from.
func (o origins) of(ctx *fasthttp.RequestCtx) account.Origin {
	from := account.Origin{RequestID: exchange.RequestID(ctx), Local: !isLimited(ctx)}
	if o.networks && !from.Local {
		from.Network = originNetwork(o.proxies.ClientAddr(ctx, http1.PeerAddr(ctx)))
	}
	return from
}

func originNetwork(client netip.Addr) netip.Prefix {
	bits := originBits4
	if client.Is6() {
		bits = originBits6
	}
	network, _ := client.Prefix(bits) // fails only above the bits of the address
	return network
}
