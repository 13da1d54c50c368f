package row

import (
	"encoding/binary"
	"io"
)

const sequenceVersion = 1

// Sequence describes the batches that a store contains. Batches that change it are numbered 1, 2, 3
// … in the order of the write-ahead log, and each adds itself to one row by a merge. So in a store
// that has lost nothing, Count equals Last. A crash takes only the last batches, so that stays
// true. If batches in the middle are missing (for example because a damaged manifest leaves tables
// out), Count is smaller.
type Sequence struct {
	Count uint64 // batches contained
	Last  uint64 // the highest number among them
}

func (q Sequence) add(r Sequence) Sequence { return Sequence{q.Count + r.Count, max(q.Last, r.Last)} }

// AppendSequence appends a sequence. The row and each operand of it have this format.
//
//	┌───────────┬───────┬──────┐
//	│ version 1 │ count │ last │
//	└───────────┴───────┴──────┘
func AppendSequence(dst []byte, q Sequence) []byte {
	dst = binary.AppendUvarint(append(dst, sequenceVersion), q.Count)
	return binary.AppendUvarint(dst, q.Last)
}

// DecodeSequence decodes a sequence.
func DecodeSequence(v []byte) (Sequence, error) {
	r := readValue("sequence of writes", v, sequenceVersion)
	q := Sequence{Count: r.uvarint(), Last: r.uvarint()}
	return q, r.end()
}

// sequenceMerge adds up the operands of the sequence's row.
type sequenceMerge struct{ sum Sequence }

// MergeNewer implements Merge.
func (m *sequenceMerge) MergeNewer(operand []byte) error {
	q, err := DecodeSequence(operand)
	m.sum = m.sum.add(q)
	return err
}

// MergeOlder implements Merge. The order does not matter.
func (m *sequenceMerge) MergeOlder(operand []byte) error { return m.MergeNewer(operand) }

// Finish implements Merge.
func (m *sequenceMerge) Finish(bool) ([]byte, io.Closer, error) {
	return AppendSequence(nil, m.sum), nil, nil
}
