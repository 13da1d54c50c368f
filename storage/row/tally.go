package row

import (
	"encoding/binary"

	"shunt/engine"
)

const tallyVersion = 1

// The flags of a tally row mark the parts that it has. A part that is zero or empty is left out.
const (
	tallyHits = 1 << iota
	tallyBots
	tallyPrefetches
	tallyHeads
	tallyVisitors
	tallyBreakdowns

	knownTallyFlags = tallyBreakdowns<<1 - 1
)

// AppendTally appends a tally row. The rows of hours, days and lives, and merge operands, all have
// this format.
//
//	┌─────────┬─────────┬────────┬────────┬──────────────┬─────────┬───────────────┬──────────────────────┐
//	│ version │ flags 1 │ [hits] │ [bots] │ [prefetches] │ [heads] │ [breakdowns]  │ [visitors: a sketch  │
//	│ 1       │         │        │        │              │         │               │  …end]               │
//	└─────────┴─────────┴────────┴────────┴──────────────┴─────────┴───────────────┴──────────────────────┘
//
// A part in brackets is present if its flag is set; appendBreakdowns draws breakdowns. One hit of
// one visitor takes 13 bytes; with all dimensions it takes 23 bytes plus the name of the referrer.
func AppendTally(dst []byte, t *engine.Tally) []byte {
	at := len(dst)
	dst = appendCounts(dst, t.Hits, t.Bots, t.Prefetches, t.Heads)
	if !t.Dimensions.Empty() {
		dst[at+1] |= tallyBreakdowns
		dst = appendBreakdowns(dst, t.Hits, &t.Dimensions)
	}
	if !isEmpty(&t.Visitors) {
		dst[at+1] |= tallyVisitors
		dst = t.Visitors.AppendBinary(dst)
	}
	return dst
}

// appendCounts appends the beginning of a tally row: version, the flags of its counts, the counts.
func appendCounts(dst []byte, counts ...uint64) []byte {
	at := len(dst)
	dst = append(dst, tallyVersion, 0)
	for i, n := range counts {
		if n != 0 {
			dst[at+1] |= 1 << i
			dst = binary.AppendUvarint(dst, n)
		}
	}
	return dst
}

func isEmpty(s *engine.Sketch) bool { return !s.Dense() && s.Count() == 0 }

// RawTally is a tally row whose sketch and breakdowns are still encoded. They alias the row; nil
// means that there are none.
type RawTally struct {
	Hits, Bots, Prefetches, Heads uint64
	breakdowns                    []byte // without their length
	sketch                        []byte
}

// readTally begins reading a tally row: its counts come next.
func readTally(v []byte) (r reader, flags byte) {
	r = readValue("tally row", v, tallyVersion)
	if flags = r.byte(); flags&^knownTallyFlags != 0 {
		r.fail("unknown flags")
	}
	return r, flags
}

// ParseTally decodes the counts of a tally row. Of the sketch and the breakdowns it checks only the
// lengths.
func ParseTally(v []byte) (RawTally, error) {
	r, flags := readTally(v)
	t := RawTally{
		Hits: r.count(flags & tallyHits), Bots: r.count(flags & tallyBots),
		Prefetches: r.count(flags & tallyPrefetches), Heads: r.count(flags & tallyHeads),
	}
	if flags&tallyBreakdowns != 0 {
		t.breakdowns = r.bytes(len(r.rest))
	}
	if flags&tallyVisitors != 0 && r.err == nil {
		if t.sketch, r.rest = r.rest, nil; len(t.sketch) == 0 {
			r.fail("it ends early")
		}
	}
	return t, r.end()
}

// count reads a count that is present if flag is not 0.
func (r *reader) count(flag byte) uint64 {
	if flag == 0 {
		return 0
	}
	n := r.uvarint()
	if n == 0 {
		r.fail("count of zero")
	}
	return n
}

// DecodeTallyHits decodes the hits of a tally row, and nothing else.
func DecodeTallyHits(v []byte) (uint64, error) {
	r, flags := readTally(v)
	hits := r.count(flags & tallyHits)
	return hits, r.err
}

// CheckTally returns an error unless v is a tally row. It allocates nothing unless it returns an
// error.
func CheckTally(v []byte) error {
	raw, err := ParseTally(v)
	if err == nil && raw.breakdowns != nil {
		err = checkBreakdowns(raw.breakdowns, raw.Hits)
	}
	if err != nil || raw.sketch == nil {
		return err
	}
	if raw.sketch[0] == sketchExact {
		_, err = exactHashes(nil, raw.sketch, false)
		return err
	}
	_, err = denseRegisters(raw.sketch)
	return err
}
