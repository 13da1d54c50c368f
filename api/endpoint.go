package api

import (
	"bytes"
	"strings"

	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/exchange"
	"shunt/api/shed"
)

// apiPrefix begins all paths of the API, apiRoot those of its only version.
const (
	apiPrefix = "/api/"
	apiRoot   = apiPrefix + "v1"
)

const (
	anyScope account.Scope = ""          // a caller is needed, but no scope
	noCaller account.Scope = "no caller" // anybody may: the handler gets the zero Caller
)

// An endpoint is one row of the API. HEAD is answered where GET is.
type endpoint struct {
	method  string
	path    string // after apiRoot; also the label route of the metrics
	scope   account.Scope
	handle  exchange.Handler
	maxBody int // bytes; 0: http1.MaxBodyBytes. A path has at most one parameter
}

// A demand is what a request must meet before it is answered.
type demand struct {
	scope           account.Scope
	creates         bool      // links: such requests have a rate limit of their own
	changesAccounts bool      // see endpoint.changesAccounts
	kind            shed.Kind // when it is refused because of overload
}

func (e endpoint) demand() demand { return demand{e.scope, e.creates(), e.changesAccounts(), e.kind()} }

// kind returns when e is refused because of overload.
func (e endpoint) kind() shed.Kind {
	switch {
	case e.creates():
		return shed.Create
	case e.method == fasthttp.MethodDelete:
		return shed.Freeing
	}
	return shed.Other
}

// changesAccounts reports whether e changes users, passwords, tokens, folders or domains. Sessions are begun and ended
// by the password and the cookie that the client has, as each request is made by its token.
func (e endpoint) changesAccounts() bool {
	if e.method == fasthttp.MethodGet {
		return false
	}
	return strings.HasPrefix(e.path, "/users") || strings.HasPrefix(e.path, "/tokens") || strings.HasPrefix(e.path, "/setup-links") || strings.HasPrefix(e.path, "/edges") || strings.HasPrefix(e.path, "/domains") ||
		strings.HasPrefix(e.path, "/folders")
}

// withoutSlash returns a path of the API as the endpoints have it: many clients put a slash at its end.
func withoutSlash(path []byte) []byte {
	if bytes.HasPrefix(path, []byte(apiPrefix)) {
		return bytes.TrimSuffix(path, []byte("/"))
	}
	return path
}

// creates reports whether e creates links: such calls have a rate limit of their own.
func (e endpoint) creates() bool { return strings.HasPrefix(e.path, "/shorten") || e.path == "/import" }
