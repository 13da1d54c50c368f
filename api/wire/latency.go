package wire

import (
	"math"
	"sync/atomic"
	"time"
)

// A Latency counts how long requests took, in buckets that grow by 2^(1/8): schema 3 of Prometheus'
// native histograms, in seconds. A value is known to 9 %, and a snapshot has every classic bucket
// whose bound is a power of two exactly. The zero value is empty. Any number of goroutines may use it
// at once; nothing locks or allocates.
type Latency struct {
	shards [latencyShards]latencyShard
	next   atomic.Uint32 // shard of the next observer
}

// latencyShards spread observers, so that cores do not contend for one cache line.
const latencyShards = 16

const (
	// LatencyFirst is the index of the lowest bucket, whose upper bound is 2^(LatencyFirst/8) s. Values
	// up to 2^((LatencyFirst-1)/8) s, which is 2^-20 s or about 1 µs, are in Zero.
	LatencyFirst = -20*perOctave + 1
	// LatencyBuckets is their number: the last one but one ends at 2^4 s, and the last one also has all
	// that took longer.
	LatencyBuckets = 24*perOctave + 1

	perOctave = 8
)

type latencyShard struct {
	nanos  atomic.Uint64                     // of all values, summed
	counts [1 + LatencyBuckets]atomic.Uint64 // Zero, and the buckets
	_      [128 - 8*(2+LatencyBuckets)%128]byte
}

// LatencyCounts is a snapshot of a Latency since its beginning.
type LatencyCounts struct {
	Zero    uint64                 // values up to 2^-20 s
	Buckets [LatencyBuckets]uint64 // from LatencyFirst on, not cumulative
	Seconds float64                // the sum of all values
}

// Counts returns the counts as they are now.
func (l *Latency) Counts() (c LatencyCounts) {
	var nanos uint64
	for i := range l.shards {
		s := &l.shards[i]
		nanos += s.nanos.Load()
		c.Zero += s.counts[0].Load()
		for b := range c.Buckets {
			c.Buckets[b] += s.counts[1+b].Load()
		}
	}
	c.Seconds = float64(nanos) * 1e-9
	return c
}

// Observe counts one request that took d. seed spreads observers over shards.
func (l *Latency) Observe(d time.Duration, seed uint64) {
	l.shards[seed%latencyShards].observe(d, 1)
}

// shard returns a shard for one more observer; nil if l is nil.
func (l *Latency) shard() *latencyShard {
	if l == nil {
		return nil
	}
	return &l.shards[l.next.Add(1)%latencyShards]
}

// observe counts n requests that took d.
func (s *latencyShard) observe(d time.Duration, n uint64) {
	d = max(d, 0)
	s.counts[latencyPlace(d)].Add(n)
	s.nanos.Add(uint64(d) * n)
}

// octaveParts are the fractions of 2^(i/8) as a float64 has them: the bounds of the buckets of an
// octave, without the last one, which begins the next octave.
var octaveParts = func() (parts [perOctave]uint64) {
	for i := range parts {
		parts[i] = math.Float64bits(math.Exp2(float64(i)/perOctave)) & (1<<52 - 1)
	}
	return parts
}()

// latencyPlace returns the place of d in latencyShard.counts. A bound belongs to the bucket below it.
func latencyPlace(d time.Duration) int {
	const lowest = -20 // power of two up to which values are in Zero
	bits := math.Float64bits(float64(d) * 1e-9)
	place := (int(bits>>52) - 1023 - lowest) * perOctave // 0 has the exponent -1023
	if place < 0 {
		return 0
	}
	fraction := bits & (1<<52 - 1)
	for _, part := range octaveParts {
		if fraction > part {
			place++
		}
	}
	return min(place, LatencyBuckets)
}

// latencySample is the share of busy wake-ups of a loop that are measured: 1 in latencySample. Reading the
// clock again after each write costs about 1 % of a redirect.
const latencySample = 16

// A stopwatch measures answers from the wake-up that read their requests to the write that handed them
// to the kernel. It belongs to one goroutine.
type stopwatch struct {
	shard  *latencyShard // nil: nothing is measured
	began  time.Time
	weight uint64 // of each answer of this wake-up; 0: it is not measured
	turn   uint8
}

// start begins a wake-up at now. Of busy ones only some are measured, and count for the others.
func (w *stopwatch) start(now time.Time, busy bool) {
	w.began, w.weight = now, 0
	if w.shard == nil {
		return
	}
	w.weight = 1
	if !busy {
		return
	}
	if w.turn++; w.turn%latencySample != 0 {
		w.weight = 0
		return
	}
	w.weight = latencySample
}

// written says that n answers have just been handed to the kernel.
func (w *stopwatch) written(n uint32) {
	if w.weight != 0 && n != 0 {
		w.shard.observe(time.Since(w.began), w.weight*uint64(n))
	}
}
