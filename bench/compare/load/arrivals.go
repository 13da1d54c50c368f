package load

import (
	"math/rand/v2"
	"time"
)

// arrivals are the due times of an open loop: a Poisson process with a rate. Times are since the
// start of the run.
type arrivals struct {
	rng  *rand.Rand
	gap  float64 // the mean time between two requests, in ns
	next time.Duration
}

func newArrivals(rate float64, rng *rand.Rand) arrivals {
	a := arrivals{rng: rng, gap: float64(time.Second) / rate}
	a.step()
	return a
}

// step goes on to the next due time.
func (a *arrivals) step() { a.next += time.Duration(a.rng.ExpFloat64() * a.gap) }
