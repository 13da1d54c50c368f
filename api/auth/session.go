package auth

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/problem"
)

// The cookie of a session. Over HTTPS its name begins with __Host-. Browsers accept such a cookie
// only with Secure, from this very host, for all of its paths, so no neighbouring host can set one
// of its own here. Plain HTTP is for loopback and --allow-http; there the cookie is neither __Host-
// nor Secure: Safari keeps no Secure cookie of http://localhost, and browsers have disagreed on
// whether a __Host- one may come from there (httpwg/http-extensions#2605). Each name is read only
// over its own scheme.
const (
	secureCookie = "__Host-shunt_session"
	plainCookie  = "shunt_session"
)

// Cookies reads and sets the cookies of sessions.
type Cookies struct{ HTTPS *HTTPS }

func (c Cookies) name(ctx *fasthttp.RequestCtx) string {
	if c.HTTPS.Reached(ctx) {
		return secureCookie
	}
	return plainCookie
}

// Read returns the cookie of the request, empty if it has none.
func (c Cookies) Read(ctx *fasthttp.RequestCtx) string {
	return string(ctx.Request.Header.Cookie(c.name(ctx)))
}

// Set sets a session's cookie, which the browser keeps for age; 0 removes it.
func (c Cookies) Set(ctx *fasthttp.RequestCtx, value string, age time.Duration) {
	name := c.name(ctx)
	cookie := fmt.Sprintf("%s=%s; Path=/; Max-Age=%d; HttpOnly; SameSite=Strict", name, value, int(age.Seconds()))
	if name == secureCookie {
		cookie += "; Secure"
	}
	ctx.Response.Header.Set("Set-Cookie", cookie)
}

// OwnPages recognizes requests from the pages of this server, by its origin as browsers write it.
type OwnPages struct {
	Origin string
	Root   string // the path at which the pages begin
}

// RequireForm refuses a form that no page of this server has sent. People may open the pages by a
// name or an address of the server other than that of its base URL, and over plain HTTP browsers
// send no Sec-Fetch-Site. So the page may also be of the origin that the request was sent to, as
// far as the server can tell: https says whether the browser used HTTPS.
//
// That is safe although Host may be any name that leads here. A page on another host has another
// origin than the host it sends the form to. A page whose own name was pointed to this server (DNS
// rebinding) passes, but the browser has no cookie of ours for that name; if the page logs the
// visitor in, the cookie is for that name only; and its guesses of passwords are limited like all
// others. The API keeps to the origin of the base URL.
func (p OwnPages) RequireForm(ctx *fasthttp.RequestCtx, https bool) error {
	if p.Require(ctx, true) == nil {
		return nil
	}
	h := &ctx.Request.Header
	scheme := "http://"
	if https {
		scheme = "https://"
	}
	origin := string(h.Peek("Origin"))
	if len(h.Peek("Sec-Fetch-Site")) == 0 && len(h.Host()) > 0 && strings.EqualFold(origin, scheme+string(h.Host())) {
		return nil
	}
	return problem.New(problem.Forbidden, "the form was not sent by a page of this server; open %s%s in this browser, and send it from there (a proxy in front of the server must not change Host or Origin)",
		p.Origin, p.Root)
}

// Require refuses a request that a page of another origin made a browser send. Browsers name the
// source of a request in Sec-Fetch-Site, older ones in Origin; no page can change either. With
// strict, it also refuses requests that have neither field.
func (p OwnPages) Require(ctx *fasthttp.RequestCtx, strict bool) error {
	site, origin := ctx.Request.Header.Peek("Sec-Fetch-Site"), ctx.Request.Header.Peek("Origin")
	own := !strict
	switch {
	case len(site) > 0:
		own = string(site) == "same-origin"
	case len(origin) > 0:
		own = string(origin) == p.Origin
	}
	if !own {
		return problem.New(problem.Forbidden, "with a session cookie, only the pages of this server may make changes")
	}
	return nil
}

// OriginOf returns the origin of a base URL as browsers write it: without the scheme's own port.
func OriginOf(baseURL string) string {
	u, err := url.Parse(baseURL)
	if err != nil { // NewServer has checked it
		return ""
	}
	host := strings.ToLower(u.Host)
	if port := u.Port(); u.Scheme == "http" && port == "80" || u.Scheme == "https" && port == "443" {
		host = strings.TrimSuffix(host, ":"+port)
	}
	return u.Scheme + "://" + host
}
