package http1

import (
	"sync/atomic"

	"shunt/api/turnstile"
)

// A large body that moves 256 KiB a second (2 Mbit/s) from its beginning is never cut: one of 8 MiB has
// come after 32 s. A slower body has 4 s to begin. When another body waits, the slower one loses
// its place at the next sweep, after 5 s at most. So a body that may wait 10 s gets the place of a
// slow one in time.
const (
	LargeBodyRate  = 256 << 10 // bytes a second, required while others wait
	LargeBodyGrace = 4         // of the sweeper's seconds
)

// A Place is a connection's place for a large body, or its claim to one. The goroutine that
// reads takes the place and gives it back when the request has been answered or refused; closing
// the connection gives it back, too. The sweep reads the atomics.
type Place struct {
	of    *turnstile.Turnstile // nil: unlimited
	clock *atomic.Int64        // the sweeper's
	key   turnstile.Key        // the sender; written before taken
	since atomic.Int64         // when the place was taken, on that clock

	taken    atomic.Bool
	arriving atomic.Bool // a part of the body has yet to come
	cut      atomic.Bool // the sweep has ended the body for another that waits
}

// Begin sets whose places they are, and the sweeper's clock. It is called before any other method.
func (p *Place) Begin(of *turnstile.Turnstile, clock *atomic.Int64) { p.of, p.clock = of, clock }

// Claim sets the sender of the next body.
func (p *Place) Claim(sender turnstile.Key) { p.key = sender }

// Take waits for a place if the connection has none. It returns an error of the turnstile if no
// place is free in time.
func (p *Place) Take() error {
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
func (p *Place) arrived() { p.arriving.Store(false) }

// Leave gives the place back, if there is one.
func (p *Place) Leave() {
	if p.taken.Swap(false) {
		p.arriving.Store(false)
		p.of.Leave(p.key)
	}
}

// CutOff notes that the sweep ends the body.
func (p *Place) CutOff() { p.cut.Store(true) }

// WasCut reports whether the sweep has ended the body for another that waits.
func (p *Place) WasCut() bool { return p.cut.Load() }

// Lag returns how many bytes the body lacks at now to have the rate that is required while others
// wait. It is 0 or less if the body has come or is fast enough.
func (p *Place) Lag(now, moved int64) int64 {
	if !p.taken.Load() || !p.arriving.Load() {
		return 0
	}
	return (now-p.since.Load()-LargeBodyGrace)*LargeBodyRate - moved
}
