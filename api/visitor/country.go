package visitor

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"net/netip"
	"slices"
	"sync/atomic"

	"shunt/engine"
)

// Countries are the countries of addresses, as a file says that may be read again (CountryFile). Any
// number of goroutines may ask at once. It must not be copied.
type Countries struct {
	now atomic.Pointer[countryTable] // nil: no country is known
}

// Of returns the country of an address, 0 if it is unknown. A nil Countries knows none.
func (c *Countries) Of(addr netip.Addr) engine.Country {
	if c == nil {
		return 0
	}
	return c.now.Load().of(addr)
}

// A countryTable is what one file says. It is read-only once made; see readTable.
//
// It is a copy, not the file. So a look-up allocates nothing, and it meets no error, no page that is
// still on disk, and no SIGBUS when somebody rewrites the file in place: a defect of the file shows when
// it is read. Neighbours of one country are one range, of 5 bytes (IPv4) or 9.
type countryTable struct {
	v4 countryRanges[uint32]
	v6 countryRanges[uint64] // of /64s, by the high half of the address: a /64 is one visitor too
}

// of returns the country of an address, 0 if it is unknown. A nil table knows none.
func (c *countryTable) of(addr netip.Addr) engine.Country {
	switch {
	case c == nil:
		return 0
	case addr.Is4():
		b := addr.As4()
		return c.v4.find(binary.BigEndian.Uint32(b[:]))
	}
	b := addr.As16()
	return c.v6.find(binary.BigEndian.Uint64(b[:8]))
}

// add sets the country of a network. Networks come in ascending order and do not overlap.
func (c *countryTable) add(network netip.Prefix, country engine.Country) error {
	ok := true
	if addr := network.Addr(); addr.Is4() {
		b := addr.As4()
		start := binary.BigEndian.Uint32(b[:])
		ok = c.v4.add(start, start|^uint32(0)>>network.Bits(), country)
	} else {
		b := addr.As16()
		start := binary.BigEndian.Uint64(b[:8])
		if binary.BigEndian.Uint64(b[8:]) == 0 { // a /64 has the country of its first address
			ok = c.v6.add(start, start|^uint64(0)>>network.Bits(), country)
		}
	}
	if !ok {
		return fmt.Errorf("its networks are out of order at %v", network)
	}
	return nil
}

// equal reports whether two tables say the same of every address.
func (c *countryTable) equal(d *countryTable) bool {
	return c != nil && d != nil && c.v4.equal(&d.v4) && c.v6.equal(&d.v6)
}

// countryRanges maps every number to a country. A range ends where the next one starts.
type countryRanges[T uint32 | uint64] struct {
	starts    []T // ascending; the first is 0
	countries []engine.Country

	// below[h] is the number of ranges that start before the numbers whose high 16 bits are h. It
	// leaves a handful of ranges to search.
	below [1<<16 + 1]uint32
	shift int // how many other bits a number has

	next T    // the number after all that were added
	done bool // the last number of all was added
}

// add appends the numbers from start to last. It returns false if they are not after all that were
// added before.
func (r *countryRanges[T]) add(start, last T, country engine.Country) bool {
	if r.done || start < r.next {
		return false
	}
	if start > r.next {
		r.put(r.next, 0)
	}
	r.put(start, country)
	r.next, r.done = last+1, last == ^T(0)
	return true
}

// put begins a range, unless it continues the one before with the same country.
func (r *countryRanges[T]) put(start T, country engine.Country) {
	if n := len(r.countries); n == 0 || r.countries[n-1] != country {
		r.starts, r.countries = append(r.starts, start), append(r.countries, country)
	}
}

// finish prepares the table for find.
func (r *countryRanges[T]) finish() {
	if !r.done {
		r.put(r.next, 0)
	}
	r.starts, r.countries = slices.Clip(r.starts), slices.Clip(r.countries)
	r.shift = bits.Len64(uint64(^T(0))) - 16
	for _, start := range r.starts {
		r.below[start>>r.shift+1]++
	}
	for i := range len(r.below) - 1 {
		r.below[i+1] += r.below[i]
	}
}

// find returns the country of n: that of the last range that starts at or before n.
func (r *countryRanges[T]) find(n T) engine.Country {
	low, high := r.below[n>>r.shift], r.below[n>>r.shift+1]
	for low < high {
		if middle := (low + high) / 2; r.starts[middle] <= n {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return r.countries[low-1]
}

// equal compares ranges of which neighbours always differ in their country.
func (r *countryRanges[T]) equal(q *countryRanges[T]) bool {
	return slices.Equal(r.starts, q.starts) && slices.Equal(r.countries, q.countries)
}
