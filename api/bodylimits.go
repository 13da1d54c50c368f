package api

import (
	"bytes"
	"strings"

	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/auth"
	"shunt/api/dashboard"
	"shunt/api/ops"
	"shunt/api/turnstile"
	"shunt/api/urlpath"
	"shunt/api/wire/conns"
	"shunt/api/wire/http1"
)

// Limits of the front end.
const (
	MaxConnections    = conns.MaxConnections
	DefaultPerAddress = 512 // connections from one address; Options.MaxPerAddress
	maxOperators      = 32  // connections to the socket
	MaxAdmins         = 256 // to the admin address: enough for 0.1 s of a flood of 2,000 a second
)

// bodyLimits decides how large the body of a request may be, before the body is read.
type bodyLimits struct {
	auth    *auth.Authenticator
	of      map[string]bodyLimit // by method and path
	ofLinks []linkBodyLimit      // of paths with a parameter
}

// A linkBodyLimit is the limit of a path in which a parameter stands between first and last.
type linkBodyLimit struct {
	method, first, last string
	bodyLimit
}

// has reports whether l is the limit of a path.
func (l *linkBodyLimit) has(method, path []byte) bool {
	return string(method) == l.method && bytes.HasPrefix(path, []byte(l.first)) && bytes.HasSuffix(path, []byte(l.last)) &&
		len(path) > len(l.first)+len(l.last) && bytes.IndexByte(path[len(l.first):len(path)-len(l.last)], '/') < 0
}

// A bodyLimit is the limit of an endpoint of the API, or of a form of the dashboard.
type bodyLimit struct {
	maxBytes int
	scope    account.Scope // that the sender of a large body needs
	page     bool          // the sender needs a session; a token is not enough
}

// newBodyLimits returns the limits of endpoints and forms. A path has at most one parameter.
func newBodyLimits(auth *auth.Authenticator, endpoints []endpoint, forms []dashboard.LargeForm) *bodyLimits {
	b := &bodyLimits{auth: auth, of: make(map[string]bodyLimit)}
	for _, e := range endpoints {
		if e.maxBody > 0 {
			b.add(e.method, apiRoot+e.path, bodyLimit{e.maxBody, e.scope, false})
		}
	}
	for _, f := range forms {
		b.add(fasthttp.MethodPost, f.Path, bodyLimit{f.MaxBytes, f.Scope, true})
	}
	return b
}

func (b *bodyLimits) add(method, path string, l bodyLimit) {
	first, rest, found := strings.Cut(path, "{")
	if !found {
		b.of[method+" "+path] = l
		return
	}
	_, last, _ := strings.Cut(rest, "}")
	b.ofLinks = append(b.ofLinks, linkBodyLimit{method, first, last, l})
}

// limitOf returns the limit of the path of h, if the path has one of its own.
func (b *bodyLimits) limitOf(h *fasthttp.RequestHeader) (l bodyLimit, found bool) {
	if len(b.of) == 0 {
		return bodyLimit{}, false
	}
	path, _ := urlpath.Split(h.RequestURI())
	path = withoutSlash(path)
	if l, found = b.of[string(h.Method())+" "+string(path)]; found {
		return l, true
	}
	for i := range b.ofLinks {
		if b.ofLinks[i].has(h.Method(), path) {
			return b.ofLinks[i].bodyLimit, true
		}
	}
	return bodyLimit{}, false
}

// overNetwork returns the limit of h's body in bytes and, if the body may be large, the key of its
// caller. fasthttp reads the whole body before the handler identifies the caller, so only a caller
// whose token or session is valid for the path gets more than the usual limit.
func (b *bodyLimits) overNetwork(h *fasthttp.RequestHeader) (limit int, key turnstile.Key) {
	l, found := b.limitOf(h)
	switch {
	case !found:
		return http1.MaxBodyBytes, key
	case l.maxBytes <= http1.MaxBodyBytes:
		return l.maxBytes, key
	}
	known := b.auth.Sender
	if l.page {
		known = b.auth.Visitor
	}
	if caller, found := known(h, l.scope); found {
		return l.maxBytes, ops.KeyOf(caller)
	}
	return http1.MaxBodyBytes, key
}

// overSocket is overNetwork for the socket of local commands: a command may send as much as the
// endpoint accepts, and has no share.
func (b *bodyLimits) overSocket(h *fasthttp.RequestHeader) (limit int, key turnstile.Key) {
	if l, found := b.limitOf(h); found {
		return l.maxBytes, key
	}
	return http1.MaxBodyBytes, key
}
