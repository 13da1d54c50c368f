package storage

import (
	"slices"
	"sync/atomic"
	"time"
)

// Histogram is a snapshot of how often values were in each bucket since Open. Counts has one more
// element than Bounds: values above the last bound. It shares nothing with the store.
type Histogram struct {
	Bounds []float64 // upper ones, inclusive, ascending
	Counts []uint64  // of each bucket alone
	Sum    float64
}

// commitSeconds are from a commit on a device with its own write cache to one that hangs.
var commitSeconds = []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}

// commitMutations are the powers of two up to what may wait for a commit (commitQueueLimit).
var commitMutations = []float64{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096}

// histogram counts values in buckets. One goroutine observes, any number may read.
type histogram struct {
	bounds []float64
	counts []atomic.Uint64
	sum    atomic.Uint64 // in the unit of its values: nanoseconds, or mutations
	unit   float64       // of sum, in that of bounds
}

func newHistogram(bounds []float64, unit float64) histogram {
	return histogram{bounds: bounds, counts: make([]atomic.Uint64, len(bounds)+1), unit: unit}
}

func (h *histogram) observe(value uint64) {
	at, _ := slices.BinarySearch(h.bounds, float64(value)*h.unit)
	h.counts[at].Add(1)
	h.sum.Add(value)
}

func (h *histogram) observeSince(start time.Time) { h.observe(uint64(max(0, time.Since(start)))) }

func (h *histogram) snapshot() Histogram {
	s := Histogram{Bounds: h.bounds, Counts: make([]uint64, len(h.counts)), Sum: float64(h.sum.Load()) * h.unit}
	for i := range h.counts {
		s.Counts[i] = h.counts[i].Load()
	}
	return s
}
