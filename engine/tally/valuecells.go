package tally

import (
	"math"
	"slices"
	"strings"

	"shunt/engine/internal/hash"
)

const (
	// noCells is the chain of an entry whose values are counted in cells, and that has no cell yet.
	noCells = math.MaxUint32

	minCellSlots = 1 << 10

	// maxCells bounds the memory of pending values to 192 MiB (16 bytes a cell, and 4 to 8 of
	// index) for each of four deltas, as maxHashBlocks does for visitors. When it is reached, new
	// values are not counted: their hits show as "other".
	maxCells = 1 << 23
)

// valueCells counts the hits of entries by the values of each dimension, once an entry cannot hold
// them in place.
type valueCells struct {
	index   []uint32 // position in cells + 1; a power of two, at most 3/4 used
	cells   []valueCell
	dropped uint64 // values not counted because memory was full
}

// valueCell is the hits of one entry that have one value. The cells of an entry are a chain.
type valueCell struct {
	entry uint32
	value uint32 // dimension in the high 16 bits, value in the low ones
	hits  uint32 // saturates at its maximum
	older uint32 // position + 1; 0: none
}

// known calls f for each dimension whose value is known.
func (v Values) known(f func(value uint32)) {
	if v.Referrer != OtherReferrer {
		f(uint32(Referrers)<<16 | uint32(v.Referrer))
	}
	if v.Country != 0 {
		f(uint32(Countries)<<16 | uint32(v.Country))
	}
	if d := v.Agent.Device(); d != 0 {
		f(uint32(Devices)<<16 | uint32(d))
	}
	if b := v.Agent.Browser(); b != 0 {
		f(uint32(Browsers)<<16 | uint32(b))
	}
}

// add counts the values of a hit, which e.hits includes already. at is the position of e in the
// entries.
func (c *valueCells) add(at uint32, e *delta, v Values) {
	switch {
	case e.hits == 1:
		e.alike = v
		return
	case e.cells == 0 && e.alike == v:
		return
	case e.cells == 0:
		e.cells = noCells
		before := uint32(min(e.hits-1, math.MaxUint32))
		e.alike.known(func(value uint32) { c.raise(at, e, value, before) })
	}
	v.known(func(value uint32) { c.raise(at, e, value, 1) })
}

// raise adds n to the cell of an entry and a value.
func (c *valueCells) raise(at uint32, e *delta, value, n uint32) {
	if 4*(len(c.cells)+1) > 3*len(c.index) && len(c.cells) < maxCells {
		c.grow()
	}
	mask := uint64(len(c.index) - 1)
	i := cellHash(at, value) & mask
	for ; c.index[i] != 0; i = (i + 1) & mask {
		if cell := &c.cells[c.index[i]-1]; cell.entry == at && cell.value == value {
			cell.hits += min(n, math.MaxUint32-cell.hits)
			return
		}
	}
	if len(c.cells) >= maxCells {
		c.dropped++
		return
	}
	older := e.cells
	if older == noCells {
		older = 0
	}
	c.cells = append(c.cells, valueCell{entry: at, value: value, hits: n, older: older})
	c.index[i] = uint32(len(c.cells))
	e.cells = uint32(len(c.cells))
}

func cellHash(at, value uint32) uint64 {
	return hash.Mix(uint64(at)<<32|uint64(value)^0x9e3779b97f4a7c15, 0xd1b54a32d192ed03)
}

func (c *valueCells) grow() {
	c.index = make([]uint32, max(minCellSlots, 2*len(c.index)))
	mask := uint64(len(c.index) - 1)
	for n, cell := range c.cells {
		i := cellHash(cell.entry, cell.value) & mask
		for c.index[i] != 0 {
			i = (i + 1) & mask
		}
		c.index[i] = uint32(n + 1)
	}
}

// breakdown sets d to the breakdowns of an entry. It reuses the memory of d.
func (c *valueCells) breakdown(e *delta, names Names, d *Dimensions) {
	for i := range d {
		d[i] = d[i][:0]
	}
	put := func(value uint32, hits uint64) {
		dim, name, ok := Dimension(value>>16), "", true
		if dim == Referrers {
			name, ok = names.Name(uint16(value))
		} else {
			name = oneByte[value&0xff : value&0xff+1]
		}
		if ok {
			d[dim] = append(d[dim], ValueHits{name, hits})
		}
	}
	if e.cells == 0 && e.hits > 0 {
		e.alike.known(func(value uint32) { put(value, e.hits) })
		return
	}
	for at := e.cells; at != 0 && at != noCells; at = c.cells[at-1].older {
		put(c.cells[at-1].value, uint64(c.cells[at-1].hits))
	}
	for i := range d {
		d[i] = sortBreakdown(d[i]).Cut()
	}
}

// oneByte is the 256 bytes, each at the index of its value.
var oneByte = func() string {
	var b [256]byte
	for i := range b {
		b[i] = byte(i)
	}
	return string(b[:])
}()

// sortBreakdown sorts b by value, and adds up values that occur twice: a referrer can have two
// numbers.
func sortBreakdown(b Breakdown) Breakdown {
	slices.SortFunc(b, func(x, y ValueHits) int { return strings.Compare(x.Value, y.Value) })
	kept := b[:0]
	for _, v := range b {
		if last := len(kept) - 1; last >= 0 && kept[last].Value == v.Value {
			kept[last].Hits += v.Hits
		} else {
			kept = append(kept, v)
		}
	}
	return kept
}

// reset empties c and keeps its memory, unless that is much more than was needed.
func (c *valueCells) reset() {
	if len(c.index) > minCellSlots && 16*len(c.cells) < len(c.index) {
		*c = valueCells{dropped: c.dropped}
		return
	}
	clear(c.index)
	c.cells = c.cells[:0]
}

func (c *valueCells) sizeBytes() uint64 { return uint64(4*cap(c.index) + 16*cap(c.cells)) }
