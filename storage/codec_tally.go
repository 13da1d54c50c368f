package storage

import (
	"encoding/binary"
	"fmt"

	"shunt/engine"
)

const tallyVersion = 1

// Flags of a tally row: which of its parts there are. What is zero or empty is not there.
const (
	tallyHits = 1 << iota
	tallyBots
	tallyPrefetches
	tallyHeads
	tallyVisitors

	tallyKnownFlags = 1<<5 - 1
)

// appendTally appends a tally row; the rows of hours, days and lives have one format, and so have merge operands.
//
//	┌───────────┬─────────┬────────┬────────┬──────────────┬─────────┬──────────────────────────────┐
//	│ version 1 │ flags 1 │ [hits] │ [bots] │ [prefetches] │ [heads] │ [visitors: a sketch …end]    │
//	└───────────┴─────────┴────────┴────────┴──────────────┴─────────┴──────────────────────────────┘
//
// A part in brackets is there if its flag is set. One hit of one visitor takes 13 bytes. Version 2 will hold dimensions
// (devices, countries, referrers) before the visitors, with their length; a program that knows only version 1 refuses
// such a row.
func appendTally(dst []byte, t *engine.Tally) []byte {
	counts := [...]uint64{t.Hits, t.Bots, t.Prefetches, t.Heads}
	at := len(dst) + 1
	dst = append(dst, tallyVersion, 0)
	for i, n := range counts {
		if n != 0 {
			dst[at] |= 1 << i
			dst = binary.AppendUvarint(dst, n)
		}
	}
	if !isEmpty(&t.Visitors) {
		dst[at] |= tallyVisitors
		dst = t.Visitors.AppendBinary(dst)
	}
	return dst
}

func isEmpty(s *engine.Sketch) bool { return !s.Dense() && s.Count() == 0 }

// rawTally is a tally row whose sketch is still encoded; nil: there is none. The sketch aliases the row.
type rawTally struct {
	hits, bots, prefetches, heads uint64
	sketch                        []byte
}

func parseTally(v []byte) (rawTally, error) {
	r := readValue("tally row", v, tallyVersion)
	flags := r.byte()
	if flags&^tallyKnownFlags != 0 {
		r.fail("unknown flags")
	}
	t := rawTally{
		hits: r.count(flags & tallyHits), bots: r.count(flags & tallyBots),
		prefetches: r.count(flags & tallyPrefetches), heads: r.count(flags & tallyHeads),
	}
	if flags&tallyVisitors != 0 && r.err == nil {
		if t.sketch, r.rest = r.rest, nil; len(t.sketch) == 0 {
			r.fail("it ends early")
		}
	}
	return t, r.end()
}

// count reads a count that is there if flag is not 0.
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

// decodeTally decodes a tally row. The result shares no memory with v.
func decodeTally(v []byte) (engine.Tally, error) {
	raw, err := parseTally(v)
	if err != nil {
		return engine.Tally{}, err
	}
	t := engine.Tally{Hits: raw.hits, Bots: raw.bots, Prefetches: raw.prefetches, Heads: raw.heads}
	if raw.sketch != nil {
		t.Visitors, err = decodeSketch(raw.sketch)
	}
	return t, err
}

// decodeTallyHits reads the hits of a tally row, and looks at no more than that.
func decodeTallyHits(v []byte) (uint64, error) {
	r := readValue("tally row", v, tallyVersion)
	hits := r.count(r.byte() & tallyHits)
	return hits, r.err
}

// checkTally tells whether v is a tally row. It allocates nothing while the visitors are few.
func checkTally(v []byte) error {
	raw, err := parseTally(v)
	if err != nil || raw.sketch == nil {
		return err
	}
	if raw.sketch[0] != sketchExact {
		_, err = decodeSketch(raw.sketch)
		return err
	}
	_, err = exactHashes(nil, raw.sketch, false)
	return err
}

// What this package knows of the sketch's encoding, which is the engine's: the exact form, so that merging the many rows
// of few visitors needs no Sketch for each, and the head of the dense form, which the engine does not look at whole.
const (
	sketchEmpty = 0
	sketchExact = 1 // uvarint n, then n ascending hashes of 8 bytes, little-endian
	sketchDense = 2
)

var denseHead = [9]byte{sketchDense, 2, 14, 0, 0, 0, 0, 0x40, 0} // form, library's version, precision, 2 × 0, registers

// decodeSketch decodes a sketch that is not empty.
func decodeSketch(b []byte) (engine.Sketch, error) {
	switch {
	case b[0] == sketchEmpty:
		return engine.Sketch{}, fmt.Errorf("%w: tally row: empty sketch", ErrCorrupt)
	case b[0] == sketchDense && (len(b) < len(denseHead) || [9]byte(b) != denseHead):
		return engine.Sketch{}, fmt.Errorf("%w: tally row: malformed head of a dense sketch", ErrCorrupt)
	}
	s, err := engine.DecodeSketch(b)
	if err != nil {
		return engine.Sketch{}, fmt.Errorf("%w: tally row: %w", ErrCorrupt, err)
	}
	return s, nil
}

// exactHashes checks a sketch of the exact form and, with keep, appends its hashes to dst.
func exactHashes(dst []uint64, sketch []byte, keep bool) ([]uint64, error) {
	r := reader{rest: sketch[1:], what: "exact sketch"}
	n := r.uvarint()
	if r.err == nil && (n == 0 || n > engine.MaxExactVisitors || uint64(len(r.rest)) != 8*n) {
		r.fail("wrong length")
	}
	for last := uint64(0); len(r.rest) > 0; r.rest = r.rest[8:] {
		hash := binary.LittleEndian.Uint64(r.rest)
		if hash <= last && uint64(len(r.rest)) != 8*n {
			r.fail("hashes not ascending")
			break
		}
		if last = hash; keep {
			dst = append(dst, hash)
		}
	}
	return dst, r.err
}
