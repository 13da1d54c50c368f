package row

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"shunt/engine"
)

// The encoding of a sketch belongs to the engine, but this package knows two parts of it: the exact
// form, so that merging the many rows of few visitors needs no Sketch for each; and the registers
// of the dense form, so that uniting dense rows is a maximum of bytes, in place. The merge tests
// check that both give the same result as engine.Sketch.
const (
	sketchEmpty = 0
	sketchExact = 1 // uvarint n, then n ascending hashes of 8 bytes, little-endian
	sketchDense = 2 // densePrefix, then 2^14 registers of one byte, each at most maxRegister

	denseRegisterCount = 1 << 14
	maxRegister        = 64 - 14 + 1
)

var densePrefix = [9]byte{sketchDense, 2, 14, 0, 0, 0, 0, 0x40, 0} // form, library's version, precision, 2 × 0, registers

// denseRegisters checks a sketch that is not of the exact form and returns its registers, which
// alias it.
func denseRegisters(sketch []byte) ([]byte, error) {
	if len(sketch) != len(densePrefix)+denseRegisterCount || [9]byte(sketch) != densePrefix {
		return nil, fmt.Errorf("%w: tally row: malformed dense sketch", ErrCorrupt)
	}
	registers := sketch[len(densePrefix):]
	high := uint64(0)
	for at := 0; at < denseRegisterCount; at += 8 { // a byte over maxRegister carries into its highest bit, or has it set
		word := binary.LittleEndian.Uint64(registers[at:])
		high |= word | (word&^highBits + (0x7f-maxRegister)*lowBits)
	}
	if high&highBits != 0 {
		return nil, fmt.Errorf("%w: tally row: register out of range", ErrCorrupt)
	}
	return registers, nil
}

const (
	highBits = 0x8080808080808080 // of eight bytes
	lowBits  = 0x0101010101010101
)

// raiseRegisters sets each register of dst to the larger of its own value and that of src, eight at
// once. All values must be below 0x80.
func raiseRegisters(dst, src []byte) {
	dst, src = dst[:denseRegisterCount], src[:denseRegisterCount]
	for at := 0; at < denseRegisterCount; at += 8 {
		a, b := binary.LittleEndian.Uint64(dst[at:]), binary.LittleEndian.Uint64(src[at:])
		larger := ((a | highBits) - b) & highBits // set where a ≥ b
		mask := larger - larger>>7 | larger       // 0xff there
		binary.LittleEndian.PutUint64(dst[at:], a&mask|b&^mask)
	}
}

// raiseRegister adds a hash, as the library's InsertHash does: the first 14 bits are the register's
// number, and its value is the position of the first 1 in the following bits.
func raiseRegister(registers []byte, hash uint64) {
	place := byte(bits.LeadingZeros64(hash<<14|1<<13)) + 1
	register := &registers[hash>>(64-14)]
	*register = max(*register, place)
}

var errHashOrder = fmt.Errorf("%w: exact sketch: hashes not ascending", ErrCorrupt)

// rawHashes returns the hashes of a sketch of the exact form, 8 bytes each, which alias it. It does
// not check their order. A sketch that is nil has none.
func rawHashes(sketch []byte) ([]byte, error) {
	if sketch == nil {
		return nil, nil
	}
	r := reader{rest: sketch[1:], what: "exact sketch"}
	n := r.uvarint()
	if r.err == nil && (n == 0 || n > engine.MaxExactVisitors || uint64(len(r.rest)) != 8*n) {
		r.fail("wrong length")
	}
	return r.rest, r.err
}

// exactHashes checks a sketch of the exact form and, with keep, appends its hashes to dst.
func exactHashes(dst []uint64, sketch []byte, keep bool) ([]uint64, error) {
	raw, err := rawHashes(sketch)
	if err != nil {
		return dst, err
	}
	for last, at := uint64(0), 0; at < len(raw); at += 8 {
		hash := binary.LittleEndian.Uint64(raw[at:])
		if hash <= last && at > 0 {
			return dst, errHashOrder
		}
		if last = hash; keep {
			dst = append(dst, hash)
		}
	}
	return dst, nil
}

// LeastVisitors returns a lower bound for the visitors of a row that CheckTally accepts: each
// visitor has set at most one register.
func (t *RawTally) LeastVisitors() (n uint64) {
	sketch := t.sketch
	if sketch == nil {
		return 0
	}
	if sketch[0] == sketchExact {
		n, _ = binary.Uvarint(sketch[1:])
		return n
	}
	for _, register := range sketch[len(densePrefix):] {
		if register != 0 {
			n++
		}
	}
	return max(n, engine.MaxExactVisitors+1)
}
