package row

import (
	"bytes"
	"math"
	"math/bits"
	"slices"
	"sync"
	"unsafe"

	"shunt/engine"
)

const (
	// maxLooseHashes bounds the hashes that a sum collects before it unites them: 64 KiB, eight
	// full exact sketches.
	maxLooseHashes = 8 * engine.MaxExactVisitors

	// maxLooseReferrers bounds the referrers that a sum collects before it cuts them to
	// engine.MaxValues. A larger bound gives a closer result; their names take at most 259 KB.
	maxLooseReferrers = 4 * engine.MaxValues
)

// AllParts selects every part of a row that Add can add.
const AllParts = engine.Visitors | engine.Breakdowns

// Sum adds up tally rows. The zero value is an empty sum. It is made for many small rows (a count,
// a few hashes, one value of each dimension), none of which costs an allocation.
//
//   - Hashes are collected, and sorted once at the end. When there are too many to be counted
//     exactly, or a row is dense, they go into registers, with which dense rows are united in
//     place.
//   - Referrers are kept in order, and their names once, in an arena. Countries, devices and
//     browsers are one byte each, so each value has a cell of its own, and a bit that marks the
//     cell as used. Cells need no search, order or clearing.
//
// The result depends on nothing but what was added, unless there are more than maxLooseReferrers
// referrers: cutting them in between is a merge of summaries like any other, with the same bound.
type Sum struct {
	hits, bots, prefetches, heads uint64
	overflown                     bool // hits stay at their maximum, and there are no breakdowns

	hashes    []uint64 // those not in registers yet; may be repeated
	unsorted  bool     // hashes may be in any order, and repeated
	registers []byte   // of a dense sketch; empty: not dense yet

	divided   bool             // there are breakdowns
	referrers []heldReferrer   // ascending
	arena     []byte           // their names
	named     engine.Breakdown // made by breakdown; kept so that its memory is reused
	cells     [numByteDimensions]byteCells
}

// heldReferrer is a referrer and its hits. Its name is arena[from:to]: pointers would cost the garbage collector's
// barriers each time that others are moved.
type heldReferrer struct {
	from, to uint32
	hits     uint64
}

// numByteDimensions is the number of dimensions whose values are one byte: all but
// engine.Referrers.
const numByteDimensions = engine.NumDimensions - 1

// byteCells are the hits by value of a dimension whose values are one byte.
type byteCells struct {
	hits   [256]uint64
	used   [4]uint64        // one bit per value: hits is not zero
	listed engine.Breakdown // made by list; kept so that its memory is reused
}

var sumPool = sync.Pool{New: func() any { return new(Sum) }}

// NewSum returns an empty sum from a pool; Release puts it back.
func NewSum() *Sum { return sumPool.Get().(*Sum) }

// Release puts s back into the pool. Nothing that aliases s may be used after that.
func (s *Sum) Release() {
	s.Reset()
	sumPool.Put(s)
}

// Reset empties s and reuses its memory, so nothing that aliases s may be used after that.
func (s *Sum) Reset() {
	s.hits, s.bots, s.prefetches, s.heads, s.overflown = 0, 0, 0, 0, false
	s.hashes, s.unsorted, s.registers = s.hashes[:0], false, s.registers[:0]
	if !s.divided {
		return
	}
	s.divided = false
	clear(s.named)
	s.referrers, s.arena, s.named = s.referrers[:0], s.arena[:0], s.named[:0]
	for i := range s.cells {
		s.cells[i].clear()
	}
}

// Add adds the counts and the wanted parts of a row, and skips its other parts.
func (s *Sum) Add(row []byte, wanted engine.Parts) error {
	raw, err := ParseTally(row)
	if err != nil {
		return err
	}
	hits, carry := bits.Add64(s.hits, raw.Hits, 0)
	if carry != 0 {
		hits, s.overflown = math.MaxUint64, true
	}
	s.hits = hits
	s.bots += raw.Bots
	s.prefetches += raw.Prefetches
	s.heads += raw.Heads
	if raw.breakdowns != nil && wanted&engine.Breakdowns != 0 {
		if err := s.addBreakdowns(raw.breakdowns, raw.Hits); err != nil {
			return err
		}
	}
	switch {
	case raw.sketch == nil || wanted&engine.Visitors == 0:
		return nil
	case raw.sketch[0] == sketchExact:
		return s.addExact(raw.sketch)
	}
	return s.addDense(raw.sketch)
}

// AddBreakdowns adds the breakdowns of a row, and nothing else of it.
func (s *Sum) AddBreakdowns(row []byte) error {
	raw, err := ParseTally(row)
	if err == nil && raw.breakdowns != nil {
		err = s.addBreakdowns(raw.breakdowns, raw.Hits)
	}
	return err
}

func (s *Sum) addExact(sketch []byte) (err error) {
	s.unsorted = s.unsorted || len(s.hashes) > 0
	if s.hashes, err = exactHashes(s.hashes, sketch, true); err != nil {
		return err
	}
	if len(s.hashes) > maxLooseHashes {
		s.unite()
	}
	return nil
}

func (s *Sum) addDense(sketch []byte) error {
	if len(s.registers) > 0 {
		return raiseTo(s.registers, sketch)
	}
	registers, err := denseRegisters(sketch)
	s.registers = append(s.registers, registers...)
	return err
}

// unite removes repeated hashes. If there are registers or too many hashes, it moves all hashes
// into registers.
func (s *Sum) unite() {
	dense := len(s.registers) > 0
	if !dense && s.unsorted {
		slices.Sort(s.hashes)
		s.hashes, s.unsorted = slices.Compact(s.hashes), false
	}
	if !dense && len(s.hashes) <= engine.MaxExactVisitors {
		return
	}
	if !dense {
		s.registers = slices.Grow(s.registers, denseRegisterCount)[:denseRegisterCount]
		clear(s.registers)
	}
	for _, hash := range s.hashes {
		raiseRegister(s.registers, hash)
	}
	s.hashes = s.hashes[:0]
}

// appendVisitors appends the sketch as a tally row holds it; nothing if there are no visitors.
func (s *Sum) appendVisitors(dst []byte) []byte {
	s.unite()
	switch {
	case len(s.registers) > 0:
		return append(append(dst, densePrefix[:]...), s.registers...)
	case len(s.hashes) > 0:
		exact := engine.ExactSketch(s.hashes)
		return exact.AppendBinary(dst)
	}
	return dst
}

// visitors returns the sketch, which shares memory with s.
func (s *Sum) visitors() engine.Sketch {
	s.unite()
	if len(s.registers) == 0 {
		return engine.ExactSketch(s.hashes)
	}
	return engine.DenseSketch(s.registers)
}

func (s *Sum) addBreakdowns(part []byte, rowHits uint64) error {
	s.divided = true
	r := readValues(part, rowHits)
	at := 0
	for r.next() {
		if r.dimension == engine.Referrers {
			at = s.addReferrer(at, r.value, r.hits)
		} else {
			s.cells[r.dimension-1].add(r.value[0], r.hits)
		}
	}
	return r.end()
}

// addReferrer adds hits of a referrer whose index is from or later, and returns the first index
// that the next one of the row can have. This is fast because the names of a row ascend, and are
// often those of the previous rows.
func (s *Sum) addReferrer(from int, name []byte, hits uint64) (next int) {
	at, found := s.findReferrer(from, name)
	if found {
		s.referrers[at].hits += hits
		return at + 1
	}
	begin := len(s.arena)
	s.arena = append(s.arena, name...)
	s.referrers = slices.Insert(s.referrers, at, heldReferrer{uint32(begin), uint32(len(s.arena)), hits})
	if len(s.referrers) > maxLooseReferrers {
		s.cutReferrers()
		return 0
	}
	return at + 1
}

// findReferrer returns the index of a name, or where it belongs. The next index is looked at first, since it is often
// that one.
func (s *Sum) findReferrer(from int, name []byte) (at int, found bool) {
	if from < len(s.referrers) {
		switch order := bytes.Compare(s.name(s.referrers[from]), name); {
		case order == 0:
			return from, true
		case order > 0:
			return from, false
		}
		from++
	}
	at, found = slices.BinarySearchFunc(s.referrers[from:], name, func(r heldReferrer, name []byte) int {
		return bytes.Compare(s.name(r), name)
	})
	return from + at, found
}

func (s *Sum) name(r heldReferrer) []byte { return s.arena[r.from:r.to] }

// breakdown returns the referrers. The strings alias the arena.
func (s *Sum) breakdown() engine.Breakdown {
	s.named = s.named[:0]
	for _, r := range s.referrers {
		s.named = append(s.named, engine.ValueHits{Value: aliasString(s.name(r)), Hits: r.hits})
	}
	return s.named.Cut()
}

func aliasString(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// cutReferrers makes room for more referrers, also in the arena.
func (s *Sum) cutReferrers() {
	kept := s.breakdown()
	s.referrers, s.arena = s.referrers[:0], nil
	for _, v := range kept {
		begin := len(s.arena)
		s.arena = append(s.arena, v.Value...)
		s.referrers = append(s.referrers, heldReferrer{uint32(begin), uint32(len(s.arena)), v.Hits})
	}
}

// Empty reports whether nothing was counted.
func (s *Sum) Empty() bool {
	return s.hits|s.bots|s.prefetches|s.heads == 0 && len(s.hashes)+len(s.registers) == 0 && !s.divided
}

// Tally returns the sum. The result shares memory with s and is valid until Reset. Tally may be
// called once.
func (s *Sum) Tally() engine.Tally {
	t := s.counts()
	t.Visitors = s.visitors()
	return t
}

// counts returns the tally without visitors.
func (s *Sum) counts() engine.Tally {
	t := engine.Tally{Hits: s.hits, Bots: s.bots, Prefetches: s.prefetches, Heads: s.heads}
	if !s.divided || s.overflown {
		return t
	}
	t.Dimensions[engine.Referrers] = s.breakdown()
	for i := range s.cells {
		t.Dimensions[i+1] = s.cells[i].list()
	}
	return t
}

// AppendRow appends the sum as a tally row. It may be called once.
func (s *Sum) AppendRow(dst []byte) []byte {
	t := s.counts()
	at := len(dst)
	dst = AppendTally(dst, &t)
	end := len(dst)
	if dst = s.appendVisitors(dst); len(dst) > end {
		dst[at+1] |= tallyVisitors
	}
	return dst
}

// OwnTally returns the sum like Tally, but the result belongs to the caller.
func (s *Sum) OwnTally() engine.Tally {
	t := s.Tally()
	t.Visitors = t.Visitors.Clone()
	for i := range t.Dimensions {
		t.Dimensions[i] = slices.Clone(t.Dimensions[i])
	}
	s.GiveNames()
	return t
}

// GiveNames gives the arena of referrer names to the last tally, so that its strings stay valid.
func (s *Sum) GiveNames() { s.arena = nil }

func (c *byteCells) add(value byte, hits uint64) {
	c.hits[value] += hits
	c.used[value/64] |= 1 << (value % 64)
}

// oneByteStrings are the strings of one byte.
var oneByteStrings = func() (all [256]string) {
	for i := range all {
		all[i] = string([]byte{byte(i)})
	}
	return all
}()

// list returns the values that have hits, ascending.
func (c *byteCells) list() engine.Breakdown {
	c.listed = c.listed[:0]
	for i, word := range c.used {
		for ; word != 0; word &= word - 1 {
			value := 64*i + bits.TrailingZeros64(word)
			c.listed = append(c.listed, engine.ValueHits{Value: oneByteStrings[value], Hits: c.hits[value]})
		}
	}
	return c.listed
}

func (c *byteCells) clear() {
	for i, word := range c.used {
		for ; word != 0; word &= word - 1 {
			c.hits[64*i+bits.TrailingZeros64(word)] = 0
		}
	}
	c.used = [4]uint64{}
}
