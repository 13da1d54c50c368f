package api

import (
	"bytes"
	"log/slog"
	"strings"
	"time"

	"github.com/fasthttp/router"
	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/admin"
	"shunt/api/auth"
	"shunt/api/dashboard"
	foreign "shunt/api/doors"
	"shunt/api/exchange"
	"shunt/api/problem"
	"shunt/api/relay"
	"shunt/api/shed"
	"shunt/api/urlpath"
)

// Labels of requests that match no route, and of those that could not be read or whose framing is
// refused.
const (
	noRoute    = "none"
	badRequest = "malformed"
)

// An apiRouter passes API requests to their endpoints, if the caller may make them.
type apiRouter struct {
	limiter *auth.Limiter
	origins auth.Origins
	metrics *admin.Metrics
	cors    auth.CORS
	log     *slog.Logger
	shedder *shed.Shedder
	page    func(ctx *fasthttp.RequestCtx, path []byte) // answers requests for other paths

	dashboard *dashboard.Dashboard // answers forms that were not read; nil: none
	edgeOf    string               // origin of the writer of this edge; empty: it is none
}

// routes returns a handler of the endpoints, for the callers that authenticate accepts, and of the doors that are open.
// All other paths of the API are 404. The router corrects no path: a wrong one is a 404. It sees only paths
// of the API, because it gives some others a meaning of its own ("/*"). A slash at the end of a path changes
// nothing.
func (a *apiRouter) routes(authenticate auth.Authenticate, endpoints []endpoint, open *foreign.Doors) fasthttp.RequestHandler {
	r := router.New()
	r.RedirectTrailingSlash = false
	r.RedirectFixedPath = false
	r.HandleOPTIONS = false
	r.HandleMethodNotAllowed = true
	r.NotFound = a.notFound
	r.MethodNotAllowed = a.methodNotAllowed
	for _, e := range endpoints {
		h := a.measured(authenticate, e)
		r.Handle(e.method, apiRoot+e.path, h)
		if e.method == fasthttp.MethodGet {
			r.Handle(fasthttp.MethodHead, apiRoot+e.path, h)
		}
	}
	return func(ctx *fasthttp.RequestCtx) {
		path, query := urlpath.Split(ctx.Request.Header.RequestURI())
		if at := open.At(path); at != nil {
			a.enter(ctx, at, string(path), string(query))
			return
		}
		if !bytes.HasPrefix(path, []byte(apiPrefix)) {
			a.page(ctx, path)
			return
		}
		if plain := withoutSlash(path); len(plain) < len(path) {
			ctx.URI().SetPathBytes(plain)
		}
		if a.cors.Preflight(ctx) {
			return
		}
		r.Handler(ctx)
		a.cors.Allow(ctx)
	}
}

// measured returns a handler that calls e, answers its errors as problems, and measures and counts
// its requests.
func (a *apiRouter) measured(authenticate auth.Authenticate, e endpoint) fasthttp.RequestHandler {
	route, d := a.metrics.Route(e.path), e.demand()
	return func(ctx *fasthttp.RequestCtx) {
		start := time.Now()
		if err := a.call(ctx, authenticate, d, e.handle); err != nil {
			exchange.Fail(ctx, a.log, err)
		}
		route.Answered(ctx.Method(), ctx.Response.StatusCode(), time.Since(start))
	}
}

// enter passes a request to a door, and measures and counts it. Doors take secrets in queries, so the request loses its
// query here: whoever looks at it later, such as a log, has none.
func (a *apiRouter) enter(ctx *fasthttp.RequestCtx, at *foreign.Door, path, query string) {
	start := time.Now()
	ctx.Request.SetRequestURI(path)
	if at.OwnCORS {
		at.Answer(ctx, path, query)
	} else if !a.cors.Preflight(ctx) {
		at.Answer(ctx, path, query)
		a.cors.Allow(ctx)
	}
	a.metrics.Route(at.Name).Answered(ctx.Method(), ctx.Response.StatusCode(), time.Since(start))
}

// count counts an answered request.
func (a *apiRouter) count(route string, ctx *fasthttp.RequestCtx) {
	a.metrics.Answered(route, ctx.Method(), ctx.Response.StatusCode())
}

// call calls handle if authenticate accepts the caller and the caller has the scope of d. It reads
// no body before, so that other callers learn nothing else. It counts requests before it checks
// scopes; a caller that authenticate refuses is counted by address.
func (a *apiRouter) call(ctx *fasthttp.RequestCtx, authenticate auth.Authenticate, d demand, handle exchange.Handler) error {
	var caller account.Caller
	err := auth.OneAuthorization(ctx)
	if err == nil && d.scope != noCaller {
		caller, err = authenticate(ctx)
	}
	caller.Origin = a.origins.Of(ctx)
	if limited := a.limiter.MayCall(ctx, caller, d.creates); limited != nil {
		return limited
	}
	if err != nil {
		return err
	}
	if err := mayAsk(caller, d.scope); err != nil {
		return err
	}
	if d.changesAccounts {
		if err := relay.MayChangeAccounts(ctx); err != nil {
			return err
		}
	}
	if err := a.shedder.Enter(d.kind); err != nil {
		return err
	}
	defer a.shedder.Leave()
	return handle(ctx, caller)
}

// mayAsk refuses a caller who lacks the scope of an endpoint. The token of an edge opens the calls of edges only.
func mayAsk(caller account.Caller, scope account.Scope) error {
	switch {
	case scope == noCaller || caller.Has(scope):
		return nil
	case scope != anyScope:
		return problem.New(problem.Forbidden, "this request needs the scope %s", scope)
	case caller.Edge != "":
		return problem.New(problem.Forbidden, "the token of an edge opens the calls of edges only")
	}
	return nil
}

// refuseUnread answers a request that could not be read, or whose framing is refused. Somebody who
// sent a form that is too large, or too slow, gets a page.
func (a *apiRouter) refuseUnread(ctx *fasthttp.RequestCtx, p problem.Problem) {
	exchange.NameRequest(ctx)
	path, _ := urlpath.Split(ctx.Request.Header.RequestURI())
	if a.edgeOf != "" && p.Kind == problem.BodyTooLarge {
		p.Detail += "; an edge passes on no larger one, so send it to " + a.edgeOf
	}
	ofForm := p.Kind == problem.BodyTooLarge || p.Kind == problem.Overloaded || p.Kind == problem.Timeout
	if a.dashboard != nil && ofForm && bytes.HasPrefix(path, []byte(dashboard.Root)) {
		a.dashboard.Refuse(ctx, p)
	} else {
		exchange.WriteProblem(ctx, p)
	}
	a.metrics.Answered(badRequest, nil, ctx.Response.StatusCode())
}

func (a *apiRouter) notFound(ctx *fasthttp.RequestCtx) {
	exchange.WriteProblem(ctx, problem.Problem{Kind: problem.NotFound, Detail: "the API has no such path"})
	a.count(noRoute, ctx)
}

// methodNotAllowed answers a method that the path does not have. The router has set Allow; it
// includes OPTIONS, which is not a method of the API and is removed.
func (a *apiRouter) methodNotAllowed(ctx *fasthttp.RequestCtx) {
	allow := string(ctx.Response.Header.Peek("Allow"))
	ctx.Response.Header.Set("Allow", strings.ReplaceAll(strings.Replace(allow, "OPTIONS, ", "", 1), ", OPTIONS", ""))
	exchange.WriteProblem(ctx, problem.Problem{Kind: problem.Method, Detail: "see Allow for the methods of this path"})
	a.count(noRoute, ctx)
}
