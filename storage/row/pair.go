package row

import (
	"bytes"
	"encoding/binary"
	"math/bits"

	"shunt/engine"
)

const (
	// maxPairValues bounds the values of each dimension of a row that appendPair makes: their
	// number is one byte.
	maxPairValues = 0x7f

	// maxPairBytes bounds the size of both rows: larger ones often have too many values or visitors,
	// and the attempt would be wasted.
	maxPairBytes = 9 << 10
)

// appendPair appends the sum of two tally rows to dst. Most merges are of two small rows, the row
// of a link and a new hit or two. Both rows are sorted, so appendPair reads them side by side and
// writes the sum as it goes, in about a third of the time that a Sum takes to fill and empty its
// sets.
//
// ok is false if the rows need a Sum: if they are large, or one is dense, or their sum has more
// than 1,024 visitors, more than 127 values of a dimension, or hits that overflow. Then the result
// is dst with room that may be reused, and the rows are not fully checked. An error means that one
// of them is malformed.
func appendPair(dst, a, b []byte) (sum []byte, ok bool, err error) {
	if len(a)+len(b) > maxPairBytes {
		return dst, false, nil
	}
	x, err := ParseTally(a)
	if err != nil {
		return dst, false, err
	}
	y, err := ParseTally(b)
	if err != nil {
		return dst, false, err
	}
	hits, carry := bits.Add64(x.Hits, y.Hits, 0)
	if carry != 0 {
		return dst, false, nil
	}
	at := len(dst)
	dst = appendCounts(dst, hits, x.Bots+y.Bots, x.Prefetches+y.Prefetches, x.Heads+y.Heads)
	ok = true
	if x.breakdowns != nil || y.breakdowns != nil {
		dst[at+1] |= tallyBreakdowns
		if dst, ok, err = appendPairValues(dst, hits, &x, &y); err != nil {
			return dst, false, err
		}
	}
	if ok && (x.sketch != nil || y.sketch != nil) {
		dst[at+1] |= tallyVisitors
		dst, ok, err = appendPairVisitors(dst, x.sketch, y.sketch)
	}
	return dst, ok, err
}

// appendPairValues appends the breakdowns of the sum of two rows, which has this many hits.
func appendPairValues(dst []byte, hits uint64, x, y *RawTally) (_ []byte, ok bool, err error) {
	at := len(dst)
	dst = append(dst, 0, 0) // the length, the mask
	p := valuePair{hits: hits}
	p.begin(x, y)
	for p.inA || p.inB {
		p.dimension = p.nextDimension()
		dst[at+1] |= 1 << p.dimension
		if dst, ok = p.appendDimension(dst); !ok {
			return dst, false, nil
		}
	}
	err = p.end()
	return setLength(dst, at), err == nil, err
}

// valuePair reads the breakdowns of two rows side by side.
type valuePair struct {
	a, b      valueReader
	inA, inB  bool   // the reader has a value
	hits      uint64 // of both rows
	dimension engine.Dimension
}

func (p *valuePair) begin(x, y *RawTally) {
	if x.breakdowns != nil {
		p.a = readValues(x.breakdowns, x.Hits)
		p.inA = p.a.next()
	}
	if y.breakdowns != nil {
		p.b = readValues(y.breakdowns, y.Hits)
		p.inB = p.b.next()
	}
}

func (p *valuePair) end() error {
	if err := p.a.end(); err != nil {
		return err
	}
	return p.b.end()
}

// nextDimension returns the lower dimension of the two values that come next.
func (p *valuePair) nextDimension() engine.Dimension {
	switch {
	case !p.inB:
		return p.a.dimension
	case !p.inA:
		return p.b.dimension
	}
	return min(p.a.dimension, p.b.dimension)
}

// appendDimension appends all values of the dimension. It returns false if there are too many.
func (p *valuePair) appendDimension(dst []byte) (_ []byte, ok bool) {
	at := len(dst)
	dst = append(dst, 0)
	number, last, end := 0, uint64(0), 0
	for {
		value, hits, more := p.take()
		if !more {
			break
		}
		if p.dimension == engine.Referrers {
			dst = appendString(dst, value)
		} else {
			dst = append(dst, value...)
		}
		end = len(dst)
		dst = binary.AppendUvarint(dst, hits)
		number, last = number+1, hits
	}
	switch {
	case number == 1 && last == p.hits:
		return dst[:end], true // one value has all hits: 0, and no hits
	case number > maxPairValues:
		return dst, false
	}
	dst[at] = byte(number)
	return dst, true
}

// take returns the next value of the dimension, with its hits in both rows.
func (p *valuePair) take() (value []byte, hits uint64, more bool) {
	order := 0
	switch inA, inB := p.inA && p.a.dimension == p.dimension, p.inB && p.b.dimension == p.dimension; {
	case !inA && !inB:
		return nil, 0, false
	case !inB:
		order = -1
	case !inA:
		order = 1
	default:
		order = bytes.Compare(p.a.value, p.b.value)
	}
	if order <= 0 {
		value, hits = p.a.value, p.a.hits
		p.inA = p.a.next()
	}
	if order >= 0 {
		value = p.b.value
		hits += p.b.hits
		p.inB = p.b.next()
	}
	return value, hits, true
}

// appendPairVisitors appends the union of two sketches of the exact form; nil is an empty one.
func appendPairVisitors(dst, x, y []byte) (_ []byte, ok bool, err error) {
	if x != nil && x[0] != sketchExact || y != nil && y[0] != sketchExact {
		return dst, false, nil
	}
	a, err := rawHashes(x)
	if err != nil {
		return dst, false, err
	}
	b, err := rawHashes(y)
	if err != nil {
		return dst, false, err
	}
	most := uint64(len(a)+len(b)) / 8
	if most > engine.MaxExactVisitors {
		return dst, false, nil
	}
	at := len(dst) + 1
	dst = binary.AppendUvarint(append(dst, sketchExact), most)
	from := len(dst)
	if dst, ok = appendUnion(dst, a, b); !ok {
		return dst, false, errHashOrder
	}
	n := uint64(len(dst)-from) / 8
	width := len(binary.AppendUvarint(dst[:at], n)) - at
	if from-at != width {
		dst = append(dst[:at+width], dst[from:]...)
	}
	return dst, true, nil
}

// appendUnion appends the union of two ascending lists of hashes. It returns false if one of them
// does not ascend.
func appendUnion(dst, a, b []byte) (_ []byte, ok bool) {
	from := len(dst)
	for last := uint64(0); len(a)+len(b) > 0; {
		var hash uint64
		switch {
		case len(b) == 0:
			hash, a = binary.LittleEndian.Uint64(a), a[8:]
		case len(a) == 0:
			hash, b = binary.LittleEndian.Uint64(b), b[8:]
		default:
			x, y := binary.LittleEndian.Uint64(a), binary.LittleEndian.Uint64(b)
			if hash = min(x, y); x == hash {
				a = a[8:]
			}
			if y == hash {
				b = b[8:]
			}
		}
		if hash <= last && len(dst) > from {
			return dst, false
		}
		last = hash
		dst = binary.LittleEndian.AppendUint64(dst, hash)
	}
	return dst, true
}
