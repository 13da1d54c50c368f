package wire

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

// A Group is the listeners of one way in, with the HTTP server that they share. Its exported fields
// are set before the first Serve and not changed after it.
type Group struct {
	Handle       fasthttp.RequestHandler
	WriteProblem func(ctx *fasthttp.RequestCtx, p problem.Problem) // writes the answer to a request that is not handled
	MaxBody      func(h *fasthttp.RequestHeader) (limit int, sender turnstile.Key)

	Limits   Limits // of each listener
	Patience Patience
	Drain    *Drain
	Log      *slog.Logger

	once      sync.Once
	http      *fasthttp.Server // made once; see server
	accepting sync.WaitGroup   // calls of http.Serve; added to while drain has not begun, with mu held
	mu        struct {
		sync.Mutex
		listeners []*listener
	}
}

// A Drain is the end of a server, which its groups share.
type Drain struct {
	begun atomic.Bool
	over  chan struct{} // closed when all of it is over
}

func NewDrain() *Drain { return &Drain{over: make(chan struct{})} }

// Begin begins it. first is false if it had begun before.
func (d *Drain) Begin() (first bool) { return !d.begun.Swap(true) }

// Begun reports whether it has begun.
func (d *Drain) Begun() bool { return d.begun.Load() }

// End lets the groups' calls of serve return.
func (d *Drain) End() { close(d.over) }

// Serve serves ln until the drain is over, or until ln fails.
func (g *Group) Serve(ln net.Listener) error {
	l := newListener(ln, g.Limits, g.Patience, g.Log)
	if !g.add(l) {
		return ln.Close() // the drain has begun: there is nothing to serve
	}
	done := make(chan struct{})
	var sweeper sync.WaitGroup
	sweeper.Go(func() { l.sweepUntil(done) })
	err := g.server().Serve(l)
	g.accepting.Done()
	if g.Drain.Begun() {
		<-g.Drain.over
	} else {
		l.closeAll()
	}
	close(done)
	sweeper.Wait()
	g.remove(l)
	return err
}

// add returns false if the drain has begun.
func (g *Group) add(l *listener) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.Drain.Begun() {
		return false
	}
	g.mu.listeners = append(g.mu.listeners, l)
	g.accepting.Add(1)
	return true
}

func (g *Group) remove(l *listener) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.mu.listeners = slices.DeleteFunc(g.mu.listeners, func(other *listener) bool { return other == l })
}

// Open returns the number of connections.
func (g *Group) Open() (n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, l := range g.mu.listeners {
		n += l.open()
	}
	return n
}

// Sweep lets one second pass for all connections and ends those that take too long. Serve calls the
// like of it once a second for its listener; tests call it to let hours pass.
func (g *Group) Sweep() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, l := range g.mu.listeners {
		l.sweep()
	}
}

// CloseListeners returns when no connection is accepted any more: fasthttp counts whoever accepts as a connection, and
// looks only ten times a second whether all have gone.
func (g *Group) CloseListeners() error {
	errs := g.closeEach()
	g.accepting.Wait()
	return errors.Join(errs...)
}

func (g *Group) closeEach() (errs []error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, l := range g.mu.listeners {
		errs = append(errs, l.Close())
	}
	return errs
}

// CloseSilent ends the connections that were opened at least age ago and have sent nothing yet.
func (g *Group) CloseSilent(age time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, l := range g.mu.listeners {
		l.closeSilent(age)
	}
}

// Shutdown closes the connections that are idle or have sent nothing yet, and waits for the requests
// under way until ctx ends.
func (g *Group) Shutdown(ctx context.Context) error {
	g.CloseSilent(0)
	return g.server().ShutdownWithContext(ctx)
}

// server returns the HTTP server of the group.
//
// Header names are normalized (DisableHeaderNamesNormalizing stays off), because Peek compares canonical names and
// clients write them in any case. Timeouts are the listeners': ReadTimeout and IdleTimeout cost 0.66 µs of the 5 µs of a
// request.
func (g *Group) server() *fasthttp.Server {
	g.once.Do(func() {
		g.http = &fasthttp.Server{
			Handler:                      g.Handle,
			ErrorHandler:                 g.refuseUnread,
			HeaderReceived:               g.prepareBody,
			ExpectHandler:                expected,
			ConnState:                    noteState,
			Concurrency:                  MaxConnections,
			ReadBufferSize:               maxHeaderBytes,
			MaxRequestBodySize:           MaxBodyBytes,
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
