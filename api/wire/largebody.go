package wire

import (
	"slices"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/valyala/fasthttp"

	"shunt/api/problem"
	"shunt/api/turnstile"
)

// Limits of large bodies: those of more than the usual size. fasthttp makes room for a body of a
// known length before its first byte, so 32 of them take 256 MiB a listener. Nobody has more than a
// quarter of the places, so that four at least must come together to hold all of them; then others
// wait, and slow ones lose their place.
//
// A body that moves 256 KiB a second (2 Mbit/s) from its beginning is never cut: the largest has
// come after 32 s. A slower one has 4 s for the beginning of its connection and loses its place at
// the sweep after that, as soon as somebody waits: after 5 s at most, so nobody who waits 10 s
// waits in vain for slow bodies.
const (
	maxLargeBodies        = 32
	maxLargeBodiesCaller  = 8 // those that wait included
	maxLargeBodiesWaiting = 64
	largeBodyPatience     = 10 * time.Second

	largeBodyRate  = 256 << 10 // bytes a second, while others wait
	largeBodyGrace = 4         // of the sweeper's seconds
)

// chunkedLargeBytes is what makes a chunked body a large one. fasthttp refuses what is more than usual, of whom it does not
// know, when it has read a buffer beyond that; nobody else gets so far.
const chunkedLargeBytes = MaxBodyBytes + 2*maxHeaderBytes

// newLargeBodies returns the places of a listener for large bodies.
func newLargeBodies() *turnstile.Turnstile {
	return turnstile.New(turnstile.Limits{
		Places: maxLargeBodies, PerCaller: maxLargeBodiesCaller, Waiting: maxLargeBodiesWaiting, Patience: largeBodyPatience,
	})
}

// A largePlace is the place that a connection has, or has not, for a large body. The goroutine that
// reads takes it, and gives it back when the request has been answered or refused; whoever closes
// the connection gives it back, too. The sweep looks at it.
type largePlace struct {
	of    *turnstile.Turnstile // nil: unlimited
	clock *atomic.Int64        // the sweeper's
	key   turnstile.Key        // whose body it is; written before taken
	since atomic.Int64         // when it was taken, on that clock

	taken    atomic.Bool
	arriving atomic.Bool // something of the body is still to come
	cut      atomic.Bool // the sweep has ended it for somebody who waits
}

// take waits for a place, if the connection has none. It returns an error of the turnstile if there
// is none in time.
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

// arrived notes that the whole body has come.
func (p *largePlace) arrived() { p.arriving.Store(false) }

func (p *largePlace) leave() {
	if p.taken.Swap(false) {
		p.arriving.Store(false)
		p.of.Leave(p.key)
	}
}

// lag returns by how many bytes a body is behind the rate that it must have while others wait; not
// more than 0 if it has come, or comes in time.
func (p *largePlace) lag(now, moved int64) int64 {
	if !p.taken.Load() || !p.arriving.Load() {
		return 0
	}
	return (now-p.since.Load()-largeBodyGrace)*largeBodyRate - moved
}

// slowLargeLocked returns the connections whose large bodies are to make room for others: as many
// as wait, the slowest first.
func (l *listener) slowLargeLocked(now int64) (slow []*conn) {
	waiting := l.large.Waiting()
	if waiting == 0 {
		return nil
	}
	lags := make(map[*conn]int64)
	for c := range l.mu.conns {
		if lag := c.gate.large.lag(now, c.moved.Load()); lag > 0 {
			lags[c] = lag
			slow = append(slow, c)
		}
	}
	slices.SortFunc(slow, func(a, b *conn) int { return int(lags[b] - lags[a]) })
	return slow[:min(len(slow), waiting)]
}

// cutLarge has the read of a slow body fail; fasthttp answers 408 then, and the place is given
// back.
func (c *conn) cutLarge() {
	c.gate.large.cut.Store(true)
	_ = c.SetReadDeadline(time.Unix(1, 0)) // if it fails, the connection is dead already
}

// admitBody returns how large the body that h announces may be, which is limit, or less if a large
// one finds no place for key. A chunked body needs a place once it turns out to be large.
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
		return MaxBodyBytes // less than is announced, so that fasthttp reads nothing of it
	}
	return limit
}

// contextOf returns the context that h is the header of. fasthttp calls HeaderReceived with a
// pointer to a field of a field of the connection's context, and has no other way to say whose
// header it is; TestTheHookForAHeaderFindsItsConnection holds it.
func contextOf(h *fasthttp.RequestHeader) *fasthttp.RequestCtx {
	const offset = unsafe.Offsetof(fasthttp.RequestCtx{}.Request) + unsafe.Offsetof(fasthttp.Request{}.Header)
	return (*fasthttp.RequestCtx)(unsafe.Add(unsafe.Pointer(h), -int(offset)))
}
