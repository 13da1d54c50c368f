package wire

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/wire/conns"
	"shunt/api/wire/http1"
	"shunt/api/wire/loop"
)

// Serve serves ln until the drain ends or ln fails. ln may be a TLS listener. Serve closes ln and
// returns at once if the drain has begun. It starts the sweep and the loops, and joins them.
func (g *Group) Serve(ln net.Listener) error {
	l := newListener(ln, g)
	if g.Plain != nil {
		l.loops = loop.New(l.Table, g.Loops, ln, loop.Use{Door: g.door(), Outlived: g.Outlived, TakeOver: l.takeOver, Refusal: g.appendRefusal, Fail: l.fail})
	}
	if !g.add(l) { // the drain has begun: there is nothing to serve
		return errors.Join(l.Close(), l.loops.Discard())
	}
	done := make(chan struct{})
	var sweeper sync.WaitGroup
	sweeper.Go(func() { l.SweepUntil(done) })
	looping := l.loops.Run()
	err := g.server().Serve(l)
	l.loops.AwaitClosed()
	g.accepting.Done()
	if g.Drain.Begun() {
		<-g.Drain.over
	} else {
		l.CloseAll()
	}
	close(done)
	sweeper.Wait()
	l.TellAll(conns.End)
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

// each calls do with every listener.
func (g *Group) each(do func(l *listener)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, l := range g.mu.listeners {
		do(l)
	}
}

// Open returns the number of open connections.
func (g *Group) Open() (n int) {
	g.each(func(l *listener) { n += l.Open() })
	return n
}

// Sweep lets one second pass on every listener and ends the connections that take too long. Serve
// does the same for its listener once a second, so only tests need Sweep: with it they let hours
// pass.
func (g *Group) Sweep() { g.each(func(l *listener) { l.Sweep() }) }

// CloseListeners closes the listeners and returns when no goroutine accepts connections any more.
// No connection that was accepted is lost by that; one that waits at a socket is accepted by a loop
// or, if the socket is Outlived, left.
// fasthttp counts a goroutine that accepts as a connection, and its Shutdown checks only ten times
// a second whether all connections have gone.
func (g *Group) CloseListeners() error {
	var err error
	g.each(func(l *listener) { err = errors.Join(err, l.Close()) })
	g.accepting.Wait()
	return err
}

// CloseSilent closes the connections that were opened at least age ago and have sent nothing yet.
func (g *Group) CloseSilent(age time.Duration) { g.each(func(l *listener) { l.CloseSilent(age) }) }

// CloseKept closes the connections whose requests are all answered, if there was one. Their clients may
// be sending the next one; a client may repeat that elsewhere, because it gets no byte of an answer
// (RFC 9110, 9.2.2; RFC 9112, 9.3.1). Call CloseListeners first.
func (g *Group) CloseKept() {
	g.each(func(l *listener) {
		l.TellAll(conns.CloseKept)
		l.DropKept()
	})
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
func (g *Group) closeIdle() { g.each(func(l *listener) { l.TellAll(conns.CloseIdle) }) }

// awaitNone waits until no connection is open, or ctx ends. Some are not yet known to fasthttp when
// its Shutdown returns: those that loops hand over, or keep until the client has read its answers.
// Those that fasthttp then finds idle are closed here.
func (g *Group) awaitNone(ctx context.Context) error {
	return g.endUntilNone(ctx, func(l *listener) { l.DropIdle() })
}

// Cut closes all connections, whatever is under way on them, and returns when none is left, or ctx ends: then
// no handler uses what the caller is about to close. Call Shutdown first.
func (g *Group) Cut(ctx context.Context) error {
	closeAll := func(l *listener) { l.CloseAll() }
	g.each(closeAll)
	return g.endUntilNone(ctx, closeAll)
}

// endUntilNone waits until no connection is open, or ctx ends. It calls end again and again, because a loop may be
// handing one over.
func (g *Group) endUntilNone(ctx context.Context, end func(l *listener)) error {
	poll := time.NewTicker(5 * time.Millisecond)
	defer poll.Stop()
	for g.Open() > 0 {
		select {
		case <-poll.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		g.each(end)
	}
	return nil
}

// Beat reports whether every event loop has obeyed the order of the last call, and gives the next order. With
// calls at even intervals, false means that a loop has not run in the last interval.
//
// A loop that waits in the kernel for a disk counts as one that runs: if the file system of the
// journal is frozen, its thread waits for the thaw, and it would wait as long in a new process.
func (g *Group) Beat() bool {
	all := true
	g.each(func(l *listener) { all = l.loops.Beat() && all })
	return all
}

// LoopConnections returns how many connections each loop of each listener owns.
func (g *Group) LoopConnections() (open []int) {
	g.each(func(l *listener) { open = append(open, l.loops.Open()...) })
	return open
}

// Pressed returns for how long all loops have been busy: each found several requests at each wake-up. It is 0
// without loops, and while a loop serves no connection.
func (g *Group) Pressed(now time.Time) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	latest := int64(0)
	for _, l := range g.mu.listeners {
		since, ok := l.loops.PressedMs()
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

// takeOver serves c, which a loop has handed over after it has read ahead from it.
func (l *listener) takeOver(c net.Conn, r *conns.Row, ahead []byte) {
	tracked := l.wrap(c, r)
	tracked.ahead, tracked.adopted = ahead, true
	go func() { _ = l.plain.server().ServeConn(tracked) }() // the error is the client's
}

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
	if c.Row.Requests++; c.Row.Requests >= uint32(g.http.MaxRequestsPerConn) {
		ctx.SetConnectionClose()
	}
	g.Handle(ctx)
	if ctx.Response.ConnectionClose() && !ctx.Request.ConnectionClose() {
		c.lingers.Store(true)
	}
}

// door returns what answers plain requests.
func (g *Group) door() loop.Door {
	return loop.Door{
		Reader: g.Reader, Plain: g.Plain, PlainPanic: g.PlainPanic, Latency: g.Latency, MaxRequests: uint32(g.server().MaxRequestsPerConn),
	}
}

// IdleWorkers is how long a goroutine of fasthttp waits for another connection, and how often fasthttp looks for such
// ones. It keeps a server that has ended in memory for as long. Only tests change it.
var IdleWorkers = time.Minute

// server returns the HTTP server of the group.
//
// Header names are normalized (DisableHeaderNamesNormalizing stays off), because Peek compares
// canonical names and clients write them in any case. The sweep enforces timeouts: ReadTimeout and
// IdleTimeout cost 0.66 µs of the 5 µs of a request.
func (g *Group) server() *fasthttp.Server {
	g.once.Do(func() {
		g.answers.New = func() any { a := loop.NewAnswers(g.door()); return &a }
		g.http = &fasthttp.Server{
			Handler:                      g.handle,
			ErrorHandler:                 g.refuseUnread,
			HeaderReceived:               g.prepareBody,
			ExpectHandler:                expected,
			ConnState:                    noteState,
			Concurrency:                  conns.MaxConnections,
			ReadBufferSize:               http1.MaxHeaderBytes,
			MaxRequestBodySize:           http1.MaxBodyBytes,
			MaxRequestsPerConn:           maxRequestsPerConn,
			MaxIdleWorkerDuration:        IdleWorkers,
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
