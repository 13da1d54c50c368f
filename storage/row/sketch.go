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
	registers, err := rawRegisters(sketch)
	high := uint64(0)
	for at := 0; at+8 <= len(registers); at += 8 {
		high |= overRange(binary.LittleEndian.Uint64(registers[at:]))
	}
	if high&highBits != 0 {
		return nil, errRange
	}
	return registers, err
}

// rawRegisters returns the registers of a sketch that is not of the exact form, which alias it. It does not check their
// values.
func rawRegisters(sketch []byte) ([]byte, error) {
	if len(sketch) != len(densePrefix)+denseRegisterCount || [9]byte(sketch) != densePrefix {
		return nil, fmt.Errorf("%w: tally row: malformed dense sketch", ErrCorrupt)
	}
	return sketch[len(densePrefix):], nil
}

var errRange = fmt.Errorf("%w: tally row: register out of range", ErrCorrupt)

// overRange returns a word with highBits that are set where a byte is over maxRegister: it carries into its highest
// bit, or has it set.
func overRange(word uint64) uint64 { return word | (word&^highBits + (0x7f-maxRegister)*lowBits) }

const (
	highBits = 0x8080808080808080 // of eight bytes
	lowBits  = 0x0101010101010101
)

// raiseTo sets each register of dst to the larger of its own value and that of a sketch that is not of the exact form,
// eight at once. It checks the sketch meanwhile; after an error dst is worth nothing.
func raiseTo(dst, sketch []byte) error {
	src, err := rawRegisters(sketch)
	if err != nil {
		return err
	}
	dst, src = dst[:denseRegisterCount], src[:denseRegisterCount]
	high := uint64(0)
	for at := 0; at < denseRegisterCount; at += 8 {
		a, b := binary.LittleEndian.Uint64(dst[at:]), binary.LittleEndian.Uint64(src[at:])
		larger := ((a | highBits) - b) & highBits // set where a ≥ b
		mask := larger - larger>>7 | larger       // 0xff there
		binary.LittleEndian.PutUint64(dst[at:], a&mask|b&^mask)
		high |= overRange(b)
	}
	if high&highBits != 0 {
		return errRange
	}
	return nil
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
