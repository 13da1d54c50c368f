package api

import (
	"bytes"
	"net"

	"github.com/valyala/fasthttp"

	"shunt/api/cluster"
	"shunt/api/dashboard"
	"shunt/api/problem"
)

// clustered answers the requests that another node of the cluster must answer: all writes go to the one
// that leads. Reads of the API are answered here, from this node's copy, unless it is stale. Pages of
// the dashboard keep what they show once in memory, so all of them come from the node that leads.
type clustered struct {
	state     cluster.State
	forwarder *cluster.Forwarder
	here      map[string]bool         // paths of local commands that are about this node
	fixed     func(path []byte) bool  // pages that are the same on every node
	routes    fasthttp.RequestHandler // of what the leader is sent from clients of other nodes
	local     fasthttp.RequestHandler // and from local commands there
}

// over returns routes for the requests of this node's own clients. local: they are local commands.
func (c *clustered) over(routes fasthttp.RequestHandler, local bool) fasthttp.RequestHandler {
	if c == nil {
		return routes
	}
	return func(ctx *fasthttp.RequestCtx) {
		here, err := c.isHere(ctx), error(nil)
		switch {
		case !here:
			here, err = c.forwarder.Forward(ctx, local)
		case !local && c.state.Stale() && isAPI(ctx):
			err = problem.New(problem.Stale, "this node has had no connection to the log of its cluster for some time; redirects go on")
		}
		switch {
		case err != nil:
			p, _ := problem.Of(err)
			writeProblem(ctx, p)
		case here:
			routes(ctx)
		}
	}
}

// isHere reports whether a request can be answered by this node even if it does not lead.
func (c *clustered) isHere(ctx *fasthttp.RequestCtx) bool {
	if c.state.Leads() || ctx.IsOptions() {
		return true
	}
	path, _ := splitURI(ctx.Request.Header.RequestURI())
	switch {
	case bytes.HasPrefix(path, []byte(apiPrefix)):
		return ctx.IsGet() || ctx.IsHead() || c.here[string(path)]
	case bytes.HasPrefix(path, []byte(dashboard.Root)):
		return c.fixed(path) || bytes.Contains(ctx.Request.Header.Peek(fasthttp.HeaderAccept), []byte("text/event-stream"))
	}
	return true
}

func isAPI(ctx *fasthttp.RequestCtx) bool {
	path, _ := splitURI(ctx.Request.Header.RequestURI())
	return bytes.HasPrefix(path, []byte(apiPrefix))
}

// receive answers a request that another node has sent on.
func (c *clustered) receive(ctx *fasthttp.RequestCtx) {
	local, err := cluster.Receive(ctx, c.state)
	nameRequest(ctx)
	if err != nil {
		p, _ := problem.Of(err)
		writeProblem(ctx, p)
		return
	}
	if local {
		c.local(ctx)
	} else {
		c.routes(ctx)
	}
	cluster.Sign(ctx, c.state)
}

// buildCluster builds the parts that pass requests between nodes. It wraps the routes, so they must be
// there.
func (s *Server) buildCluster(o Options, public *publicPages, operator *operator) {
	if o.Cluster.State == nil {
		return
	}
	c := &clustered{
		state: o.Cluster.State, forwarder: cluster.NewForwarder(o.Cluster.State, o.Cluster.TLS), here: make(map[string]bool),
		fixed:  func(path []byte) bool { return public.fixed[string(path)] != nil },
		routes: s.front.routes, local: s.localRoutes,
	}
	for _, e := range operator.endpoints() {
		c.here[apiRoot+e.path] = true
	}
	s.clustered = c
	s.front.routes = c.over(s.front.routes, false)
	s.localRoutes = c.over(s.localRoutes, true)
}

// ServeCluster answers other nodes of the cluster on ln, a TLS listener that has checked their
// certificates, until Shutdown.
func (s *Server) ServeCluster(ln net.Listener) error { return s.nodes.Serve(ln) }
