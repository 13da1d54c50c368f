package row

import (
	"encoding/binary"
	"fmt"

	"shunt/engine"
)

const summaryVersion = 1

// Summary is what lists sort a link by and what its life row is too large to be read for.
type Summary struct {
	Visitors uint64 // of the link's life, an estimate beyond engine.MaxExactVisitors; never greater than its hits
	LastHour uint32 // the last hour that has a hit
}

// AppendSummary appends a summary.
//
//	┌───────────┬──────────┬──────────────┐
//	│ version 1 │ visitors │ last hour    │
//	└───────────┴──────────┴──────────────┘
func AppendSummary(dst []byte, s Summary) []byte {
	dst = binary.AppendUvarint(append(dst, summaryVersion), s.Visitors)
	return binary.AppendUvarint(dst, uint64(s.LastHour))
}

// DecodeSummary decodes a summary.
func DecodeSummary(v []byte) (Summary, error) {
	r := readValue("summary", v, summaryVersion)
	s := Summary{Visitors: r.uvarint(), LastHour: r.uint32()}
	return s, r.end()
}

// CountVisitors returns the hits of a tally row, and its visitors: exactly, or as engine.Sketch estimates them. They
// are never more than the hits.
func CountVisitors(tally []byte) (hits, visitors uint64, err error) {
	t, err := ParseTally(tally)
	if err != nil || t.sketch == nil {
		return t.Hits, 0, err
	}
	if t.sketch[0] == sketchExact {
		hashes, err := rawHashes(t.sketch)
		return t.Hits, min(t.Hits, uint64(len(hashes)/8)), err
	}
	s, err := engine.DecodeSketch(t.sketch)
	if err != nil {
		return t.Hits, 0, fmt.Errorf("%w: tally row: %w", ErrCorrupt, err)
	}
	return t.Hits, min(t.Hits, s.Count()), nil
}
