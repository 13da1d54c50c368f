package api

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/problem"
	"shunt/api/turnstile"
)

// A group is the listeners of one way in, with the HTTP server that they share. Its exported fields
// are set before the first Serve and not changed after it.
type group struct {
	handle  fasthttp.RequestHandler
	refuse  func(ctx *fasthttp.RequestCtx, p problem.Problem) // writes the answer to a request that is not handled
	maxBody func(h *fasthttp.RequestHeader) (limit int, sender turnstile.Key)

	limits   limits // of each listener
	patience patience
	drain    *drain
	log      *slog.Logger

	once      sync.Once
	http      *fasthttp.Server // made once; see server
	accepting sync.WaitGroup   // calls of http.Serve; added to while drain has not begun, with mu held
	mu        struct {
		sync.Mutex
		listeners []*listener
	}
}

// A drain is the end of a server, which its groups share.
type drain struct {
	begun atomic.Bool
	over  chan struct{} // closed when all of it is over
}

func newDrain() *drain { return &drain{over: make(chan struct{})} }

// begin begins it. first is false if it had begun before.
func (d *drain) begin() (first bool) { return !d.begun.Swap(true) }

// hasBegun reports whether it has begun.
func (d *drain) hasBegun() bool { return d.begun.Load() }

// end lets the groups' calls of serve return.
func (d *drain) end() { close(d.over) }

// serve serves ln until the drain is over, or until ln fails.
func (g *group) serve(ln net.Listener) error {
	l := newListener(ln, g.limits, g.patience, g.log)
	if !g.add(l) {
		return ln.Close() // the drain has begun: there is nothing to serve
	}
	done := make(chan struct{})
	var sweeper sync.WaitGroup
	sweeper.Go(func() { l.sweepUntil(done) })
	err := g.server().Serve(l)
	g.accepting.Done()
	if g.drain.hasBegun() {
		<-g.drain.over
	} else {
		l.closeAll()
	}
	close(done)
	sweeper.Wait()
	g.remove(l)
	return err
}

// add returns false if the drain has begun.
func (g *group) add(l *listener) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.drain.hasBegun() {
		return false
	}
	g.mu.listeners = append(g.mu.listeners, l)
	g.accepting.Add(1)
	return true
}

func (g *group) remove(l *listener) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.mu.listeners = slices.DeleteFunc(g.mu.listeners, func(other *listener) bool { return other == l })
}

// open returns the number of connections.
func (g *group) open() (n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, l := range g.mu.listeners {
		n += l.open()
	}
	return n
}

// sweep lets one second pass for all connections and ends those that take too long. Serve calls the
// like of it once a second for its listener; tests call it to let hours pass.
func (g *group) sweep() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, l := range g.mu.listeners {
		l.sweep()
	}
}

// closeListeners returns when no connection is accepted any more: fasthttp counts whoever accepts as a connection, and
// looks only ten times a second whether all have gone.
func (g *group) closeListeners() error {
	errs := g.closeEach()
	g.accepting.Wait()
	return errors.Join(errs...)
}

func (g *group) closeEach() (errs []error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, l := range g.mu.listeners {
		errs = append(errs, l.Close())
	}
	return errs
}

// closeSilent ends the connections that were opened at least age ago and have sent nothing yet.
func (g *group) closeSilent(age time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, l := range g.mu.listeners {
		l.closeSilent(age)
	}
}

// shutdown closes the connections that are idle or have sent nothing yet, and waits for the requests
// under way until ctx ends.
func (g *group) shutdown(ctx context.Context) error {
	g.closeSilent(0)
	return g.server().ShutdownWithContext(ctx)
}

// server returns the HTTP server of the group.
//
// Header names are normalized (DisableHeaderNamesNormalizing stays off), because Peek compares canonical names and
// clients write them in any case. Timeouts are the listeners': ReadTimeout and IdleTimeout cost 0.66 µs of the 5 µs of a
// request.
func (g *group) server() *fasthttp.Server {
	g.once.Do(func() {
		g.http = &fasthttp.Server{
			Handler:                      g.handle,
			ErrorHandler:                 g.refuseUnread,
			HeaderReceived:               g.prepareBody,
			ExpectHandler:                expected,
			ConnState:                    noteState,
			Concurrency:                  MaxConnections,
			ReadBufferSize:               maxHeaderBytes,
			MaxRequestBodySize:           maxBodyBytes,
			MaxRequestsPerConn:           maxRequestsPerConn,
			DisablePreParseMultipartForm: true,
			NoDefaultServerHeader:        true,
			NoDefaultContentType:         true,
			SecureErrorLogMessage:        true,
			CloseOnShutdown:              true,
			Logger:                       silent{},
		}
	})
	return g.http
}

// silent is fasthttp's log: what it says of a bad request holds bytes of it. Bad requests are counted instead.
type silent struct{}

func (silent) Printf(string, ...any) {}
