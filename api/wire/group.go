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

// A Group is the listeners of one kind (public, plain HTTP, admin or local) and the HTTP server
// that they share. Set its exported fields before the first Serve and do not change them after it.
// Its methods may be called from any number of goroutines at once.
type Group struct {
	// Handle answers the requests that are not refused. It must not panic.
	Handle fasthttp.RequestHandler

	// WriteProblem writes the answer to a request that was refused before Handle. The connection is
	// closed after it.
	WriteProblem func(ctx *fasthttp.RequestCtx, p problem.Problem)

	// MaxBody returns how many bytes of body a request may have, and who sends it if that is more
	// than MaxBodyBytes: senders share the places for large bodies. It is called when the head has
	// been read and is not called for GET and HEAD. If it is nil, the limit is MaxBodyBytes.
	MaxBody func(h *fasthttp.RequestHeader) (limit int, sender turnstile.Key)

	// Plain appends the whole answer to r to out. It sets r.Closes if the connection must be closed
	// after that. If it appends nothing, r is not plain after all, nothing has been counted, and
	// Handle must answer the same bytes. If it is nil, no request is plain. It may panic, and out is
	// then to be cut back to what it was.
	Plain func(out []byte, r *Plain) []byte

	// PlainPanic appends the answer to r after a panic of Plain with cause, and sets r.Closes. It must
	// be called by the deferred function that recovered the panic.
	PlainPanic func(out []byte, r *Plain, cause any) []byte

	// Reader reads the plain requests. It is required if Plain is set.
	Reader *Reader

	// Latency measures the answers of Plain; nil: nothing does.
	Latency *Latency

	// Outlived is set if the listening sockets outlive the process, because a service manager holds them and
	// passes them to the next process. When the listeners are closed, connections that wait at the sockets
	// are left to that process.
	Outlived bool

	// Loops is the number of event loops of each listener that loops can serve: a TCP or Unix listener
	// without TLS, on Linux. The loops own its connections until one sends a request that is not
	// plain. 0: fasthttp owns all connections from the beginning.
	Loops int

	Limits   Limits // of each listener
	Patience Patience
	Drain    *Drain // required; several groups may share one
	Log      *slog.Logger

	once      sync.Once        // makes http
	http      *fasthttp.Server // use server()
	answers   sync.Pool        // of *answers, for lanes
	accepting sync.WaitGroup   // calls of http.Serve; added to before the drain begins, with mu held
	mu        struct {
		sync.Mutex
		listeners []*listener
	}
}

// A Drain is the shutdown of a server. The groups of the server share it, so that all of them
// refuse new listeners when it begins and keep sweeping until it ends.
type Drain struct {
	begun atomic.Bool
	over  chan struct{} // closed by End
}

// NewDrain returns a Drain that has not begun.
func NewDrain() *Drain { return &Drain{over: make(chan struct{})} }

// Begin begins the drain. It returns false if the drain had begun before.
func (d *Drain) Begin() (first bool) { return !d.begun.Swap(true) }

// Begun reports whether the drain has begun.
func (d *Drain) Begun() bool { return d.begun.Load() }

// End lets all calls of Serve return. Call it once, after Shutdown of each group.
func (d *Drain) End() { close(d.over) }

// Serve serves ln until the drain ends or ln fails. ln may be a TLS listener. Serve closes ln and
// returns at once if the drain has begun. It starts the sweep and the loops, and joins them.
func (g *Group) Serve(ln net.Listener) error {
	l := newListener(ln, g.Limits, g.Patience, g.Log)
	if g.Plain != nil {
		l.plain, l.loops = g, g.newLoops(l, ln)
	}
	if !g.add(l) { // the drain has begun: there is nothing to serve
		return errors.Join(l.Close(), l.loops.discard())
	}
	done := make(chan struct{})
	var sweeper sync.WaitGroup
	sweeper.Go(func() { l.sweepUntil(done) })
	looping := l.loops.run()
	err := g.server().Serve(l)
	l.loops.awaitClosed()
	g.accepting.Done()
	if g.Drain.Begun() {
		<-g.Drain.over
	} else {
		l.closeAll()
	}
	close(done)
	sweeper.Wait()
	l.loops.tellAll(end)
	looping.Wait()
	g.remove(l)
	return err
}

// add adds l to the group. It returns false if the drain has begun.
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

// Open returns the number of open connections.
func (g *Group) Open() (n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, l := range g.mu.listeners {
		n += l.open()
	}
	return n
}

// Sweep lets one second pass on every listener and ends the connections that take too long. Serve
// does the same for its listener once a second, so only tests need Sweep: with it they let hours
// pass.
func (g *Group) Sweep() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, l := range g.mu.listeners {
		l.sweep()
	}
}

// CloseListeners closes the listeners and returns when no goroutine accepts connections any more.
// No connection that was accepted is lost by that; one that waits at a socket is accepted by a loop
// or, if the socket is Outlived, left.
// fasthttp counts a goroutine that accepts as a connection, and its Shutdown checks only ten times
// a second whether all connections have gone.
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

// CloseSilent closes the connections that were opened at least age ago and have sent nothing yet.
func (g *Group) CloseSilent(age time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, l := range g.mu.listeners {
		l.closeSilent(age)
	}
}

// CloseKept closes the connections whose requests are all answered, if there was one. Their clients may
// be sending the next one; a client may repeat that elsewhere, because it gets no byte of an answer
// (RFC 9110, 9.2.2; RFC 9112, 9.3.1). Call CloseListeners first.
func (g *Group) CloseKept() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, l := range g.mu.listeners {
		l.loops.tellAll(closeKept)
		l.dropKept()
	}
}

// Shutdown closes the connections that are idle or have sent nothing yet. It waits for the requests
// under way until ctx ends. Call CloseListeners first.
func (g *Group) Shutdown(ctx context.Context) error {
	g.CloseSilent(0)
	g.closeIdle()
	if err := g.server().ShutdownWithContext(ctx); err != nil {
		return err
	}
	return g.awaitNone(ctx)
}

// closeIdle makes the loops close their idle connections, and give those with a request under way to
// fasthttp.
func (g *Group) closeIdle() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, l := range g.mu.listeners {
		l.loops.tellAll(closeIdle)
	}
}

// awaitNone waits until no connection is open, or ctx ends. Some are not yet known to fasthttp when
// its Shutdown returns: those that loops hand over, or keep until the client has read its answers.
// Those that fasthttp then finds idle are closed here.
func (g *Group) awaitNone(ctx context.Context) error {
	poll := time.NewTicker(5 * time.Millisecond)
	defer poll.Stop()
	for g.Open() > 0 {
		select {
		case <-poll.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		g.dropIdle()
	}
	return nil
}

// Cut closes all connections, whatever is under way on them, and returns when none is left, or ctx ends: then
// no handler uses what the caller is about to close. Call Shutdown first.
func (g *Group) Cut(ctx context.Context) error {
	poll := time.NewTicker(5 * time.Millisecond)
	defer poll.Stop()
	for g.Open() > 0 {
		g.cut() // again and again: a loop may be handing one over
		select {
		case <-poll.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (g *Group) cut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, l := range g.mu.listeners {
		l.closeAll()
	}
}

// dropIdle closes the idle connections of fasthttp.
func (g *Group) dropIdle() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, l := range g.mu.listeners {
		l.dropIdle()
	}
}

// Beat reports whether every event loop has obeyed the order of the last call, and gives the next order. With
// calls at even intervals, false means that a loop has not run in the last interval.
//
// A loop that waits in the kernel for a disk counts as one that runs: if the file system of the
// journal is frozen, its thread waits for the thaw, and it would wait as long in a new process.
func (g *Group) Beat() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	all := true
	for _, l := range g.mu.listeners {
		all = l.loops.beat() && all
	}
	return all
}

// LoopConnections returns how many connections each loop of each listener owns.
func (g *Group) LoopConnections() (open []int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, l := range g.mu.listeners {
		open = append(open, l.loops.open()...)
	}
	return open
}

// Pressed returns for how long all loops have been busy: each found several requests at each wake-up. It is 0
// without loops, and while a loop serves no connection.
func (g *Group) Pressed(now time.Time) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	latest := int64(0)
	for _, l := range g.mu.listeners {
		since, ok := l.loops.pressedMs()
		if !ok {
			return 0
		}
		latest = max(latest, since)
	}
	if latest == 0 {
		return 0
	}
	return max(0, now.Sub(time.UnixMilli(latest)))
}

// serveHanded serves a connection that a loop has handed over.
func (g *Group) serveHanded(c *conn) { _ = g.server().ServeConn(c) } // the error is the client's

// handle calls Handle. fasthttp counts the requests on a connection from the moment when it gets it;
// the row counts those that loop and lane have answered, too. If the server ends the connection and
// the client has not asked for that, other requests may be on their way, so Close lingers.
func (g *Group) handle(ctx *fasthttp.RequestCtx) {
	RefreshDate(ctx.Time())
	c := connOf(ctx.Conn())
	if c == nil {
		g.Handle(ctx)
		return
	}
	c.isHEAD = false
	if c.row.requests++; c.row.requests >= uint32(g.http.MaxRequestsPerConn) {
		ctx.SetConnectionClose()
	}
	g.Handle(ctx)
	if ctx.Response.ConnectionClose() && !ctx.Request.ConnectionClose() {
		c.lingers.Store(true)
	}
}

// server returns the HTTP server of the group.
//
// Header names are normalized (DisableHeaderNamesNormalizing stays off), because Peek compares
// canonical names and clients write them in any case. The sweep enforces timeouts: ReadTimeout and
// IdleTimeout cost 0.66 µs of the 5 µs of a request.
func (g *Group) server() *fasthttp.Server {
	g.once.Do(func() {
		g.http = &fasthttp.Server{
			Handler:                      g.handle,
			ErrorHandler:                 g.refuseUnread,
			HeaderReceived:               g.prepareBody,
			ExpectHandler:                expected,
			ConnState:                    noteState,
			Concurrency:                  MaxConnections,
			ReadBufferSize:               maxHeaderBytes,
			MaxRequestBodySize:           MaxBodyBytes,
			MaxRequestsPerConn:           maxRequestsPerConn,
			MaxIdleWorkerDuration:        time.Minute, // it looks for idle ones as often
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

// silent discards fasthttp's log, which quotes bytes of bad requests. They are counted instead.
type silent struct{}

func (silent) Printf(string, ...any) {}
