package links

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"runtime/debug"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/exchange"
	"shunt/api/ops"
	"shunt/api/problem"
	"shunt/api/wire"
	"shunt/engine"
)

// Limits of live figures. A stream costs a connection with its buffers, two goroutines, and each
// second a read of the token and of the link's counts from the store.
const (
	maxLiveStreams       = 256
	maxLiveStreamsCaller = 16
	liveInterval         = time.Second      // between two looks at the figures, so also the shortest time between two events
	liveCommentInterval  = 15 * time.Second // between two comments, which show that the stream is alive
	liveLongest          = 10 * time.Minute // then a stream ends; whoever still looks at it opens another
)

// Live answers the calls for live figures: it limits the number of streams, and ends them all
// at shutdown.
type Live struct {
	*ops.Places
	ending <-chan struct{} // closed by Shutdown
	Ops    *ops.Calls
	stale  func() bool // this node may not know any more who may see what
	log    *slog.Logger
}

// NewLive returns the calls for live figures. stale reports whether this node may not know any more who may see what.
func NewLive(calls *ops.Calls, stale func() bool, ending <-chan struct{}, log *slog.Logger) *Live {
	return &Live{newPlaces(), ending, calls, stale, log}
}

func newPlaces() *ops.Places {
	return ops.NewPlaces("live streams", maxLiveStreams, maxLiveStreamsCaller)
}

// StreamStats is GET /stats/{code}/live: the two figures as server-sent events (HTML, 9.2). HEAD
// gets the header fields.
func (c *Live) StreamStats(ctx *fasthttp.RequestCtx, caller account.Caller) error {
	code, whose, err := linkAsked(ctx, c.Ops, caller)
	if err != nil {
		return err
	}
	watched, err := c.Ops.Watch(caller, code, whose)
	if err != nil {
		return err
	}
	return c.stream(ctx, caller, &liveStream{
		recheck: c.Ops.Recheck(caller, whose, account.StatsRead),
		hits:    func() (uint64, error) { return c.Ops.Hits(caller, watched) },
		figures: func() (liveFigures, error) {
			f, err := c.Ops.Figures(caller, code, ops.FiguresQuery{Whose: whose})
			return liveFigures{f.Hits, f.Unique}, err
		},
	})
}

// StreamOf is dashboard.Stream: it answers with what read returns. read may be costly, so what was
// read for the hits is not read again for the figures.
func (c *Live) StreamOf(
	ctx *fasthttp.RequestCtx, caller account.Caller, w ops.Whose, read func() (hits, unique uint64, err error),
) error {
	var f liveFigures
	fresh := false // f has yet to be returned as figures
	return c.stream(ctx, caller, &liveStream{
		recheck: c.Ops.Recheck(caller, w, account.StatsRead),
		hits: func() (_ uint64, err error) {
			f.hits, f.unique, err = read()
			fresh = err == nil
			return f.hits, err
		},
		figures: func() (_ liveFigures, err error) {
			if !fresh {
				f.hits, f.unique, err = read()
			}
			fresh = false
			return f, err
		},
	})
}

var errStale = problem.New(problem.Stale, "this node has had no connection to the log of its cluster for some time")

// stream makes live figures the body of the answer, if the caller may have one more stream.
func (c *Live) stream(ctx *fasthttp.RequestCtx, caller account.Caller, l *liveStream) error {
	if !ctx.Request.Header.IsHTTP11() {
		return problem.New(problem.BadRequest, "live figures need HTTP/1.1, because the answer has no end")
	}
	h := &ctx.Response.Header
	h.SetContentType("text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // or nginx buffers events
	h.Set("X-Content-Type-Options", "nosniff")
	if ctx.IsHead() {
		return nil
	}
	if err := c.Take(ops.KeyOf(caller)); err != nil {
		return err
	}
	// No request follows on this connection, so any byte on it, or its end, means that the client
	// has stopped.
	ctx.SetConnectionClose()
	l.ending, l.conn, l.log = c.ending, ctx.Conn(), exchange.LoggerOf(ctx, c.log)
	l.release = func() { c.Leave(ops.KeyOf(caller)) }
	may := l.recheck
	l.recheck = func() error {
		if c.stale() {
			return errStale
		}
		return may()
	}
	ctx.SetBodyStream(l, -1)
	return nil
}

// liveFigures is the data of an event.
type liveFigures struct{ hits, unique uint64 }

// A liveStream is the body of an endless answer. fasthttp reads it on the connection's goroutine,
// and sends the bytes of each Read before it reads again. So each Read tells the sweep that the
// connection is alive; if a client does not read, no Read follows, and the sweep treats the
// connection like any other request that takes too long.
//
// A second goroutine, watch, waits for the client to disconnect. It ends with the connection, which
// is closed after the stream's end: nothing could wake it earlier without cutting off the bytes
// that have yet to be sent.
type liveStream struct {
	recheck func() error                // called before hits: the caller may still see them; an error ends the stream
	hits    func() (uint64, error)      // called before figures; an error ends the stream
	figures func() (liveFigures, error) // more expensive than hits
	ending  <-chan struct{}             // closed when the server shuts down
	conn    net.Conn
	release func()
	log     *slog.Logger

	gone      chan struct{} // closed by watch; nil until the first Read
	timer     *time.Timer   // until the next look
	until     time.Time     // when the stream ends
	commented time.Time     // when the last comment was sent
	last      liveFigures   // sent
	settled   bool          // last was read twice: it is final until the hits change
	unread    []byte        // bytes that have yet to be sent
	ended     bool
}

var errStreamBroken = errors.New("api: the stream is broken")

// Read waits for something to send. It implements io.Reader. It recovers its own panics, because
// its caller does not.
func (l *liveStream) Read(p []byte) (n int, err error) {
	defer func() {
		if v := recover(); v != nil {
			l.log.Error("panic in live figures", slog.Any("cause", v), slog.String("stack", string(debug.Stack())))
			n, err = 0, errStreamBroken
		}
	}()
	if l.gone == nil {
		l.start()
	}
	for len(l.unread) == 0 {
		if l.ended {
			return 0, io.EOF
		}
		l.wait()
	}
	n = copy(p, l.unread)
	l.unread = l.unread[n:]
	return n, nil
}

// Close ends the stream, whether or not it was read to its end.
func (l *liveStream) Close() error {
	if l.timer != nil {
		l.timer.Stop()
	}
	l.release()
	return nil
}

func (l *liveStream) start() {
	l.gone = make(chan struct{})
	go l.watch()
	l.commented = time.Now()
	l.until = l.commented.Add(liveLongest)
	l.timer = time.NewTimer(liveInterval)
	if figures, err := l.figures(); busy(err) {
		return
	} else if err != nil {
		l.fail(err)
	} else {
		l.send(figures)
	}
}

// watch waits until the client closes the connection or sends a byte; either ends the stream.
func (l *liveStream) watch() {
	defer close(l.gone)
	wire.AwaitEnd(l.conn)
}

// wait waits until the next look is due, and takes it.
func (l *liveStream) wait() {
	select {
	case <-l.gone:
		l.ended = true
		return
	case <-l.ending:
		l.end("shutdown")
		return
	case <-l.timer.C:
	}
	wire.Renew(l.conn)
	if err := l.look(); err != nil && !busy(err) {
		l.fail(err)
	}
	switch now := time.Now(); {
	case l.ended:
	case now.After(l.until):
		l.end("time")
	case now.Sub(l.commented) >= liveCommentInterval:
		l.commented = now
		l.unread = append(l.unread, ":\n\n"...)
	}
	l.timer.Reset(liveInterval)
}

// look queues the figures for sending if they have changed. Hits are counted a moment before their
// visitors, so after a change it reads both once more.
func (l *liveStream) look() error {
	if err := l.recheck(); err != nil {
		return err
	}
	hits, err := l.hits()
	if err != nil || hits == l.last.hits && l.settled {
		return err
	}
	figures, err := l.figures()
	if err != nil {
		return err
	}
	if l.settled = figures == l.last; !l.settled {
		l.send(figures)
	}
	return nil
}

// busy reports whether err passes, so that the next look may succeed.
func busy(err error) bool {
	p, _ := problem.Of(err)
	return err != nil && p.Kind == problem.Overloaded
}

func (l *liveStream) send(f liveFigures) {
	l.last = f
	l.unread = fmt.Appendf(l.unread, "data: {\"hits\":%d,\"unique\":%d}\n\n", f.hits, f.unique)
}

// end queues the reason why the stream ends. After "deleted" or "unauthorized" a client need not
// connect again; after "time" it may at once.
func (l *liveStream) end(reason string) {
	l.unread = fmt.Appendf(l.unread, "event: end\ndata: {\"reason\":%q}\n\n", reason)
	l.ended = true
}

func (l *liveStream) fail(err error) {
	switch {
	case errors.Is(err, engine.ErrNotFound):
		l.end("deleted")
	case errors.Is(err, account.ErrUnauthorized):
		l.end("unauthorized")
	default:
		l.log.Error("live figures failed", slog.Any("cause", err))
		l.end("error")
	}
}
