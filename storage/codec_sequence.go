package storage

import (
	"encoding/binary"
	"io"
)

const sequenceVersion = 1

// sequence says which batches a store contains. Batches that change it are numbered 1, 2, 3 … in the order in which they
// stand in the write-ahead log, and each adds itself to one row by a merge. A store that has lost nothing contains as many as
// the number of its last one; a crash takes only the last ones, so that stays true. If some in the middle are gone (a damaged
// manifest that leaves tables out, say), there are fewer.
type sequence struct {
	count uint64 // batches contained
	last  uint64 // the highest number among them
}

func (q sequence) add(r sequence) sequence { return sequence{q.count + r.count, max(q.last, r.last)} }

// appendSequence appends a sequence, which is the row and each operand of it.
//
//	┌───────────┬───────┬──────┐
//	│ version 1 │ count │ last │
//	└───────────┴───────┴──────┘
func appendSequence(dst []byte, q sequence) []byte {
	dst = binary.AppendUvarint(append(dst, sequenceVersion), q.count)
	return binary.AppendUvarint(dst, q.last)
}

func decodeSequence(v []byte) (sequence, error) {
	r := readValue("sequence of writes", v, sequenceVersion)
	q := sequence{count: r.uvarint(), last: r.uvarint()}
	return q, r.end()
}

// sequenceMerge adds operands of the sequence's row.
type sequenceMerge struct{ sum sequence }

// MergeNewer implements operandMerge.
func (m *sequenceMerge) MergeNewer(operand []byte) error {
	q, err := decodeSequence(operand)
	m.sum = m.sum.add(q)
	return err
}

// MergeOlder implements operandMerge. The order does not matter.
func (m *sequenceMerge) MergeOlder(operand []byte) error { return m.MergeNewer(operand) }

// Finish implements operandMerge.
func (m *sequenceMerge) Finish(bool) ([]byte, io.Closer, error) {
	return appendSequence(nil, m.sum), nil, nil
}
