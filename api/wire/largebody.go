package wire

import (
	"cmp"
	"slices"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/valyala/fasthttp"

	"shunt/api/problem"
	"shunt/api/turnstile"
)

// Limits of large bodies, which are larger than MaxBodyBytes. fasthttp allocates a body of a known
// length before its first byte has come, so 32 bodies of 8 MiB take 256 MiB a listener. No sender
// has more than a quarter of the places, so at least four senders are needed to take all of them.
// Then other bodies wait, and slow bodies lose their places.
//
// A body that moves 256 KiB a second (2 Mbit/s) from its beginning is never cut: the largest has
// come after 32 s. A slower body has 4 s to begin. When another body waits, the slower one loses
// its place at the next sweep, after 5 s at most. So a body that may wait 10 s gets the place of a
// slow one in time.
const (
	maxLargeBodies        = 32
	maxLargeBodiesCaller  = 8 // waiting ones included
	maxLargeBodiesWaiting = 64
	largeBodyPatience     = 10 * time.Second

	largeBodyRate  = 256 << 10 // bytes a second, required while others wait
	largeBodyGrace = 4         // of the sweeper's seconds
)

// chunkedLargeBytes is the size from which a chunked body is large. A sender without a right to
// large bodies never reaches it: fasthttp refuses the body when it has read a buffer beyond
// MaxBodyBytes.
const chunkedLargeBytes = MaxBodyBytes + 2*maxHeaderBytes

// newLargeBodies returns the places for large bodies of one listener.
func newLargeBodies() *turnstile.Turnstile {
	return turnstile.New(turnstile.Limits{
		Places: maxLargeBodies, PerCaller: maxLargeBodiesCaller, Waiting: maxLargeBodiesWaiting, Patience: largeBodyPatience,
	})
}

// A largePlace is a connection's place for a large body, or its claim to one. The goroutine that
// reads takes the place and gives it back when the request has been answered or refused; closing
// the connection gives it back, too. The sweep reads the atomics.
type largePlace struct {
	of    *turnstile.Turnstile // nil: unlimited
	clock *atomic.Int64        // the sweeper's
	key   turnstile.Key        // the sender; written before taken
	since atomic.Int64         // when the place was taken, on that clock

	taken    atomic.Bool
	arriving atomic.Bool // a part of the body has yet to come
	cut      atomic.Bool // the sweep has ended the body for another that waits
}

// take waits for a place if the connection has none. It returns an error of the turnstile if no
// place is free in time.
func (p *largePlace) take() error {
	if p.of == nil || p.taken.Load() {
		return nil
	}
	if err := p.of.Enter(p.key); err != nil {
		return err
	}
	p.since.Store(p.clock.Load())
	p.cut.Store(false)
	p.arriving.Store(true)
	p.taken.Store(true)
	return nil
}

// arrived records that the whole body has come.
func (p *largePlace) arrived() { p.arriving.Store(false) }

// leave gives the place back, if there is one.
func (p *largePlace) leave() {
	if p.taken.Swap(false) {
		p.arriving.Store(false)
		p.of.Leave(p.key)
	}
}

// lag returns how many bytes the body lacks at now to have the rate that is required while others
// wait. It is 0 or less if the body has come or is fast enough.
func (p *largePlace) lag(now, moved int64) int64 {
	if !p.taken.Load() || !p.arriving.Load() {
		return 0
	}
	return (now-p.since.Load()-largeBodyGrace)*largeBodyRate - moved
}

// slowLargeLocked returns the connections whose large bodies are to be cut, the slowest first, and
// at most as many as there are bodies that wait.
func (l *listener) slowLargeLocked(now int64) (slow []*conn) {
	waiting := l.large.Waiting()
	if waiting == 0 {
		return nil
	}
	lags := make(map[*conn]int64)
	l.mu.all(func(r *row) {
		c := r.conn
		if c == nil {
			return
		}
		if lag := c.gate.large.lag(now, c.moved.Load()); lag > 0 {
			lags[c] = lag
			slow = append(slow, c)
		}
	})
	slices.SortFunc(slow, func(a, b *conn) int { return cmp.Compare(lags[b], lags[a]) })
	return slow[:min(len(slow), waiting)]
}

// cutLarge makes the read of a slow body fail. fasthttp then answers 408, and the place is given
// back.
func (c *conn) cutLarge() {
	c.gate.large.cut.Store(true)
	_ = c.SetReadDeadline(time.Unix(1, 0)) // if it fails, the connection is dead already
}

// admitBody returns how large the body that h announces may be: limit, or less if the body is large
// and there is no place for key. A chunked body takes a place only once it turns out to be large.
func admitBody(h *fasthttp.RequestHeader, limit int, key turnstile.Key) int {
	length := h.ContentLength()
	if length > limit {
		h.Del(fasthttp.HeaderExpect) // or fasthttp would ask for a body that it then refuses
	}
	if limit <= MaxBodyBytes || length > limit {
		return limit
	}
	c := connOf(contextOf(h).Conn())
	if c == nil {
		return limit
	}
	place := &c.gate.large
	if place.key = key; length <= MaxBodyBytes {
		return limit
	}
	if err := place.take(); err != nil {
		c.gate.refuse(problem.Overloaded, err.Error())
		h.Del(fasthttp.HeaderExpect)
		return MaxBodyBytes // less than announced, so that fasthttp reads nothing of the body
	}
	return limit
}

// contextOf returns the context whose header is h. fasthttp calls HeaderReceived with a pointer to
// a field of a field of the connection's context and gives no other way to find the connection.
// TestTheHookForAHeaderFindsItsConnection fails if that changes.
func contextOf(h *fasthttp.RequestHeader) *fasthttp.RequestCtx {
	const offset = unsafe.Offsetof(fasthttp.RequestCtx{}.Request) + unsafe.Offsetof(fasthttp.Request{}.Header)
	return (*fasthttp.RequestCtx)(unsafe.Add(unsafe.Pointer(h), -int(offset)))
}
