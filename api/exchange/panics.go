package exchange

import (
	"log/slog"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/problem"
)

// Recovered is deferred once at the top of every request, because fasthttp lets a panic end the
// process.
func (l *PanicLog) Recovered(ctx *fasthttp.RequestCtx) {
	if v := recover(); v != nil {
		id := RequestID(ctx)
		l.Log(v, inLog(ctx))
		ctx.Response.Reset()
		ctx.SetConnectionClose()
		if id != "" {
			ctx.Response.Header.Set(HeaderRequestID, id)
		}
		AnswerInternal(ctx)
	}
}

// AnswerInternal answers a request whose handler panicked.
func AnswerInternal(ctx *fasthttp.RequestCtx) {
	WriteProblem(ctx, problem.Problem{Kind: problem.Internal, Detail: "the cause is in the server's log"})
}

const (
	panicInterval = time.Minute // between two log lines about one place
	maxPanicSites = 64          // more places than one program panics at
)

// A PanicLog logs panics, those at one place in the code at most once a minute: a log line for each
// request would fill the disk that the hits need.
type PanicLog struct {
	Out *slog.Logger
	mu  struct {
		sync.Mutex
		sites map[panicSite]panics // at most maxPanicSites
	}
}

// A panicSite is where a panic came from: the program counters of the functions under way, the
// innermost first. It ends before those that tell one event of a loop from another.
type panicSite [6]uintptr

// siteOfPanic returns where the panic under way came from, whoever recovered it: what the runtime's
// gopanic was called by.
func siteOfPanic() (site panicSite) {
	var frames [32]uintptr // those of who recovered it come first
	under := frames[:runtime.Callers(1, frames[:])]
	for i, pc := range under {
		if f := runtime.FuncForPC(pc - 1); f != nil && f.Name() == "runtime.gopanic" {
			copy(site[:], under[i+1:])
			break
		}
	}
	return site
}

type panics struct {
	logged   time.Time
	unlogged int
}

// Log logs a panic with v in the request that id names. It must be called below the deferred function that recovered
// it.
func (l *PanicLog) Log(v any, id slog.Attr) {
	if repeats, first := l.count(siteOfPanic(), time.Now()); first {
		l.Out.Error("panic in a request", slog.Any("cause", v), slog.Int("repeated_unlogged", repeats), id,
			slog.String("stack", string(debug.Stack())))
	}
}

// count counts a panic. due reports whether to log it; unlogged is the number of panics at its
// place that were not logged since the last log line.
func (l *PanicLog) count(site panicSite, now time.Time) (unlogged int, due bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p, known := l.mu.sites[site]
	if known && now.Sub(p.logged) < panicInterval {
		p.unlogged++
		l.mu.sites[site] = p
		return 0, false
	}
	if l.mu.sites == nil || len(l.mu.sites) >= maxPanicSites {
		l.mu.sites = make(map[panicSite]panics)
	}
	l.mu.sites[site] = panics{logged: now}
	return p.unlogged, true
}
