package search

import "slices"

// A Place is where a link is in an order: the greater Key comes first, and among equal ones the greater ID, which
// no other link has. For the opposite order give the complements of both.
type Place struct{ Key, ID uint64 }

// Compare is negative if p comes before q.
func (p Place) Compare(q Place) int {
	switch {
	case p.Key > q.Key || p.Key == q.Key && p.ID > q.ID:
		return -1
	case p == q:
		return 0
	}
	return 1
}

// Best has the first places of an order, out of any number that it is shown. The zero value has none.
type Best struct {
	limit  int
	after  *Place  // all are behind it; nil: all are
	found  []Place // up to twice the limit
	sorted int     // how many of them are in order, and before all others that were shown until then
	cut    bool    // whether some that were shown are not among them
}

// NewBest returns the first places behind after, or of all if that is nil: limit of them, at least 1.
func NewBest(limit int, after *Place) *Best { return &Best{limit: limit, after: after} }

// Add shows b a place. It takes constant time in the mean, and allocates for the first places only.
func (b *Best) Add(p Place) {
	if b.after != nil && p.Compare(*b.after) <= 0 {
		return
	}
	if b.sorted == b.limit && p.Compare(b.found[b.limit-1]) > 0 {
		b.cut = true
		return
	}
	if b.found = append(b.found, p); len(b.found) == 2*b.limit {
		b.sort()
	}
}

// AddAll shows b what other has found.
func (b *Best) AddAll(other *Best) {
	for _, p := range other.found {
		b.Add(p)
	}
	b.cut = b.cut || other.cut
}

// Places returns the first places in order, and whether there are more behind them. They are valid until Add is called.
func (b *Best) Places() (first []Place, more bool) {
	b.sort()
	return b.found, b.cut
}

func (b *Best) sort() {
	slices.SortFunc(b.found, Place.Compare)
	if len(b.found) > b.limit {
		b.found, b.cut = b.found[:b.limit], true
	}
	b.sorted = len(b.found)
}
