package api

import (
	"bytes"
	"strings"
	"time"

	"github.com/fasthttp/router"
	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/problem"
)

// A handler answers an API request of a caller who may make it. What it returns becomes a problem.
type handler func(ctx *fasthttp.RequestCtx, caller account.Caller) error

const (
	anyScope account.Scope = ""          // a caller is needed, but no scope
	noCaller account.Scope = "no caller" // anybody may: the handler gets the zero Caller
)

// An endpoint is one row of the API. HEAD is answered where GET is.
type endpoint struct {
	method  string
	path    string // behind apiRoot; also the label route of the metrics
	scope   account.Scope
	handle  handler
	maxBody int // bytes; 0: maxBodyBytes. Only of a path without parameters
}

func (s *Server) endpoints() []endpoint {
	return []endpoint{
		{"POST", "/shorten", account.LinksWrite, s.createLink, 0},
		{"POST", "/shorten/bulk", account.LinksWrite, s.createBulk, maxBulkBytes},
		{"POST", "/import", account.Admin, s.importLinks, maxBulkBytes},
		{"GET", "/links", account.LinksRead, s.heavy(s.listLinks), 0},
		{"GET", "/export", account.LinksRead, s.exportLinks, 0},
		{"GET", "/links/{code}", account.LinksRead, s.readLink, 0},
		{"PATCH", "/links/{code}", account.LinksWrite, s.patchLink, 0},
		{"DELETE", "/links/{code}", account.LinksWrite, s.deleteLink, 0},
		{"GET", "/stats/{code}", account.StatsRead, s.readStats, 0},
		{"GET", "/stats/{code}/live", account.StatsRead, s.streamStats, 0},
		{"GET", "/stats", account.StatsRead, s.heavy(s.inTurn(s.readOwnerStats)), 0},
		{"GET", "/misses", account.Admin, s.readMisses, 0},
		{"GET", "/tokens", account.TokensWrite, s.heavy(s.inTurn(s.listTokens)), 0},
		{"POST", "/tokens", account.TokensWrite, s.issueToken, 0},
		{"DELETE", "/tokens/{id}", account.TokensWrite, s.revokeToken, 0},
		{"GET", "/me", anyScope, s.readMe, 0},
		{"GET", "/users", account.Admin, s.listUsers, 0},
		{"POST", "/users", account.Admin, s.addUser, 0},
		{"PATCH", "/users/{id}", account.Admin, s.editUser, 0},
		{"DELETE", "/users/{id}", account.Admin, s.removeUser, 0},
		{"POST", "/session", noCaller, s.beginSession, 0},
		{"DELETE", "/session", noCaller, s.endSession, 0},
		{"GET", "/openapi.json", noCaller, s.readDocument, 0},
		{"GET", "/openapi-3.0.json", noCaller, s.readDocument30, 0},
	}
}

// noRoute labels API requests that no route took.
const noRoute = "none"

// apiPrefix begins the paths of the API, apiRoot those of the version that there is.
const (
	apiPrefix = "/api/"
	apiRoot   = apiPrefix + "v1"
)

// routes returns the endpoints as they are behind door, and 404 for all else. The router corrects no path: a wrong one is a
// 404. It sees only paths of the API, because it has meanings of its own for others ("/*").
func (s *Server) routes(door door, endpoints []endpoint) fasthttp.RequestHandler {
	r := router.New()
	r.RedirectTrailingSlash = false
	r.RedirectFixedPath = false
	r.HandleOPTIONS = false
	r.HandleMethodNotAllowed = true
	r.NotFound = s.notFound
	r.MethodNotAllowed = s.methodNotAllowed
	for _, e := range endpoints {
		h := s.behind(door, e)
		r.Handle(e.method, apiRoot+e.path, h)
		if e.method == fasthttp.MethodGet {
			r.Handle(fasthttp.MethodHead, apiRoot+e.path, h)
		}
	}
	return func(ctx *fasthttp.RequestCtx) {
		if path, _ := splitURI(ctx.Request.Header.RequestURI()); !bytes.HasPrefix(path, []byte(apiPrefix)) {
			s.servePath(ctx, path)
			return
		}
		if s.cors.preflight(ctx) {
			return
		}
		r.Handler(ctx)
		s.cors.allow(ctx)
	}
}

// behind lets e be called by whom door knows and e's scope allows. Who may not call it learns nothing else, so the
// body is not looked at before.
func (s *Server) behind(door door, e endpoint) fasthttp.RequestHandler {
	seconds := s.metrics.requestSeconds.WithLabelValues(e.path)
	return func(ctx *fasthttp.RequestCtx) {
		start := time.Now()
		if err := s.call(ctx, door, e); err != nil {
			s.fail(ctx, err)
		}
		seconds.Observe(time.Since(start).Seconds())
		s.metrics.request(e.path, ctx)
	}
}

// creates tells whether e makes links: those calls have a limit of their own.
func (e endpoint) creates() bool { return strings.HasPrefix(e.path, "/shorten") || e.path == "/import" }

// call counts before it looks at scopes; a caller whom door does not know is counted by address.
func (s *Server) call(ctx *fasthttp.RequestCtx, door door, e endpoint) error {
	var caller account.Caller
	err := oneAuthorization(ctx)
	if err == nil && e.scope != noCaller {
		caller, err = door(ctx)
	}
	if limited := s.mayCall(ctx, caller, e.creates()); limited != nil {
		return limited
	}
	if err != nil {
		return err
	}
	if e.scope == noCaller {
		return e.handle(ctx, caller)
	}
	if e.scope != anyScope && !caller.Has(e.scope) {
		return problem.New(problem.Forbidden, "this needs the scope %s", e.scope)
	}
	return e.handle(ctx, caller)
}

func (s *Server) notFound(ctx *fasthttp.RequestCtx) {
	writeProblem(ctx, problem.Problem{Kind: problem.NotFound, Detail: "the API has no such path"})
	s.metrics.request(noRoute, ctx)
}

// methodNotAllowed: the router has set Allow. It names OPTIONS, which we do not answer.
func (s *Server) methodNotAllowed(ctx *fasthttp.RequestCtx) {
	allow := string(ctx.Response.Header.Peek("Allow"))
	ctx.Response.Header.Set("Allow", strings.ReplaceAll(strings.Replace(allow, "OPTIONS, ", "", 1), ", OPTIONS", ""))
	writeProblem(ctx, problem.Problem{Kind: problem.Method, Detail: "see Allow for the methods of this path"})
	s.metrics.request(noRoute, ctx)
}
