package api

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/jsonbody"
	"shunt/api/problem"
)

// userHeader names the user that a local command acts as.
const userHeader = "Shunt-User"

// An authenticate returns who makes a request. There is one for each way in to the API.
type authenticate func(ctx *fasthttp.RequestCtx) (account.Caller, error)

// An authenticator says who makes a request: by a token, by the cookie of a session, or because the
// request came through the socket in the data folder.
type authenticator struct {
	accounts *account.Accounts
	https    *httpsRule
	cookies  cookies
	pages    ownPages
	failed   func() // counts a request without a valid token
}

// overNetwork knows callers by a token, or else by the cookie of a session, over a connection that
// nobody listens in on.
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
		return account.Caller{}, a.unauthorized("the token is malformed, unknown, revoked or expired")
	}
	return caller, err
}

// unauthorized counts a request without a valid token, and returns the problem that it gets.
func (a *authenticator) unauthorized(detail string) error {
	a.failed()
	return problem.New(problem.Unauthorized, "%s", detail)
}

// oneAuthorization refuses a request with two Authorization lines, even if they are equal: the
// field is not a list (RFC 9110, 11.6.2), so a proxy before us may have read the other one. As
// after everything that could be read in two ways, the connection is closed.
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

// bySession knows the caller of a request without a token by the cookie of a session.
func (a *authenticator) bySession(ctx *fasthttp.RequestCtx) (account.Caller, error) {
	cookie := a.cookies.read(ctx)
	if cookie == "" {
		return account.Caller{}, a.unauthorized("send Authorization: Bearer and a token")
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

// sender returns the caller that sends h, if it has scope. The other questions (was the request
// sent by the right scheme, from a page of ours?) are asked when the body has arrived.
func (a *authenticator) sender(h *fasthttp.RequestHeader, scope account.Scope) (caller account.Caller, found bool) {
	if token, _ := bearerToken(h.Peek(fasthttp.HeaderAuthorization)); token != "" {
		caller, err := a.accounts.Authenticate(token)
		return caller, err == nil && caller.Has(scope)
	}
	for _, name := range []string{secureCookie, plainCookie} {
		if cookie := h.Cookie(name); len(cookie) > 0 {
			if caller, err := a.accounts.AuthenticateSession(string(cookie)); err == nil && caller.Has(scope) {
				return caller, true
			}
		}
	}
	return account.Caller{}, false
}

// overSocket knows the caller of a local command. The user who can open the socket in the data
// folder owns the folder, and all that tokens protect is in it. So a command needs no token, and
// acts as the oldest admin, who is made if there is no user yet, or as the user that it names.
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
