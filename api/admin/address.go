package admin

import (
	"net/http/pprof"
	"net/netip"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttpadaptor"
	"github.com/valyala/fasthttp/pprofhandler"

	"shunt/api/problem"
	"shunt/engine"
)

// An Address answers requests on the admin address. Set its fields before its first use.
type Address struct {
	Engine   *engine.Engine
	Hosts    Hosts       // besides loopback ones
	Profiles bool        // /debug/pprof even if the address is not loopback
	Draining func() bool // reports whether the server is shutting down

	pages map[string]fasthttp.RequestHandler
}

// NewAddress returns an Address that shows m.
func NewAddress(e *engine.Engine, m *Metrics, draining func() bool) *Address {
	a := &Address{Engine: e, Draining: draining}
	a.pages = map[string]fasthttp.RequestHandler{
		"/metrics": fasthttpadaptor.NewFastHTTPHandler(promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})),
		"/healthz": healthy,
		"/readyz":  a.ready,
	}
	return a
}

// ProfilePatience is how long a request to the admin address may take. It is long because a CPU
// profile takes as long as its client asks.
const ProfilePatience = 5 * time.Minute

const pprofIndexPath = "/debug/pprof/"

var pprofIndex = fasthttpadaptor.NewFastHTTPHandlerFunc(pprof.Index)

// Answer answers a request that came to the address local, or returns the problem to answer it
// with.
func (a *Address) Answer(ctx *fasthttp.RequestCtx, local netip.Addr) error {
	if err := a.refuseForPage(ctx, local); err != nil {
		return err
	}
	path := string(ctx.Path())
	handle, found := a.pages[path]
	if !found && strings.HasPrefix(path, pprofIndexPath) && a.mayProfile(local) {
		handle, found = pprofhandler.PprofHandler, true
		if path == pprofIndexPath {
			handle = pprofIndex // PprofHandler refuses every path that ends in a slash
		}
	}
	switch {
	case !found:
		return problem.New(problem.NotFound, "see /metrics, /healthz and /readyz")
	case !ctx.IsGet() && !ctx.IsHead():
		ctx.Response.Header.Set("Allow", "GET, HEAD")
		return problem.New(problem.Method, "the admin address takes only GET and HEAD")
	}
	ctx.Response.Header.Set("Cache-Control", "no-store")
	handle(ctx)
	return nil
}

// mayProfile reports whether profiles may be read on that local address. Profiles show the contents
// of memory and cost time, so they are only for this machine, unless the operator allows more.
func (a *Address) mayProfile(local netip.Addr) bool { return a.Profiles || local.IsLoopback() }

// healthy answers that the process is alive.
func healthy(ctx *fasthttp.RequestCtx) { writeText(ctx, fasthttp.StatusOK, "ok\n") }

// ready answers whether the server redirects, and will go on. It is ready even if there is no space
// for writes: a load balancer that follows this answer must not remove a node that redirects.
func (a *Address) ready(ctx *fasthttp.RequestCtx) {
	switch {
	case a.Draining():
		writeText(ctx, fasthttp.StatusServiceUnavailable, "draining\n")
	case !a.Engine.Ready():
		writeText(ctx, fasthttp.StatusServiceUnavailable, "loading\n")
	case a.Engine.ReadOnly():
		writeText(ctx, fasthttp.StatusOK, "ready, read_only: there is too little space to write links\n")
	default:
		writeText(ctx, fasthttp.StatusOK, "ready\n")
	}
}

func writeText(ctx *fasthttp.RequestCtx, status int, text string) {
	ctx.SetStatusCode(status)
	ctx.SetContentType("text/plain; charset=utf-8")
	ctx.SetBodyString(text)
}
