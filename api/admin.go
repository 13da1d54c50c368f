package api

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
	"shunt/api/wire"
)

func (s *Server) buildAdminRoutes() map[string]fasthttp.RequestHandler {
	return map[string]fasthttp.RequestHandler{
		"/metrics": fasthttpadaptor.NewFastHTTPHandler(promhttp.HandlerFor(s.metrics.registry, promhttp.HandlerOpts{})),
		"/healthz": s.healthy,
		"/readyz":  s.ready,
	}
}

// profilePatience is how long a request to the admin address may take: a CPU profile takes as long as
// it is asked to.
const profilePatience = 5 * time.Minute

const pprofIndexPath = "/debug/pprof/"

var pprofIndex = fasthttpadaptor.NewFastHTTPHandlerFunc(pprof.Index)

// handleAdmin is the way of every request on the admin address.
func (s *Server) handleAdmin(ctx *fasthttp.RequestCtx) {
	defer s.recovered(ctx)
	if err := s.refuseForPage(ctx); err != nil {
		s.fail(ctx, err)
		return
	}
	path := string(ctx.Path())
	handle, found := s.adminRoutes[path]
	if !found && strings.HasPrefix(path, pprofIndexPath) && s.mayProfile(wire.AddrOf(ctx.LocalAddr())) {
		handle, found = pprofhandler.PprofHandler, true
		if path == pprofIndexPath {
			handle = pprofIndex // PprofHandler refuses every path that ends in a slash
		}
	}
	switch {
	case !found:
		writeProblem(ctx, problem.Problem{Kind: problem.NotFound, Detail: "see /metrics, /healthz and /readyz"})
	case !ctx.IsGet() && !ctx.IsHead():
		ctx.Response.Header.Set("Allow", "GET, HEAD")
		writeProblem(ctx, problem.Problem{Kind: problem.Method, Detail: "only GET and HEAD"})
	default:
		ctx.Response.Header.Set("Cache-Control", "no-store")
		handle(ctx)
	}
}

// mayProfile: profiles show what is in memory and cost time, so they are for this machine, unless asked for.
func (s *Server) mayProfile(local netip.Addr) bool {
	return s.pprof || local.IsLoopback()
}

// healthy: the process answers.
func (s *Server) healthy(ctx *fasthttp.RequestCtx) { writeText(ctx, fasthttp.StatusOK, "ok\n") }

// ready: redirects are answered, and go on being answered. That holds when there is no space for writes, too: whoever
// balances load by this must not take away the node that redirects.
func (s *Server) ready(ctx *fasthttp.RequestCtx) {
	switch {
	case s.drain.Begun():
		writeText(ctx, fasthttp.StatusServiceUnavailable, "draining\n")
	case !s.engine.Ready():
		writeText(ctx, fasthttp.StatusServiceUnavailable, "loading\n")
	case s.engine.ReadOnly():
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
