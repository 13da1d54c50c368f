package e2e

import (
	"fmt"
	"math/bits"
	"sync"
	"testing"
	"time"

	"shunt/engine/expect"
)

// latencies is a histogram of durations. Its steps are a sixteenth of a power of two, so a
// percentile is at most 6.25 % too large. The slowest is exact.
type latencies struct {
	mu sync.Mutex

	counts  [64 << latencyBits]uint64
	n       uint64
	slowest time.Duration
}

const latencyBits = 4

func (l *latencies) add(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counts[latencyStep(d)]++
	l.n++
	l.slowest = max(l.slowest, d)
}

// merge adds the durations of m, to which nobody adds any more.
func (l *latencies) merge(m *latencies) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for step, n := range m.counts {
		l.counts[step] += n
	}
	l.n += m.n
	l.slowest = max(l.slowest, m.slowest)
}

// latencyStep returns the exponent of d and the four bits after its highest bit.
func latencyStep(d time.Duration) int {
	v := uint64(max(d, 1<<latencyBits))
	exponent := bits.Len64(v) - 1
	return exponent<<latencyBits | int(v>>(exponent-latencyBits)&(1<<latencyBits-1))
}

// percentile returns the duration that the share p of all durations does not exceed.
func (l *latencies) percentile(p float64) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	left := uint64(p * float64(l.n))
	for step, n := range l.counts {
		if n > left {
			exponent, rest := step>>latencyBits, uint64(step)&(1<<latencyBits-1)
			return min(time.Duration((1<<latencyBits+rest+1)<<(exponent-latencyBits)), l.slowest)
		}
		left -= n
	}
	return l.slowest
}

func (l *latencies) String() string {
	return fmt.Sprintf("%9d  %9v  %9v  %9v  %9v", l.n, rounded(l.percentile(0.5)), rounded(l.percentile(0.99)),
		rounded(l.percentile(0.999)), rounded(l.slowest))
}

// rounded rounds d to about three digits.
func rounded(d time.Duration) time.Duration {
	for unit := time.Duration(10); unit < time.Minute; unit *= 10 {
		if d < 1000*unit {
			return d.Round(unit)
		}
	}
	return d.Round(time.Second)
}

func TestAPercentileIsAtMostASixteenthTooLarge(t *testing.T) {
	l := new(latencies)
	for i := range 1000 {
		l.add(time.Duration(i+1) * 123 * time.Microsecond)
	}
	for p, want := range map[float64]time.Duration{0.5: 61500 * time.Microsecond, 0.99: 121770 * time.Microsecond, 1: 123 * time.Millisecond} {
		got := l.percentile(p)
		expect.That(t, got >= want && got <= want*17/16, "%v: got %v, want %v to a sixteenth more", p, got, want)
	}
}
