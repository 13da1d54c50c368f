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
)

// An Address answers requests on the admin address. Set its fields before its first use.
type Address struct {
	Hosts    Hosts            // besides loopback ones
	Profiles bool             // /debug/pprof even if the address is not loopback
	Draining func() bool      // reports whether the server is shutting down
	Stalled  func() bool      // reports whether the store does not answer writes of links; nil: it does
	Now      func() time.Time // nil: time.Now

	// PrefersJSON reports whether the lines of Accept ask for JSON; nil: they never do.
	PrefersJSON func(accept [][]byte) bool

	sources Sources // of the conditions
	started time.Time
	pages   map[string]fasthttp.RequestHandler
}

// NewAddress returns an Address that shows m, and the health that follows from sources.
func NewAddress(sources Sources, m *Metrics, draining func() bool) *Address {
	a := &Address{sources: sources, Draining: draining, started: time.Now()}
	a.pages = map[string]fasthttp.RequestHandler{
		"/metrics": fasthttpadaptor.NewFastHTTPHandler(promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})),
		"/healthz": a.healthy,
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
		return problem.New(problem.NotFound, "this is the admin address, which has /metrics, /healthz and /readyz; API and links are at the public address")
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
