package tally

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
)

// MaxExactVisitors is the largest number of visitors that a sketch counts exactly.
const MaxExactVisitors = 1024

// Forms of an encoded sketch.
const (
	sketchEmpty = 0
	sketchExact = 1 // uvarint n, then n distinct ascending 8-byte little-endian hashes, 1 ≤ n ≤ MaxExactVisitors
	sketchDense = 2 // densePrefix, then 16,384 registers of one byte
)

// densePrefix is what github.com/axiomhq/hyperloglog, which earlier versions used, writes before the
// registers: its version, the precision, the base, no sparse form, the number of registers.
var densePrefix = [8]byte{2, sketchPrecision, 0, 0, 0, 0, 1 << (sketchPrecision - 8), 0}

// DenseError is the relative standard error of Count beyond MaxExactVisitors: 1.04/√16384
// (Flajolet, Fusy, Gandouet, Meunier 2007).
const DenseError = 1.04 / (1 << (sketchPrecision / 2))

// Sketch is a set of visitor hashes: exact up to MaxExactVisitors, a dense HyperLogLog sketch
// beyond (Heule, Nunkesser, Hall 2013, without the sparse form). Its form and its bytes are a
// function of the set alone, whatever the order of additions and unions. The zero value is the
// empty set. It is not safe for concurrent use; copies share memory.
type Sketch struct {
	exact []uint64 // sorted, distinct; nil once dense
	dense *registers
}

// ExactSketch returns the sketch of sorted distinct hashes. It keeps the slice and does not copy
// it. len(sorted) must not exceed MaxExactVisitors.
func ExactSketch(sorted []uint64) Sketch { return Sketch{exact: sorted} }

// DenseSketch returns the sketch with the registers of united dense sketches. It keeps the slice and does not copy it.
func DenseSketch(united []byte) Sketch { return Sketch{dense: (*registers)(united)} }

// Add adds one visitor hash to the set: O(log n) plus a move while exact, O(1) once dense.
func (s *Sketch) Add(hash uint64) {
	if s.dense != nil {
		s.dense.insert(hash)
		return
	}
	i, found := slices.BinarySearch(s.exact, hash)
	if found {
		return
	}
	if len(s.exact) == MaxExactVisitors {
		s.turnDense()
		s.dense.insert(hash)
		return
	}
	s.exact = slices.Insert(s.exact, i, hash)
}

// AddAll adds hashes to the set. It sorts them in place and costs O(n log n).
func (s *Sketch) AddAll(hashes []uint64) {
	if s.dense == nil {
		slices.Sort(hashes)
		s.exact = uniteSorted(s.exact, slices.Compact(hashes))
		if len(s.exact) > MaxExactVisitors {
			s.turnDense()
		}
		return
	}
	for _, h := range hashes {
		s.dense.insert(h)
	}
}

// Unite adds the visitors of t to s. It does not change t, and s shares no memory with t
// afterwards.
func (s *Sketch) Unite(t Sketch) {
	switch {
	case t.dense != nil && s.dense == nil && len(s.exact) == 0:
		*s = t.Clone()
	case t.dense != nil:
		if s.dense == nil {
			s.turnDense()
		}
		s.dense.raise(t.dense)
	case s.dense != nil:
		for _, h := range t.exact {
			s.dense.insert(h)
		}
	default:
		s.exact = uniteSorted(s.exact, t.exact)
		if len(s.exact) > MaxExactVisitors {
			s.turnDense()
		}
	}
}

// Count returns the number of visitors: exact up to MaxExactVisitors, an estimate beyond.
func (s *Sketch) Count() uint64 {
	if s.dense == nil {
		return uint64(len(s.exact))
	}
	return s.dense.estimate()
}

// logLogBeta14 are the coefficients of β(14, z) = b₀z + b₁·ln(z+1) + … + b₇·ln⁷(z+1) in Qin, Kim,
// Tung: LogLog-Beta and More, 2016.
var logLogBeta14 = [8]float64{
	-0.371009760230692, 0.00978811941207509, 0.185796293324165, 0.203015527328432,
	-0.116710521803686, 0.0431106699492820, -0.00599583540511831, 0.000449704299509437,
}

// estimate returns the LogLog-Beta estimate. Instead of raising 2 to the power of each register, it
// weighs each value of a register once: 8 µs instead of 371 (BenchmarkCountDense).
func (r *registers) estimate() uint64 {
	var histogram [4][256]uint32 // four, because increments of one counter wait for one another
	for i := 0; i < len(r); i += 4 {
		histogram[0][r[i]]++
		histogram[1][r[i+1]]++
		histogram[2][r[i+2]]++
		histogram[3][r[i+3]]++
	}
	count := func(value int) float64 {
		return float64(histogram[0][value] + histogram[1][value] + histogram[2][value] + histogram[3][value])
	}
	sum := 0.0
	for value := maxRegister; value >= 0; value-- {
		sum += math.Ldexp(count(value), -value)
	}
	zeros, m := count(0), float64(len(r))
	logZeros := math.Log(zeros + 1)
	beta := 0.0
	for i := len(logLogBeta14) - 1; i > 0; i-- {
		beta = (beta + logLogBeta14[i]) * logZeros
	}
	alpha := 0.7213 / (1 + 1.079/m)
	return uint64(alpha*m*(m-zeros)/(sum+beta+logLogBeta14[0]*zeros) + 0.5)
}

// Dense reports whether the sketch has more visitors than it can count exactly.
func (s *Sketch) Dense() bool { return s.dense != nil }

// Clone returns a copy that shares no memory with s.
func (s *Sketch) Clone() Sketch {
	if s.dense != nil {
		dense := *s.dense
		return Sketch{dense: &dense}
	}
	return Sketch{exact: slices.Clone(s.exact)}
}

func (s *Sketch) turnDense() {
	s.dense = new(registers)
	for _, h := range s.exact {
		s.dense.insert(h)
	}
	s.exact = nil
}

// uniteSorted returns the sorted union of two sorted sets. The result may share memory with a,
// never with b.
func uniteSorted(a, b []uint64) []uint64 {
	if len(b) == 0 {
		return a
	}
	if len(a) == 0 || a[len(a)-1] < b[0] {
		return append(a, b...)
	}
	out := make([]uint64, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0] < b[0]:
			out, a = append(out, a[0]), a[1:]
		case a[0] > b[0]:
			out, b = append(out, b[0]), b[1:]
		default:
			out, a, b = append(out, a[0]), a[1:], b[1:]
		}
	}
	return append(append(out, a...), b...)
}

// AppendBinary appends the encoded sketch: one byte for the form, then the bytes of the form (see
// the constants).
func (s *Sketch) AppendBinary(dst []byte) []byte {
	switch {
	case s.dense != nil:
		return append(append(append(dst, sketchDense), densePrefix[:]...), s.dense[:]...)
	case len(s.exact) == 0:
		return append(dst, sketchEmpty)
	default:
		dst = binary.AppendUvarint(append(dst, sketchExact), uint64(len(s.exact)))
		for _, h := range s.exact {
			dst = binary.LittleEndian.AppendUint64(dst, h)
		}
		return dst
	}
}

var errSketch = errors.New("malformed sketch")

// DecodeSketch decodes a sketch that AppendBinary wrote; b must hold nothing else. The result
// shares no memory with b. Bytes that AppendBinary would not have written are an error.
func DecodeSketch(b []byte) (Sketch, error) {
	if len(b) == 0 {
		return Sketch{}, fmt.Errorf("%w: no bytes", errSketch)
	}
	form, b := b[0], b[1:]
	switch form {
	case sketchEmpty:
		if len(b) != 0 {
			return Sketch{}, fmt.Errorf("%w: bytes after an empty set", errSketch)
		}
		return Sketch{}, nil
	case sketchExact:
		return decodeExact(b)
	case sketchDense:
		return decodeDense(b)
	}
	return Sketch{}, fmt.Errorf("%w: unknown form %d", errSketch, form)
}

func decodeExact(b []byte) (Sketch, error) {
	n, w := binary.Uvarint(b)
	if w <= 0 || n == 0 || n > MaxExactVisitors || uint64(len(b)-w) != 8*n {
		return Sketch{}, fmt.Errorf("%w: exact set of wrong length", errSketch)
	}
	if w > 1 && b[w-1] == 0 {
		return Sketch{}, fmt.Errorf("%w: length not in its shortest form", errSketch)
	}
	exact := make([]uint64, n)
	for i := range exact {
		exact[i] = binary.LittleEndian.Uint64(b[w+8*i:])
		if i > 0 && exact[i] <= exact[i-1] {
			return Sketch{}, fmt.Errorf("%w: hashes not ascending", errSketch)
		}
	}
	return Sketch{exact: exact}, nil
}

func decodeDense(b []byte) (Sketch, error) {
	if len(b) != len(densePrefix)+len(registers{}) || [8]byte(b) != densePrefix {
		return Sketch{}, fmt.Errorf("%w: not a dense sketch of precision %d", errSketch, sketchPrecision)
	}
	dense := registers(b[len(densePrefix):])
	if !dense.valid() {
		return Sketch{}, fmt.Errorf("%w: register out of range", errSketch)
	}
	return Sketch{dense: &dense}, nil
}
