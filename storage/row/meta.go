package row

import (
	"encoding/binary"
	"fmt"
	"strings"

	"shunt/engine"
)

const (
	positionsVersion = 1
	markVersion      = 1
	sweepVersion     = 1
	logVersion       = 1

	// maxRings bounds the rings of a decoded value; the engine has at most 64.
	maxRings = 1024
)

// AppendPositions appends the positions of a flush.
//
//	┌───────────┬───────┬───────────┬───────────┬──────────────────────────────┐
//	│ version 1 │ epoch │ flush seq │ open hour │ number of rings · positions  │
//	└───────────┴───────┴───────────┴───────────┴──────────────────────────────┘
func AppendPositions(dst []byte, p *engine.Positions) []byte {
	dst = binary.AppendUvarint(append(dst, positionsVersion), p.Epoch)
	dst = binary.AppendUvarint(dst, p.FlushSeq)
	dst = binary.AppendUvarint(dst, uint64(p.OpenHour))
	dst = binary.AppendUvarint(dst, uint64(len(p.Rings)))
	for _, position := range p.Rings {
		dst = binary.AppendUvarint(dst, position)
	}
	return dst
}

// DecodePositions decodes positions. The result shares no memory with v.
func DecodePositions(v []byte) (engine.Positions, error) {
	r := readValue("positions", v, positionsVersion)
	p := engine.Positions{Epoch: r.uvarint(), FlushSeq: r.uvarint(), OpenHour: r.uint32()}
	n := r.uvarint()
	if n > maxRings {
		r.fail("too many rings")
		return engine.Positions{}, r.err
	}
	if n > 0 {
		p.Rings = make([]uint64, n)
	}
	for i := range p.Rings {
		p.Rings[i] = r.uvarint()
	}
	return p, r.end()
}

// Stage is the table that the roll-up or a sweep has reached: of the two tables of hours or of the
// two of days.
type Stage byte

const (
	StageLinks Stage = iota
	StageOwners
	StageDone // of a sweep only
)

// Mark is the point that the roll-up has reached. In the order of (hour, stage, link id or owner),
// every row before (Hour, Stage, Next) is contained in day and life rows, and no other row is.
type Mark struct {
	Hour  uint32
	Stage Stage
	Next  uint64
}

// Passed reports whether the row of (hour, id) in the stage's table is contained in day and life
// rows.
func (m Mark) Passed(s Stage, hour uint32, id uint64) bool {
	return hour < m.Hour || hour == m.Hour && (s < m.Stage || s == m.Stage && id < m.Next)
}

// NextStage returns the mark at the end of a table of an hour.
func (m Mark) NextStage() Mark {
	if m.Stage == StageLinks {
		return Mark{Hour: m.Hour, Stage: StageOwners}
	}
	return Mark{Hour: m.Hour + 1}
}

// AppendMark appends the roll-up mark.
//
//	┌───────────┬──────┬─────────┬──────────────────────────┐
//	│ version 1 │ hour │ stage 1 │ next link id, or owner   │
//	└───────────┴──────┴─────────┴──────────────────────────┘
func AppendMark(dst []byte, m Mark) []byte {
	dst = binary.AppendUvarint(append(dst, markVersion), uint64(m.Hour))
	return binary.AppendUvarint(append(dst, byte(m.Stage)), m.Next)
}

// DecodeMark decodes the roll-up mark.
func DecodeMark(v []byte) (Mark, error) {
	r := readValue("roll-up mark", v, markVersion)
	m := Mark{Hour: r.uint32(), Stage: Stage(r.byte()), Next: r.uvarint()}
	if m.Stage > StageOwners {
		r.fail("unknown stage")
	}
	return m, r.end()
}

// Sweep is the point that the deletion of old day rows has reached. In the order of (Stage, link id
// or owner), no row of a day before FirstDay is left before (Stage, Next), except rows that were
// rolled up later.
type Sweep struct {
	FirstDay uint32
	Stage    Stage
	Next     uint64 // 0 if done
}

// NextStage returns the sweep mark at the end of a table.
func (w Sweep) NextStage() Sweep { return Sweep{FirstDay: w.FirstDay, Stage: w.Stage + 1} }

// AppendSweep appends the sweep mark.
//
//	┌───────────┬───────────┬──────────────────────────────────┬──────────────────────────┐
//	│ version 1 │ first day │ stage 1: 0 links 1 owners 2 done │ next link id, or owner   │
//	└───────────┴───────────┴──────────────────────────────────┴──────────────────────────┘
func AppendSweep(dst []byte, w Sweep) []byte {
	dst = binary.AppendUvarint(append(dst, sweepVersion), uint64(w.FirstDay))
	return binary.AppendUvarint(append(dst, byte(w.Stage)), w.Next)
}

// DecodeSweep decodes the sweep mark.
func DecodeSweep(v []byte) (Sweep, error) {
	r := readValue("sweep mark", v, sweepVersion)
	w := Sweep{FirstDay: r.uint32(), Stage: Stage(r.byte()), Next: r.uvarint()}
	if w.Stage > StageDone || w.Stage == StageDone && w.Next != 0 {
		r.fail("unknown stage")
	}
	return w, r.end()
}

const baseURLVersion = 1

// MaxBaseURLBytes bounds a base URL. A base URL is checked like a target, so none is longer.
const MaxBaseURLBytes = engine.MaxTargetBytes

// AppendBaseURL appends the base URL of the last server: scheme, host and port, in ASCII.
//
//	┌───────────┬──────────┐
//	│ version 1 │ base URL │
//	└───────────┴──────────┘
func AppendBaseURL(dst []byte, baseURL string) []byte {
	return append(append(dst, baseURLVersion), baseURL...)
}

// DecodeBaseURL decodes a base URL.
func DecodeBaseURL(v []byte) (string, error) {
	r := readValue("base URL", v, baseURLVersion)
	text := string(r.rest)
	if why := BaseURLProblem(text); r.err == nil && why != "" {
		r.fail(why)
	}
	if r.err != nil {
		return "", r.err
	}
	return text, nil
}

// BaseURLProblem returns the reason why text cannot be stored as a base URL, or "" if it can.
func BaseURLProblem(text string) string {
	visible := func(c rune) bool { return ' ' < c && c <= '~' }
	switch {
	case text == "" || len(text) > MaxBaseURLBytes:
		return fmt.Sprintf("it has %d bytes", len(text))
	case strings.ContainsFunc(text, func(c rune) bool { return !visible(c) }):
		return "it has characters that no address has"
	}
	return ""
}

// LogPosition is the position up to which a store has applied the log of its cluster: the sequence and
// the epoch of the last entry, and its hash. Sequence 0 is the beginning.
type LogPosition struct {
	Cluster         [16]byte // id
	Sequence, Epoch uint64
	Hash            [32]byte
}

// AppendLogPosition appends a position in the log of a cluster.
//
//	┌───────────┬────────────┬──────────┬───────┬─────────┐
//	│ version 1 │ cluster 16 │ sequence │ epoch │ hash 32 │
//	└───────────┴────────────┴──────────┴───────┴─────────┘
func AppendLogPosition(dst []byte, p LogPosition) []byte {
	dst = append(append(dst, logVersion), p.Cluster[:]...)
	dst = binary.AppendUvarint(dst, p.Sequence)
	dst = binary.AppendUvarint(dst, p.Epoch)
	return append(dst, p.Hash[:]...)
}

// DecodeLogPosition decodes a position in the log of a cluster.
func DecodeLogPosition(v []byte) (LogPosition, error) {
	r := readValue("position in the log", v, logVersion)
	var p LogPosition
	copy(p.Cluster[:], r.fixed(len(p.Cluster)))
	p.Sequence, p.Epoch = r.uvarint(), r.uvarint()
	copy(p.Hash[:], r.fixed(len(p.Hash)))
	return p, r.end()
}
