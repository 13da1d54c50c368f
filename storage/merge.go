package storage

import (
	"bytes"
	"io"
	"sync"

	"github.com/cockroachdb/pebble/v2"

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
var mergePool = sync.Pool{New: func() any { return &tallyMerge{sum: tallySum{sorted: true}} }}

func newMerger() *pebble.Merger {
	return &pebble.Merger{
		Name: mergerName,
		Merge: func(key, operand []byte) (pebble.ValueMerger, error) {
			if len(key) > 0 && key[0] == tableMeta {
				m := new(sequenceMerge)
				return m, m.MergeNewer(operand)
			}
			m := mergePool.Get().(*tallyMerge)
			m.row, m.single = append(m.row[:0], operand...), true
			return m, nil
		},
	}
}

// MergeNewer implements pebble.ValueMerger.
func (m *tallyMerge) MergeNewer(operand []byte) error {
	if m.single {
		m.single = false
		if err := m.sum.add(m.row, allParts); err != nil {
			return err
		}
	}
	return m.sum.add(operand, allParts)
}

// MergeOlder implements pebble.ValueMerger. The order does not matter.
func (m *tallyMerge) MergeOlder(operand []byte) error { return m.MergeNewer(operand) }

// Finish implements pebble.ValueMerger. A result that lacks its base is a tally row like any other.
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
