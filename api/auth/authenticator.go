package auth

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

// An Authenticate returns who makes a request. The network and the socket of local commands have
// one each.
type Authenticate func(ctx *fasthttp.RequestCtx) (account.Caller, error)

// An Authenticator identifies the caller of a request: by a token, by the cookie of a session, or
// by the fact that the request came through the socket in the data folder.
type Authenticator struct {
	Accounts *account.Accounts
	HTTPS    *HTTPS
	Cookies  Cookies
	Pages    OwnPages
	Origins  Origins
	Failed   func() // counts a request without a valid token
	Failures *failures.Log
	Now      exchange.Clock
	NoUsers  bool // this server is an edge
}

// OverNetwork identifies the caller by a token, or else by the cookie of a session. It refuses
// connections on which others could read either.
func (a *Authenticator) OverNetwork(ctx *fasthttp.RequestCtx) (account.Caller, error) {
	if err := a.HTTPS.Require(ctx); err != nil {
		return account.Caller{}, err
	}
	token, found := bearerToken(ctx.Request.Header.Peek("Authorization"))
	if !found {
		return a.bySession(ctx)
	}
	return a.byToken(ctx, token)
}

// ByToken is OverNetwork for a token that the client has sent elsewhere.
func (a *Authenticator) ByToken(ctx *fasthttp.RequestCtx, token string) (account.Caller, error) {
	if err := a.HTTPS.Require(ctx); err != nil {
		return account.Caller{}, err
	}
	return a.byToken(ctx, token)
}

func (a *Authenticator) byToken(ctx *fasthttp.RequestCtx, token string) (account.Caller, error) {
	caller, err := a.Accounts.Authenticate(token)
	if errors.Is(err, account.ErrUnauthorized) {
		a.Note(ctx, failures.Token)
		return account.Caller{}, a.Unauthorized("the token is malformed, unknown, revoked or expired")
	}
	return caller, err
}

// Edge returns the name of the edge that passes a request on, by its token, which is not the client's.
func (a *Authenticator) Edge(ctx *fasthttp.RequestCtx, token string) (name string, err error) {
	if err := a.HTTPS.Require(ctx); err != nil {
		return "", err
	}
	caller, err := a.Accounts.Authenticate(token)
	if errors.Is(err, account.ErrUnauthorized) || err == nil && caller.Edge == "" {
		a.Note(ctx, failures.Token)
		return "", a.Unauthorized("the token of the edge is malformed, unknown, revoked or expired, or is not that of an edge")
	}
	return caller.Edge, err
}

// Unauthorized counts a request without a valid token, and returns the problem to answer it with.
func (a *Authenticator) Unauthorized(detail string) error {
	a.Failed()
	return problem.New(problem.Unauthorized, "%s", detail)
}

// Note logs that what failed for the client of a request. A session that has ended is no failure:
// every browser that was open for long would look like an attack. If a trusted proxy sends the
// request and does not name its client, the line names nobody, so that nobody locks the proxy out.
func (a *Authenticator) Note(ctx *fasthttp.RequestCtx, what failures.Kind) {
	proxies := a.HTTPS.Proxies
	client := proxies.ClientAddr(ctx, http1.PeerAddr(ctx))
	if !isLimited(ctx) || proxies.Trust(client) {
		client = netip.Addr{}
	}
	a.Failures.Note(what, client, exchange.RequestID(ctx), a.Now.Of(ctx))
}

// OneAuthorization refuses a request with two Authorization lines, even if they are equal: the
// field is not a list (RFC 9110, 11.6.2), so a proxy before us may have read the other one. The
// connection is closed, as after every request that could be read in two ways.
func OneAuthorization(ctx *fasthttp.RequestCtx) error {
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
func (a *Authenticator) bySession(ctx *fasthttp.RequestCtx) (account.Caller, error) {
	cookie := a.Cookies.Read(ctx)
	if cookie == "" {
		return account.Caller{}, a.Unauthorized("send a token in the field Authorization: Bearer")
	}
	caller, err := a.Accounts.AuthenticateSession(cookie)
	if errors.Is(err, account.ErrUnauthorized) {
		return account.Caller{}, a.Unauthorized("the session has ended; log in again")
	}
	if err == nil && !ctx.IsGet() && !ctx.IsHead() {
		err = a.Pages.Require(ctx, true)
	}
	return caller, err
}

// Sender returns the caller that sends h, if it has scope. Whether the request came over HTTPS and
// from a page of ours is checked when the body has arrived.
func (a *Authenticator) Sender(h *fasthttp.RequestHeader, scope account.Scope) (caller account.Caller, found bool) {
	if token, _ := bearerToken(h.Peek(fasthttp.HeaderAuthorization)); token != "" {
		caller, err := a.Accounts.Authenticate(token)
		return caller, err == nil && caller.Has(scope)
	}
	return a.Visitor(h, scope)
}

// Visitor returns the caller whose session sends h, if it has scope.
func (a *Authenticator) Visitor(h *fasthttp.RequestHeader, scope account.Scope) (caller account.Caller, found bool) {
	for _, name := range []string{secureCookie, plainCookie} {
		if cookie := h.Cookie(name); len(cookie) > 0 {
			if caller, err := a.Accounts.AuthenticateSession(string(cookie)); err == nil && caller.Has(scope) {
				return caller, true
			}
		}
	}
	return account.Caller{}, false
}

// OverSocket identifies the caller of a local command. A user of the machine that can open the
// socket owns the data folder, which holds everything that tokens protect. So a command needs no
// token. It acts as the user that it names, or else as the oldest admin, which is created if there
// is no user yet. Where there are no users it acts as an admin without a number.
func (a *Authenticator) OverSocket(ctx *fasthttp.RequestCtx) (account.Caller, error) {
	name := string(ctx.Request.Header.Peek(userHeader))
	if a.NoUsers {
		return account.CallerOf(account.User{Role: account.RoleAdmin}), nil
	}
	if name == "" {
		u, _, err := a.Accounts.EnsureAdmin()
		return account.CallerOf(u), err
	}
	u, err := a.Accounts.UserByName(name)
	if errors.Is(err, account.ErrNoUser) {
		err = jsonbody.FieldError("user", "unknown", fmt.Sprintf("there is no user %q", name))
	}
	return account.CallerOf(u), err
}
