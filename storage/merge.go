package storage

import (
	"io"
	"slices"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"shunt/engine"
)

// mergerName is pinned on disk: Pebble opens a store with no other merger.
const mergerName = "shunt.tally.v1"

// maxLooseHashes bounds the hashes that a merge gathers before it unites them: 64 KiB, eight full exact sketches.
const maxLooseHashes = 8 * engine.MaxExactVisitors

// tallyMerge adds the operands of one tally row. Each operand is a tally row, and so is the result, so a merge of merges is
// a merge: it is associative and commutative, because counts are summed and visitors united, and the encoding is a function
// of the two alone. A malformed operand is an error, which stops the read or the compaction; nothing is dropped.
//
// The many operands are small: a count and a few hashes. Of those the hashes are gathered, and sorted once in Finish; a
// Sketch is made only when they exceed what is counted exactly, or when an operand is dense.
type tallyMerge struct {
	hits, bots, prefetches, heads uint64

	hashes []uint64      // not in visitors yet; maybe repeated
	sorted bool          // hashes ascend without repetition
	dense  engine.Sketch // empty or dense
}

// mergePool keeps merges for their slice of hashes. A merge goes back in Finish, after which Pebble does not touch it.
var mergePool = sync.Pool{New: func() any { return new(tallyMerge) }}

func newMerger() *pebble.Merger {
	return &pebble.Merger{
		Name: mergerName,
		Merge: func(_, operand []byte) (pebble.ValueMerger, error) {
			m := mergePool.Get().(*tallyMerge)
			*m = tallyMerge{hashes: m.hashes[:0], sorted: true}
			return m, m.add(operand)
		},
	}
}

// MergeNewer implements pebble.ValueMerger.
func (m *tallyMerge) MergeNewer(operand []byte) error { return m.add(operand) }

// MergeOlder implements pebble.ValueMerger.
func (m *tallyMerge) MergeOlder(operand []byte) error { return m.add(operand) }

func (m *tallyMerge) add(operand []byte) error {
	raw, err := parseTally(operand)
	if err != nil {
		return err
	}
	m.hits += raw.hits
	m.bots += raw.bots
	m.prefetches += raw.prefetches
	m.heads += raw.heads
	switch {
	case raw.sketch == nil:
		return nil
	case raw.sketch[0] == sketchExact:
		return m.addExact(raw.sketch)
	}
	return m.addDense(raw.sketch)
}

func (m *tallyMerge) addExact(sketch []byte) (err error) {
	m.sorted = m.sorted && len(m.hashes) == 0
	if m.hashes, err = exactHashes(m.hashes, sketch, true); err != nil {
		return err
	}
	if len(m.hashes) > maxLooseHashes {
		m.unite()
	}
	return nil
}

func (m *tallyMerge) addDense(sketch []byte) error {
	s, err := decodeSketch(sketch)
	if err != nil {
		return err
	}
	if m.dense.Dense() {
		m.dense.Unite(s)
	} else {
		m.dense = s
	}
	return nil
}

// unite frees hashes of repetitions, and puts them into dense if there is one or must be one.
func (m *tallyMerge) unite() {
	if !m.sorted {
		slices.Sort(m.hashes)
		m.hashes, m.sorted = slices.Compact(m.hashes), true
	}
	if m.dense.Dense() || len(m.hashes) > engine.MaxExactVisitors {
		m.dense.AddAll(m.hashes)
		m.hashes = m.hashes[:0]
	}
}

// Finish implements pebble.ValueMerger. A result that lacks its base is a tally row like any other.
func (m *tallyMerge) Finish(bool) ([]byte, io.Closer, error) {
	m.unite()
	t := engine.Tally{Hits: m.hits, Bots: m.bots, Prefetches: m.prefetches, Heads: m.heads, Visitors: m.dense}
	if !m.dense.Dense() {
		t.Visitors = engine.ExactSketch(m.hashes)
	}
	row := appendTally(make([]byte, 0, m.sizeHint()), &t)
	m.dense = engine.Sketch{}
	mergePool.Put(m)
	return row, nil, nil
}

// sizeHint is what the row takes at most, or a little more than that when it is dense.
func (m *tallyMerge) sizeHint() int {
	const head, dense = 2 + 4*10, 9 + 1<<14
	if m.dense.Dense() {
		return head + dense
	}
	if len(m.hashes) < 64 && m.bots|m.prefetches|m.heads == 0 {
		return 2 + 10 + 2 + 8*len(m.hashes)
	}
	return head + 4 + 8*len(m.hashes)
}
