package api

import (
	"encoding/json"
	"errors"

	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/auth"
	"shunt/api/exchange"
	"shunt/api/failures"
	"shunt/api/jsonbody"
	"shunt/api/ops"
	"shunt/api/turnstile"
)

// accountCalls are the calls about sessions, users and tokens.
type accountCalls struct {
	accounts *account.Accounts
	calls    *ops.Calls
	auth     *auth.Authenticator
	limiter  *auth.Limiter
	baseURL  string

	noDashboard bool // so nobody can use a setup link
}

// credentials are the body of POST /session.
type credentials struct{ email, password string }

var credentialFields = jsonbody.NewFields(map[string]jsonbody.Reader[credentials]{
	"email": func(c *credentials, value json.RawMessage) (err error) {
		c.email, err = jsonbody.String(value)
		return err
	},
	"password": func(c *credentials, value json.RawMessage) (err error) {
		c.password, err = jsonbody.String(value)
		return err
	},
})

// beginSession is POST /session.
func (a *accountCalls) beginSession(ctx *fasthttp.RequestCtx, _ account.Caller) error {
	asked, err := a.readCredentials(ctx)
	if err != nil {
		return err
	}
	caller, err := a.logIn(ctx, asked.email, asked.password)
	if err != nil {
		return err
	}
	return exchange.WriteJSON(ctx, fasthttp.StatusOK, a.meObject(caller))
}

// logIn begins a session if the password is right, and sets its cookie. It counts the attempt if
// the password is wrong.
func (a *accountCalls) logIn(ctx *fasthttp.RequestCtx, email, password string) (account.Caller, error) {
	cookie := ""
	caller, err := a.tryPassword(ctx, email, func(from turnstile.Key) (caller account.Caller, err error) {
		caller, cookie, err = a.accounts.LogIn(from, email, password)
		return caller, err
	})
	if err == nil {
		err = a.enter(ctx, &caller, cookie)
	}
	return caller, err
}

// byPassword returns the caller that has sent a password with a request of its own, without a session.
func (a *accountCalls) byPassword(ctx *fasthttp.RequestCtx, email, password string) (account.Caller, error) {
	if err := a.auth.HTTPS.Require(ctx); err != nil {
		return account.Caller{}, err
	}
	return a.tryPassword(ctx, email, func(from turnstile.Key) (account.Caller, error) {
		return a.accounts.AuthenticatePassword(from, email, password)
	})
}

// tryPassword calls try, which compares a password, for a client that may try one. It counts the attempt if the
// password is wrong.
func (a *accountCalls) tryPassword(
	ctx *fasthttp.RequestCtx, email string, try func(from turnstile.Key) (account.Caller, error),
) (account.Caller, error) {
	if err := a.limiter.MayLogIn(ctx, email); err != nil {
		return account.Caller{}, err
	}
	caller, err := try(auth.StrangerKey(ctx, a.limiter.Proxies))
	if err == nil || errors.Is(err, account.ErrOverloaded) {
		a.limiter.HasNotTried(ctx, email)
	}
	if errors.Is(err, account.ErrUnauthorized) {
		a.auth.Note(ctx, failures.Login)
		return account.Caller{}, a.auth.Unauthorized("the e-mail address or the password is wrong")
	}
	return caller, err
}

// enter answers a request with the cookie of the session that it has begun. The session whose cookie
// it came with ends, whoever's it was: the browser forgets that cookie, so nobody could log it out.
// If that cannot be written, the request fails, and no one has the cookie of the new session.
func (a *accountCalls) enter(ctx *fasthttp.RequestCtx, caller *account.Caller, cookie string) error {
	if err := a.accounts.EndSession(a.auth.Cookies.Read(ctx)); err != nil {
		return err
	}
	a.auth.Cookies.Set(ctx, cookie, account.SessionLifetime)
	caller.Origin = a.auth.Origins.Of(ctx)
	return nil
}

func (a *accountCalls) readCredentials(ctx *fasthttp.RequestCtx) (c credentials, err error) {
	if err := a.auth.HTTPS.Require(ctx); err != nil {
		return c, err
	}
	if err := a.auth.Pages.Require(ctx, false); err != nil { // no page of another origin may log a visitor in
		return c, err
	}
	if err := exchange.NoParameters(ctx); err != nil {
		return c, err
	}
	sent, invalid, err := exchange.ReadBody(ctx, &c, credentialFields)
	if err == nil && len(invalid) > 0 {
		err = invalid
	}
	if err == nil && len(sent) < len(credentialFields) {
		err = jsonbody.FieldError("", "required", "email and password must both be given")
	}
	return c, err
}

// endSession is DELETE /session. It succeeds for a caller without a session, too.
func (a *accountCalls) endSession(ctx *fasthttp.RequestCtx, _ account.Caller) error {
	if err := a.auth.HTTPS.Require(ctx); err != nil {
		return err
	}
	cookie := a.auth.Cookies.Read(ctx)
	if err := a.auth.Pages.Require(ctx, cookie != ""); err != nil {
		return err
	}
	if err := exchange.NoParameters(ctx); err != nil {
		return err
	}
	if err := a.logOut(ctx); err != nil {
		return err
	}
	ctx.SetStatusCode(fasthttp.StatusNoContent)
	return nil
}

// logOut ends the session of the cookie, if there is one, and removes the cookie.
func (a *accountCalls) logOut(ctx *fasthttp.RequestCtx) error {
	if err := a.accounts.EndSession(a.auth.Cookies.Read(ctx)); err != nil {
		return err
	}
	a.auth.Cookies.Set(ctx, "", 0)
	return nil
}
