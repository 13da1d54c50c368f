package storage

import (
	"bytes"
	"io"
	"sync"

	"shunt/engine"
)

// mergerName is pinned on disk: Pebble opens a store with no other merger.
const mergerName = "shunt.tally.v1"

const allParts = engine.Visitors | engine.Breakdowns

// tallyMerge adds the operands of one tally row. Each operand is a tally row, and so is the result, so a merge of merges is
// a merge: counts are summed, visitors and breakdowns united. A malformed operand is an error, which stops the read or the
// compaction; nothing is dropped.
//
// Pebble merges each row that it reads, also one that is united already: a single operand is checked in the end, and is the
// result.
type tallyMerge struct {
	sum    tallySum
	single bool   // there was one operand, and row is a copy
	row    []byte // kept for its memory
}

// mergePool keeps merges for their memory. A merge goes back in Finish, after which Pebble does not touch it.
var mergePool = sync.Pool{New: func() any { return new(tallyMerge) }}

// operandMerge adds further operands of a row to the first. It has the methods of Pebble's ValueMerger.
type operandMerge interface {
	MergeNewer(operand []byte) error
	MergeOlder(operand []byte) error

	// Finish returns the sum; the merge must not be used after it. Its closer is nil.
	Finish(includesBase bool) ([]byte, io.Closer, error)
}

// newMerge begins the merge of a row with its first operand, which it copies.
func newMerge(key, operand []byte) (operandMerge, error) {
	if len(key) > 0 && key[0] == tableMeta {
		m := new(sequenceMerge)
		return m, m.MergeNewer(operand)
	}
	m := mergePool.Get().(*tallyMerge)
	m.row, m.single = append(m.row[:0], operand...), true
	return m, nil
}

// MergeNewer implements operandMerge.
func (m *tallyMerge) MergeNewer(operand []byte) error {
	if m.single {
		m.single = false
		if err := m.sum.add(m.row, allParts); err != nil {
			return err
		}
	}
	return m.sum.add(operand, allParts)
}

// MergeOlder implements operandMerge. The order does not matter.
func (m *tallyMerge) MergeOlder(operand []byte) error { return m.MergeNewer(operand) }

// Finish implements operandMerge. A result that lacks its base is a tally row like any other.
func (m *tallyMerge) Finish(bool) ([]byte, io.Closer, error) {
	if m.single {
		if err := checkTally(m.row); err != nil {
			return nil, nil, err
		}
	} else {
		m.row = m.sum.appendRow(m.row[:0])
		m.sum.reset()
	}
	row := bytes.Clone(m.row)
	mergePool.Put(m)
	return row, nil, nil
}
