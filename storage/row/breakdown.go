package row

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"

	"shunt/engine"
)

// appendBreakdowns appends the part of a tally row that holds breakdowns. There must be at least
// one.
//
//	┌────────┬────────┬──────────────────────────────────────────────┐
//	│ length │ mask 1 │ for each dimension of the mask, ascending:   │
//	│        │        │  n · n × (value · hits), or else             │
//	│        │        │  0 · value  of the single one with all hits  │
//	└────────┴────────┴──────────────────────────────────────────────┘
//
// The length is that of everything after it. Bit i of the mask is set if there is a breakdown by
// engine.Dimension i. It has n ≤ 256 values, in ascending order of their bytes. A referrer is a
// string of at most 253 bytes, any other value one byte. If one value has all hits of the row, as
// in most rows of an hour, n is written as 0, and the hits are left out.
func appendBreakdowns(dst []byte, rowHits uint64, d *engine.Dimensions) []byte {
	at := len(dst)
	dst = append(dst, 0, 0)
	for i := range d {
		if len(d[i]) > 0 {
			dst[at+1] |= 1 << i
			dst = appendBreakdown(dst, rowHits, d[i], engine.Dimension(i))
		}
	}
	return setLength(dst, at)
}

// setLength replaces the byte at a position by the number of bytes after it.
func setLength(dst []byte, at int) []byte {
	n := len(dst) - at - 1
	if n < 0x80 {
		dst[at] = byte(n)
		return dst
	}
	var length [binary.MaxVarintLen64]byte
	return slices.Replace(dst, at, at+1, binary.AppendUvarint(length[:0], uint64(n))...)
}

func appendBreakdown(dst []byte, rowHits uint64, b engine.Breakdown, dim engine.Dimension) []byte {
	if len(b) == 1 && b[0].Hits == rowHits {
		return appendValue(append(dst, 0), b[0].Value, dim)
	}
	dst = binary.AppendUvarint(dst, uint64(len(b)))
	for i := range b {
		dst = appendValue(dst, b[i].Value, dim)
		dst = binary.AppendUvarint(dst, b[i].Hits)
	}
	return dst
}

func appendValue(dst []byte, value string, dim engine.Dimension) []byte {
	if dim == engine.Referrers {
		return appendString(dst, value)
	}
	return append(dst, value...)
}

// valueReader iterates over the values of the breakdowns of a row: those of the first dimension,
// then those of the next. It allocates nothing unless the row is malformed.
type valueReader struct {
	reader
	rowHits uint64
	mask    byte   // dimensions that are still to be read
	number  uint64 // number of values of the dimension, as written
	left    uint64 // values of the dimension that are still to be read
	room    uint64 // the most hits that those may have

	// The value that next read last; it aliases the row.
	dimension engine.Dimension
	value     []byte
	hits      uint64
}

// readValues begins reading the part of a row that appendBreakdowns wrote, without its length.
func readValues(part []byte, rowHits uint64) valueReader {
	r := valueReader{reader: reader{rest: part, what: "breakdowns"}, rowHits: rowHits}
	r.mask = r.byte()
	switch {
	case r.mask == 0 || r.mask >= 1<<engine.NumDimensions:
		r.fail("unknown dimensions")
	case rowHits == 0:
		r.fail("of a row without hits")
	}
	return r
}

// next reads a value. It returns false if there are no more, or if one is malformed; end returns
// that error.
func (r *valueReader) next() bool {
	if r.left > 0 {
		return r.nextOfSeveral(false)
	}
	if r.err != nil || !r.nextDimension() {
		return false
	}
	if r.number > 0 {
		return r.nextOfSeveral(true)
	}
	r.value, r.hits = r.readValue(), r.rowHits // the usual case: one value has all hits
	return r.err == nil
}

func (r *valueReader) nextOfSeveral(first bool) bool {
	last := r.value
	r.value, r.hits = r.readValue(), r.uvarint()
	switch {
	case r.hits == 0 || r.hits > r.room:
		r.fail("hits that the row does not have")
	case r.number == 1 && r.hits == r.rowHits:
		r.fail("hits of a single value that has all")
	case !first && bytes.Compare(last, r.value) >= 0:
		r.fail("values not ascending")
	}
	r.room -= r.hits
	r.left--
	if r.err != nil {
		r.left = 0
	}
	return r.err == nil
}

func (r *valueReader) readValue() []byte {
	if r.dimension == engine.Referrers {
		return r.bytes(engine.MaxReferrerBytes)
	}
	return r.oneByte()
}

// nextDimension begins the next dimension. It returns false if there is none or it is malformed.
func (r *valueReader) nextDimension() bool {
	if r.mask == 0 {
		return false
	}
	r.dimension = engine.Dimension(bits.TrailingZeros8(r.mask))
	r.mask &= r.mask - 1
	r.number = r.uvarint()
	r.left, r.room = r.number, r.rowHits
	if r.number > engine.MaxValues {
		r.fail("too many values")
		r.left = 0
	}
	return r.err == nil
}

// oneByte returns the next byte, which aliases the value.
func (r *reader) oneByte() []byte {
	if len(r.rest) == 0 {
		r.fail("it ends early")
		return nil
	}
	b := r.rest[:1:1]
	r.rest = r.rest[1:]
	return b
}

func checkBreakdowns(part []byte, rowHits uint64) error {
	r := readValues(part, rowHits)
	for r.next() {
	}
	return r.end()
}

// CheckDimensions returns an error for breakdowns that could be written but not read back.
func CheckDimensions(t *engine.Tally) error {
	for i := range t.Dimensions {
		if err := checkBreakdown(t.Dimensions[i], engine.Dimension(i), t.Hits); err != nil {
			return fmt.Errorf("breakdown by dimension %d: %w", i, err)
		}
	}
	return nil
}

func checkBreakdown(b engine.Breakdown, dim engine.Dimension, room uint64) error {
	if len(b) > engine.MaxValues {
		return fmt.Errorf("%d values", len(b))
	}
	for i := range b {
		v := &b[i]
		switch {
		case dim == engine.Referrers && len(v.Value) > engine.MaxReferrerBytes, dim != engine.Referrers && len(v.Value) != 1:
			return fmt.Errorf("value %q", v.Value)
		case i > 0 && v.Value <= b[i-1].Value:
			return fmt.Errorf("value %q after %q", v.Value, b[i-1].Value)
		case v.Hits == 0 || v.Hits > room:
			return fmt.Errorf("%d hits of %q, of %d that are left", v.Hits, v.Value, room)
		}
		room -= v.Hits
	}
	return nil
}
