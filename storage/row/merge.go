package row

import (
	"io"
	"sync"
)

// MergerName is pinned on disk: Pebble opens a store with no other merger.
const MergerName = "shunt.tally.v1"

// maxPairs is the number of operands that are added pair by pair. Each addition writes the whole
// row again; a Sum does so once, but costs more for the first operands.
const maxPairs = 4

// tallyMerge adds the operands of one tally row. Each operand is a tally row, and so is the result,
// so a merge of merges is a merge: counts are summed, visitors and breakdowns united. A malformed
// operand is an error, which stops the read or the compaction; nothing is dropped.
//
// Pebble begins a merge for each row that it reads, even one that is merged already. A single
// operand is the result as it is, and is not checked: Pebble has checked the block that it is from, and
// whatever reads or adds the row decodes it. Checking it cost a tenth of all flushes and compactions.
type tallyMerge struct {
	row      []byte // the sum of the first operands
	operands int    // in row
	summed   bool   // sum has row and all operands after it
	sum      Sum
	spare    []byte
}

// mergePool keeps merges so that their memory is reused.
var mergePool = sync.Pool{New: func() any { return new(tallyMerge) }}

// A Merge adds further operands of a row to the first, in any order. It has the methods of Pebble's
// ValueMerger. Only one goroutine may use it.
type Merge interface {
	MergeNewer(operand []byte) error
	MergeOlder(operand []byte) error

	// Finish returns the sum, which is valid until the closer, if it is not nil, is closed. Nothing
	// else of the merge may be used after it.
	Finish(includesBase bool) ([]byte, io.Closer, error)
}

// NewMerge begins the merge of a row with its first operand, which it copies.
func NewMerge(key, operand []byte) (Merge, error) {
	if len(key) > 0 && key[0] == TableMeta {
		m := new(sequenceMerge)
		return m, m.MergeNewer(operand)
	}
	m := mergePool.Get().(*tallyMerge)
	m.row, m.operands, m.summed = append(m.row[:0], operand...), 1, false
	return m, nil
}

// MergeNewer implements Merge.
func (m *tallyMerge) MergeNewer(operand []byte) error {
	if m.operands < maxPairs && !m.summed {
		sum, ok, err := appendPair(m.spare[:0], m.row, operand)
		if err != nil {
			return err
		}
		if m.spare = sum; ok {
			m.row, m.spare = m.spare, m.row
			m.operands++
			return nil
		}
	}
	if !m.summed {
		m.summed = true
		if err := m.sum.Add(m.row, AllParts); err != nil {
			return err
		}
	}
	return m.sum.Add(operand, AllParts)
}

// MergeOlder implements Merge. The order does not matter.
func (m *tallyMerge) MergeOlder(operand []byte) error { return m.MergeNewer(operand) }

// Finish implements Merge. A result that lacks its base is a tally row like any other.
func (m *tallyMerge) Finish(bool) ([]byte, io.Closer, error) {
	if m.summed {
		m.row = m.sum.AppendRow(m.row[:0])
		m.sum.Reset()
	}
	return m.row, m, nil
}

// Close puts a finished merge back into the pool. Pebble calls it once, when it is done with the
// sum.
func (m *tallyMerge) Close() error {
	mergePool.Put(m)
	return nil
}
