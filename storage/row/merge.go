package row

import (
	"bytes"
	"io"
	"sync"
)

// MergerName is pinned on disk: Pebble opens a store with no other merger.
const MergerName = "shunt.tally.v1"

// tallyMerge adds the operands of one tally row. Each operand is a tally row, and so is the result,
// so a merge of merges is a merge: counts are summed, visitors and breakdowns united. A malformed
// operand is an error, which stops the read or the compaction; nothing is dropped.
//
// Pebble begins a merge for each row that it reads, even one that is merged already. So a single
// operand is only checked at the end, and is the result.
type tallyMerge struct {
	sum    Sum
	single bool   // there was only one operand so far, and row is a copy of it
	row    []byte // kept so that its memory is reused
}

// mergePool keeps merges so that their memory is reused. Finish puts a merge back; Pebble does not
// use it after that.
var mergePool = sync.Pool{New: func() any { return new(tallyMerge) }}

// A Merge adds further operands of a row to the first, in any order. It has the methods of Pebble's
// ValueMerger. Only one goroutine may use it.
type Merge interface {
	MergeNewer(operand []byte) error
	MergeOlder(operand []byte) error

	// Finish returns the sum; the merge must not be used after it. Its closer is nil.
	Finish(includesBase bool) ([]byte, io.Closer, error)
}

// NewMerge begins the merge of a row with its first operand, which it copies.
func NewMerge(key, operand []byte) (Merge, error) {
	if len(key) > 0 && key[0] == TableMeta {
		m := new(sequenceMerge)
		return m, m.MergeNewer(operand)
	}
	m := mergePool.Get().(*tallyMerge)
	m.row, m.single = append(m.row[:0], operand...), true
	return m, nil
}

// MergeNewer implements Merge.
func (m *tallyMerge) MergeNewer(operand []byte) error {
	if m.single {
		m.single = false
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
	if m.single {
		if err := CheckTally(m.row); err != nil {
			return nil, nil, err
		}
	} else {
		m.row = m.sum.AppendRow(m.row[:0])
		m.sum.Reset()
	}
	row := bytes.Clone(m.row)
	mergePool.Put(m)
	return row, nil, nil
}
