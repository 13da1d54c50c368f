package kv

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

// Counting counts values in buckets. One goroutine observes, any number may read.
type Counting struct {
	bounds []float64
	counts []atomic.Uint64
	sum    atomic.Uint64 // in the unit of its values: nanoseconds, or mutations
	unit   float64       // of sum, in that of bounds
}

// NewCounting returns a histogram with these bounds, of values in a unit that is unit of theirs.
func NewCounting(bounds []float64, unit float64) Counting {
	return Counting{bounds: bounds, counts: make([]atomic.Uint64, len(bounds)+1), unit: unit}
}

// Observe counts a value. It allocates nothing.
func (h *Counting) Observe(value uint64) {
	at, _ := slices.BinarySearch(h.bounds, float64(value)*h.unit)
	h.counts[at].Add(1)
	h.sum.Add(value)
}

// ObserveSince counts the time since start, in nanoseconds.
func (h *Counting) ObserveSince(start time.Time) { h.Observe(uint64(max(0, time.Since(start)))) }

// Snapshot returns the counts.
func (h *Counting) Snapshot() Histogram {
	s := Histogram{Bounds: h.bounds, Counts: make([]uint64, len(h.counts)), Sum: float64(h.sum.Load()) * h.unit}
	for i := range h.counts {
		s.Counts[i] = h.counts[i].Load()
	}
	return s
}
