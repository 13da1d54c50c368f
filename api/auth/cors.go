package auth

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/valyala/fasthttp"
)

// CORS lets pages of other origins call the API (Fetch, 3.2): those that the operator names, by
// default none. They send tokens of their own; they cannot read the answer to a request with a
// cookie, because no answer has Access-Control-Allow-Credentials.
type CORS struct {
	any     bool // "*": every origin
	origins map[string]bool
	below   []originsBelow
}

// originsBelow are the origins of all hosts below a domain: https://*.example.com.
type originsBelow struct{ scheme, domain string } // https:// and .example.com, with the port if there is one

func (b originsBelow) has(origin string) bool {
	host, ok := strings.CutPrefix(origin, b.scheme)
	return ok && len(host) > len(b.domain) && strings.HasSuffix(host, b.domain)
}

// The answer to a preflight, and the headers of an answer that a page may read beyond the few that
// it always may. Clients of Kutt send a token in X-Api-Key.
const (
	corsMethods = "GET, HEAD, POST, PATCH, DELETE"
	corsHeaders = "Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, X-Api-Key, X-Request-Id"
	corsExposed = "ETag, Location, Retry-After, RateLimit, RateLimit-Policy, X-Request-Id"
	corsMaxAge  = "600" // seconds for which a browser need not ask again; browsers accept at most two hours
)

// NewCORS reads the origins that an operator names.
func NewCORS(origins []string) (c CORS, err error) {
	c.origins = make(map[string]bool)
	for _, text := range origins {
		if text == "*" {
			c.any = true
			continue
		}
		plain, wild := text, false
		if scheme, host, ok := strings.Cut(text, "://*."); ok {
			plain, wild = scheme+"://"+host, true
		}
		origin, ok := canonicalOrigin(plain)
		scheme, host, _ := strings.Cut(origin, "://")
		switch {
		case !ok || wild && extensionSchemes[scheme]:
			return c, fmt.Errorf("%q must be an origin such as https://app.example, https://*.app.example or chrome-extension://ID, or *", text)
		case wild:
			c.below = append(c.below, originsBelow{scheme + "://", "." + host})
		default:
			c.origins[origin] = true
		}
	}
	return c, nil
}

// CheckCORSOrigins returns an error if origins is not valid for Options.CORSOrigins.
func CheckCORSOrigins(origins []string) error {
	_, err := NewCORS(origins)
	return err
}

// extensionSchemes are those of the pages of browser extensions. Their hosts are IDs.
var extensionSchemes = map[string]bool{"chrome-extension": true, "moz-extension": true, "safari-web-extension": true}

// canonicalOrigin returns an origin as browsers send it (RFC 6454, 6.1). text may have a slash at its
// end, as a copied address has.
func canonicalOrigin(text string) (origin string, ok bool) {
	text = strings.TrimSuffix(text, "/")
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.Scheme+"://"+u.Host != text || strings.Contains(text, "*") {
		return "", false
	}
	host := strings.ToLower(u.Host)
	switch {
	case extensionSchemes[u.Scheme]:
		return text, true // the ID of Safari has large letters
	case u.Scheme != "http" && u.Scheme != "https":
		return "", false
	case u.Scheme == "http" && u.Port() == "80" || u.Scheme == "https" && u.Port() == "443" || strings.HasSuffix(host, ":"):
		host = host[:strings.LastIndexByte(host, ':')]
	}
	return u.Scheme + "://" + host, true
}

func (c *CORS) off() bool { return !c.any && len(c.origins) == 0 && len(c.below) == 0 }

// allows reports whether the operator named origin, as browsers send it.
func (c *CORS) allows(origin string) bool {
	return c.origins[origin] || slices.ContainsFunc(c.below, func(b originsBelow) bool { return b.has(origin) })
}

// Preflight answers a browser that asks whether a page may make a request. It returns false if the
// request is not a preflight.
func (c *CORS) Preflight(ctx *fasthttp.RequestCtx) bool {
	if c.off() || !ctx.IsOptions() || len(ctx.Request.Header.Peek(fasthttp.HeaderAccessControlRequestMethod)) == 0 {
		return false
	}
	ctx.SetStatusCode(fasthttp.StatusNoContent)
	h := &ctx.Response.Header
	if c.Allow(ctx) {
		h.Set(fasthttp.HeaderAccessControlAllowMethods, corsMethods)
		h.Set(fasthttp.HeaderAccessControlAllowHeaders, corsHeaders)
		h.Set(fasthttp.HeaderAccessControlMaxAge, corsMaxAge)
	}
	return true
}

// Allow lets a page of the request's origin read the answer, if the operator allows that origin.
// The answer differs by origin, so Vary tells caches.
func (c *CORS) Allow(ctx *fasthttp.RequestCtx) bool {
	if c.off() {
		return false
	}
	h := &ctx.Response.Header
	origin := ctx.Request.Header.Peek(fasthttp.HeaderOrigin)
	switch {
	case c.any:
		h.Set(fasthttp.HeaderAccessControlAllowOrigin, "*")
	case c.allows(string(origin)):
		h.Add(fasthttp.HeaderVary, fasthttp.HeaderOrigin)
		h.SetBytesV(fasthttp.HeaderAccessControlAllowOrigin, origin)
	default:
		h.Add(fasthttp.HeaderVary, fasthttp.HeaderOrigin)
		return false
	}
	h.Set(fasthttp.HeaderAccessControlExposeHeaders, corsExposed)
	return true
}
