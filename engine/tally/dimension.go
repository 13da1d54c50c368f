package tally

import (
	"cmp"
	"slices"
	"strings"
)

// Dimension is a property by which hits are broken down. Its numbers are part of the format of a
// tally row and never change their meaning.
type Dimension uint8

const (
	Referrers Dimension = iota // host names in lower case; "" is a hit without a referrer, ScanName one by the QR code
	Countries                  // one byte: Country
	Devices                    // one byte: Device
	Browsers                   // one byte: Browser
	NumDimensions
)

// MaxValues is the number of values of one dimension that a tally keeps, ShownValues the number
// that is shown.
const (
	MaxValues   = 256
	ShownValues = 50
)

// MaxReferrerBytes is the length of the longest host that a referrer is kept by: DNS allows no
// longer one (RFC 1035, 2.3.4).
const MaxReferrerBytes = 253

// ValueHits is one value of a dimension and its hits.
type ValueHits struct {
	Value string // in the form that its Dimension states; see Dimension.Name
	Hits  uint64 // at least 1
}

// ScanName is the value of a hit that came by the QR code of the link. No client can send it as a referrer: no host has
// a blank or a capital letter.
const ScanName = "QR code"

// Breakdown is the hits by the values of one dimension: ascending by value, each value once, at
// most MaxValues.
//
// It is a mergeable summary after Misra and Gries (Agarwal, Cormode, Huang, Phillips, Wei, Yi:
// Mergeable Summaries, PODS 2012). It is exact as long as there were at most MaxValues values.
// Beyond that, a value's hits are never too high, and too low by at most (hits − sum of the
// breakdown) / (MaxValues + 1), in whatever order tallies were merged. Countries, devices and
// browsers have fewer values, so they are exact. So is ScanName, which has one of the places to itself. Hits with an
// unknown value are in no breakdown.
type Breakdown []ValueHits

// Add adds the hits of c to b. It replaces b's slice and does not change it; the new one shares no
// memory with c except strings.
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

// Cut reduces b, which may be longer than MaxValues, to a summary of at most MaxValues values. It
// changes b. A value ScanName keeps its hits.
func (b Breakdown) Cut() Breakdown {
	if len(b) <= MaxValues {
		return b
	}
	hits, places := make([]uint64, 0, len(b)), MaxValues
	for i := range b {
		if b[i].Value == ScanName {
			places--
		} else {
			hits = append(hits, b[i].Hits)
		}
	}
	slices.Sort(hits)
	less := hits[len(hits)-places-1] // the largest value that is removed is subtracted from each that stays
	kept := b[:0]
	for _, v := range b {
		switch {
		case v.Value == ScanName:
			kept = append(kept, v)
		case v.Hits > less:
			kept = append(kept, ValueHits{v.Value, v.Hits - less})
		}
	}
	return kept
}

// Scans returns the hits of b by QR codes.
func (b Breakdown) Scans() uint64 {
	at, found := slices.BinarySearchFunc(b, ScanName, func(v ValueHits, name string) int { return strings.Compare(v.Value, name) })
	if !found {
		return 0
	}
	return b[at].Hits
}

// Sum returns the hits of all values together.
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

// Dimensions are the breakdowns by all dimensions.
type Dimensions [NumDimensions]Breakdown

// Add adds u to d.
func (d *Dimensions) Add(u *Dimensions) {
	for i := range d {
		d[i].Add(u[i])
	}
}

// Empty reports whether all breakdowns are empty.
func (d *Dimensions) Empty() bool {
	for i := range d {
		if len(d[i]) > 0 {
			return false
		}
	}
	return true
}

// DirectReferrer is the name of the referrer of a hit without one.
const DirectReferrer = "direct"

// Name returns a value of d in the form that people read.
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
