package row

import (
	"encoding/binary"
	"io"
)

const sequenceVersion = 1

// Sequence says which batches a store contains. Batches that change it are numbered 1, 2, 3 … in
// the order of the write-ahead log, and each adds itself to one row by a merge. A store that has
// lost nothing contains as many as the number of its last one; a crash takes only the last ones, so
// that stays true. If some in the middle are missing (because a damaged manifest leaves tables out,
// say), there are fewer.
type Sequence struct {
	Count uint64 // batches contained
	Last  uint64 // the highest number among them
}

func (q Sequence) add(r Sequence) Sequence { return Sequence{q.Count + r.Count, max(q.Last, r.Last)} }

// AppendSequence appends a sequence, which is the row and each operand of it.
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

// sequenceMerge adds operands of the sequence's row.
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
