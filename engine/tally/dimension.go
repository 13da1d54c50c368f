package tally

import (
	"cmp"
	"slices"
	"strings"
)

// Dimension is what hits are broken down by. It is part of the tally row's format: a number never
// changes its meaning.
type Dimension uint8

const (
	Referrers Dimension = iota // host names in lower case; "" is a hit without a referrer
	Countries                  // one byte: Country
	Devices                    // one byte: Device
	Browsers                   // one byte: Browser
	NumDimensions
)

// MaxValues is how many values of one dimension a tally keeps, ShownValues how many are shown.
const (
	MaxValues   = 256
	ShownValues = 50
)

// MaxReferrerBytes is the longest referrer host that is kept by its name: what DNS allows (RFC
// 1035, 2.3.4).
const MaxReferrerBytes = 253

// ValueHits is one value of a dimension and its hits.
type ValueHits struct {
	Value string // as Dimension says; see Dimension.Name
	Hits  uint64 // at least 1
}

// Breakdown is hits by the values of one dimension: ascending by value, each once, at most
// MaxValues.
//
// It is a mergeable summary after Misra and Gries (Agarwal, Cormode, Huang, Phillips, Wei, Yi:
// Mergeable Summaries, PODS 2012): exact as long as there were at most MaxValues values; beyond, a
// value's hits are never too high, and too low by at most (hits − sum of the breakdown) /
// (MaxValues + 1), however tallies were merged. Countries, devices and browsers have fewer values,
// so they are exact. Hits of values that are unknown are in no breakdown.
type Breakdown []ValueHits

// Add adds the hits of c. b is replaced, not changed, and shares no memory with c but strings.
func (b *Breakdown) Add(c Breakdown) {
	if len(c) == 0 {
		return
	}
	if len(*b) == 0 {
		*b = slices.Clone(c)
		return
	}
	sum := make(Breakdown, 0, len(*b)+len(c))
	x, y := *b, c
	for len(x) > 0 && len(y) > 0 {
		switch order := strings.Compare(x[0].Value, y[0].Value); {
		case order < 0:
			sum, x = append(sum, x[0]), x[1:]
		case order > 0:
			sum, y = append(sum, y[0]), y[1:]
		default:
			sum = append(sum, ValueHits{x[0].Value, x[0].Hits + y[0].Hits})
			x, y = x[1:], y[1:]
		}
	}
	*b = append(append(sum, x...), y...).Cut()
}

// Cut returns b, which may be longer than MaxValues, as a summary of at most that many values. It
// changes b.
func (b Breakdown) Cut() Breakdown {
	if len(b) <= MaxValues {
		return b
	}
	hits := make([]uint64, len(b))
	for i := range b {
		hits[i] = b[i].Hits
	}
	slices.Sort(hits)
	less := hits[len(hits)-MaxValues-1] // the largest that must go takes as much from each that stays
	kept := b[:0]
	for _, v := range b {
		if v.Hits > less {
			kept = append(kept, ValueHits{v.Value, v.Hits - less})
		}
	}
	return kept
}

// Sum returns the hits of all values.
func (b Breakdown) Sum() (sum uint64) {
	for _, v := range b {
		sum += v.Hits
	}
	return sum
}

// Top returns the n values with the most hits, descending; those with equal hits ascend by value.
func (b Breakdown) Top(n int) []ValueHits {
	top := slices.Clone(b)
	slices.SortFunc(top, func(x, y ValueHits) int {
		return cmp.Or(cmp.Compare(y.Hits, x.Hits), strings.Compare(x.Value, y.Value))
	})
	return top[:min(n, len(top))]
}

// Dimensions are hits by all that they are broken down by.
type Dimensions [NumDimensions]Breakdown

// Add adds u to d.
func (d *Dimensions) Add(u *Dimensions) {
	for i := range d {
		d[i].Add(u[i])
	}
}

// Empty reports whether there is no value at all.
func (d *Dimensions) Empty() bool {
	for i := range d {
		if len(d[i]) > 0 {
			return false
		}
	}
	return true
}

// Names of values that are not their own name.
const (
	DirectReferrer = "direct" // a hit without a referrer
	unknownValue   = "unknown"
)

// Name returns a value of d as people read it.
func (d Dimension) Name(value string) string {
	switch {
	case d == Referrers && value == "":
		return DirectReferrer
	case d == Referrers:
		return value
	case len(value) != 1:
		return unknownValue
	case d == Countries:
		return Country(value[0]).String()
	case d == Devices:
		return Device(value[0]).String()
	}
	return Browser(value[0]).String()
}
