package wire

import (
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/valyala/fasthttp"

	"shunt/api/problem"
	"shunt/api/turnstile"
	"shunt/api/wire/conns"
	"shunt/api/wire/http1"
	"shunt/api/wire/loop"
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
	Plain func(out []byte, r *http1.Plain) []byte

	// PlainPanic appends the answer to r after a panic of Plain with cause, and sets r.Closes. It must
	// be called by the deferred function that recovered the panic.
	PlainPanic func(out []byte, r *http1.Plain, cause any) []byte

	// Reader reads the plain requests. It is required if Plain is set.
	Reader *http1.Reader

	// Latency measures the answers of Plain; nil: nothing does.
	Latency *loop.Latency

	// Outlived is set if the listening sockets outlive the process, because a service manager holds them and
	// passes them to the next process. When the listeners are closed, connections that wait at the sockets
	// are left to that process.
	Outlived bool

	// Loops is the number of event loops of each listener that loops can serve: a TCP or Unix listener
	// without TLS, on Linux. The loops own its connections until one sends a request that is not
	// plain. 0: fasthttp owns all connections from the beginning.
	Loops int

	Limits   conns.Limits // of each listener
	Patience conns.Patience
	Drain    *Drain // required; several groups may share one
	Log      *slog.Logger

	once      sync.Once        // makes http
	http      *fasthttp.Server // use server()
	answers   sync.Pool        // of *loop.Answers: one for each goroutine that answers in a lane at present
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
