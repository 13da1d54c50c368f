package load

import (
	"math/bits"
	"time"
)

// histogramBits is the number of bits of a duration that are kept after its highest one, so a
// quantile is at most 1/64 too large.
const histogramBits = 6

// A histogram is a number of durations for each step.
type histogram struct {
	counts [64 << histogramBits]uint32
	n      uint64
}

func (h *histogram) add(d time.Duration) {
	h.counts[step(d)]++
	h.n++
}

// step returns the exponent of d and the bits after its highest bit.
func step(d time.Duration) int {
	v := uint64(max(d, 1<<histogramBits))
	exponent := bits.Len64(v) - 1
	return exponent<<histogramBits | int(v>>(exponent-histogramBits)&(1<<histogramBits-1))
}

// quantile returns the duration that the share p of all durations does not exceed, 0 if there are
// none.
func (h *histogram) quantile(p float64) time.Duration {
	left := min(uint64(p*float64(h.n)), max(h.n, 1)-1)
	for step, n := range h.counts {
		if uint64(n) > left {
			exponent, rest := step>>histogramBits, uint64(step)&(1<<histogramBits-1)
			return time.Duration((1<<histogramBits + rest + 1) << (exponent - histogramBits))
		}
		left -= uint64(n)
	}
	return 0
}
