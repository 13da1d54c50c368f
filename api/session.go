package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/problem"
	"shunt/api/wire"
)

// The cookie of a session. Over HTTPS its name begins with __Host-, which browsers take only with Secure, from this very
// host, for all of its paths: no neighbouring host can put one of its own there. Over plain HTTP, which is for loopback and
// --allow-http, it is neither: Safari keeps no Secure cookie of http://localhost, and browsers have disagreed on whether a
// __Host- one may come from there (httpwg/http-extensions#2605). Each name is looked at only over its own scheme.
const (
	secureCookie = "__Host-shunt_session"
	plainCookie  = "shunt_session"
)

// byHTTPS tells whether the browser reached us by HTTPS, as far as we can tell.
func (s *Server) byHTTPS(ctx *fasthttp.RequestCtx) bool {
	return ctx.IsTLS() || s.proxies.Trust(wire.PeerAddr(ctx)) && saysHTTPS(ctx) ||
		s.allowHTTP && strings.HasPrefix(s.baseURL, "https://")
}

func (s *Server) cookieName(ctx *fasthttp.RequestCtx) string {
	if s.byHTTPS(ctx) {
		return secureCookie
	}
	return plainCookie
}

// setCookie lets the browser keep a session's cookie for that long; 0 takes it away.
func (s *Server) setCookie(ctx *fasthttp.RequestCtx, value string, age time.Duration) {
	name := s.cookieName(ctx)
	cookie := fmt.Sprintf("%s=%s; Path=/; Max-Age=%d; HttpOnly; SameSite=Strict", name, value, int(age.Seconds()))
	if name == secureCookie {
		cookie += "; Secure"
	}
	ctx.Response.Header.Set("Set-Cookie", cookie)
}

// sessionCaller is who a request without a token comes from: whoever has logged in.
func (s *Server) sessionCaller(ctx *fasthttp.RequestCtx) (account.Caller, error) {
	cookie := ctx.Request.Header.Cookie(s.cookieName(ctx))
	if len(cookie) == 0 {
		s.metrics.authFailures.Inc()
		return account.Caller{}, problem.New(problem.Unauthorized, "send Authorization: Bearer and a token")
	}
	caller, err := s.accounts.AuthenticateSession(string(cookie))
	if errors.Is(err, account.ErrUnauthorized) {
		s.metrics.authFailures.Inc()
		return account.Caller{}, problem.New(problem.Unauthorized, "the session has ended; log in again")
	}
	if err == nil && !ctx.IsGet() && !ctx.IsHead() {
		err = s.requireOwnPage(ctx, true)
	}
	return caller, err
}

// requireOwnPage refuses a request that a page of another origin made a browser send. Browsers say where a request comes from
// in Sec-Fetch-Site, older ones in Origin; no page can change either. strict refuses requests that say neither, too.
func (s *Server) requireOwnPage(ctx *fasthttp.RequestCtx, strict bool) error {
	site, origin := ctx.Request.Header.Peek("Sec-Fetch-Site"), ctx.Request.Header.Peek("Origin")
	own := !strict
	switch {
	case len(site) > 0:
		own = string(site) == "same-origin"
	case len(origin) > 0:
		own = string(origin) == originOf(s.baseURL)
	}
	if !own {
		return problem.New(problem.Forbidden, "with a session, changes can be asked for by the pages of this server only")
	}
	return nil
}

// originOf returns the origin of a base URL as browsers write it: without the scheme's own port.
func originOf(baseURL string) string {
	u, err := url.Parse(baseURL)
	if err != nil { // it was read at start
		return ""
	}
	host := strings.ToLower(u.Host)
	if port := u.Port(); u.Scheme == "http" && port == "80" || u.Scheme == "https" && port == "443" {
		host = strings.TrimSuffix(host, ":"+port)
	}
	return u.Scheme + "://" + host
}

// credentials are the body of POST /session.
type credentials struct{ email, password string }

var credentialFields = map[string]fieldReader[credentials]{
	"email": func(c *credentials, value json.RawMessage) (err error) {
		c.email, err = readString(value)
		return err
	},
	"password": func(c *credentials, value json.RawMessage) (err error) {
		c.password, err = readString(value)
		return err
	},
}

// beginSession is POST /session.
func (s *Server) beginSession(ctx *fasthttp.RequestCtx, _ account.Caller) error {
	asked, err := s.readCredentials(ctx)
	if err != nil {
		return err
	}
	if err := s.mayLogIn(ctx, asked.email); err != nil {
		return err
	}
	caller, cookie, err := s.accounts.LogIn(s.strangerKey(ctx), asked.email, asked.password)
	if errors.Is(err, account.ErrOverloaded) {
		s.hasNotTried(ctx, asked.email)
	}
	if errors.Is(err, account.ErrUnauthorized) {
		s.metrics.authFailures.Inc()
		return problem.New(problem.Unauthorized, "the e-mail address or the password is wrong")
	}
	if err != nil {
		return err
	}
	s.setCookie(ctx, cookie, account.SessionLifetime)
	return writeJSON(ctx, fasthttp.StatusOK, s.meObject(caller))
}

func (s *Server) readCredentials(ctx *fasthttp.RequestCtx) (c credentials, err error) {
	if err := s.requireHTTPS(ctx); err != nil {
		return c, err
	}
	if err := s.requireOwnPage(ctx, false); err != nil { // nobody is logged in by another's page
		return c, err
	}
	if err := noParameters(ctx); err != nil {
		return c, err
	}
	sent, invalid, err := readBody(ctx, &c, credentialFields)
	if err == nil && len(invalid) > 0 {
		err = invalid
	}
	if err == nil && len(sent) < len(credentialFields) {
		err = fieldError("", "required", "email and password are both needed")
	}
	return c, err
}

// endSession is DELETE /session. Who has no session has none afterwards either.
func (s *Server) endSession(ctx *fasthttp.RequestCtx, _ account.Caller) error {
	if err := s.requireHTTPS(ctx); err != nil {
		return err
	}
	cookie := string(ctx.Request.Header.Cookie(s.cookieName(ctx)))
	if err := s.requireOwnPage(ctx, cookie != ""); err != nil {
		return err
	}
	if err := noParameters(ctx); err != nil {
		return err
	}
	if err := s.accounts.EndSession(cookie); err != nil {
		return err
	}
	s.setCookie(ctx, "", 0)
	ctx.SetStatusCode(fasthttp.StatusNoContent)
	return nil
}
