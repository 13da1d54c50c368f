package storage

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

	// maxRings bounds the rings of a decoded value; the engine has at most 64.
	maxRings = 1024
)

// appendPositions appends the positions of a flush.
//
//	┌───────────┬───────┬───────────┬───────────┬──────────────────────────────┐
//	│ version 1 │ epoch │ flush seq │ open hour │ number of rings · positions  │
//	└───────────┴───────┴───────────┴───────────┴──────────────────────────────┘
func appendPositions(dst []byte, p *engine.Positions) []byte {
	dst = binary.AppendUvarint(append(dst, positionsVersion), p.Epoch)
	dst = binary.AppendUvarint(dst, p.FlushSeq)
	dst = binary.AppendUvarint(dst, uint64(p.OpenHour))
	dst = binary.AppendUvarint(dst, uint64(len(p.Rings)))
	for _, position := range p.Rings {
		dst = binary.AppendUvarint(dst, position)
	}
	return dst
}

func decodePositions(v []byte) (engine.Positions, error) {
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

// stage is which of two tables, of hours or of days, the roll-up or a sweep goes over.
type stage byte

const (
	stageLinks stage = iota
	stageOwners
	stageDone // of a sweep only
)

// mark says how far the roll-up went. In the order of (hour, stage, link id or owner), every row before
// (Hour, Stage, Next) is contained in day and life rows, and none from there on is.
type mark struct {
	hour  uint32
	stage stage
	next  uint64
}

// passed tells whether the row of (hour, id) in the stage's table is contained in day and life rows.
func (m mark) passed(s stage, hour uint32, id uint64) bool {
	return hour < m.hour || hour == m.hour && (s < m.stage || s == m.stage && id < m.next)
}

// nextStage returns the mark at the end of a table of an hour.
func (m mark) nextStage() mark {
	if m.stage == stageLinks {
		return mark{hour: m.hour, stage: stageOwners}
	}
	return mark{hour: m.hour + 1}
}

// appendMark appends the roll-up mark.
//
//	┌───────────┬──────┬─────────┬──────────────────────────┐
//	│ version 1 │ hour │ stage 1 │ next link id, or owner   │
//	└───────────┴──────┴─────────┴──────────────────────────┘
func appendMark(dst []byte, m mark) []byte {
	dst = binary.AppendUvarint(append(dst, markVersion), uint64(m.hour))
	return binary.AppendUvarint(append(dst, byte(m.stage)), m.next)
}

func decodeMark(v []byte) (mark, error) {
	r := readValue("roll-up mark", v, markVersion)
	m := mark{hour: r.uint32(), stage: stage(r.byte()), next: r.uvarint()}
	if m.stage > stageOwners {
		r.fail("unknown stage")
	}
	return m, r.end()
}

// sweep says how far the deletion of old day rows went. In the order of (Stage, link id or owner), no row of a day before
// FirstDay is left before (Stage, Next), but for those that were rolled up later.
type sweep struct {
	firstDay uint32
	stage    stage
	next     uint64 // 0 if done
}

// nextStage returns the sweep mark at the end of a table.
func (w sweep) nextStage() sweep { return sweep{firstDay: w.firstDay, stage: w.stage + 1} }

// appendSweep appends the sweep mark.
//
//	┌───────────┬───────────┬──────────────────────────────────┬──────────────────────────┐
//	│ version 1 │ first day │ stage 1: 0 links 1 owners 2 done │ next link id, or owner   │
//	└───────────┴───────────┴──────────────────────────────────┴──────────────────────────┘
func appendSweep(dst []byte, w sweep) []byte {
	dst = binary.AppendUvarint(append(dst, sweepVersion), uint64(w.firstDay))
	return binary.AppendUvarint(append(dst, byte(w.stage)), w.next)
}

func decodeSweep(v []byte) (sweep, error) {
	r := readValue("sweep mark", v, sweepVersion)
	w := sweep{firstDay: r.uint32(), stage: stage(r.byte()), next: r.uvarint()}
	if w.stage > stageDone || w.stage == stageDone && w.next != 0 {
		r.fail("unknown stage")
	}
	return w, r.end()
}

const baseURLVersion = 1

// maxBaseURLBytes bounds a base URL: it is checked as a target is, so none is longer.
const maxBaseURLBytes = engine.MaxTargetBytes

// appendBaseURL appends the base URL of the last server: scheme, host and port, in ASCII.
//
//	┌───────────┬──────────┐
//	│ version 1 │ base URL │
//	└───────────┴──────────┘
func appendBaseURL(dst []byte, baseURL string) []byte {
	return append(append(dst, baseURLVersion), baseURL...)
}

func decodeBaseURL(v []byte) (string, error) {
	r := readValue("base URL", v, baseURLVersion)
	text := string(r.rest)
	if why := baseURLProblem(text); r.err == nil && why != "" {
		r.fail(why)
	}
	if r.err != nil {
		return "", r.err
	}
	return text, nil
}

// baseURLProblem says why text cannot be kept as a base URL, "" if it can.
func baseURLProblem(text string) string {
	visible := func(c rune) bool { return ' ' < c && c <= '~' }
	switch {
	case text == "" || len(text) > maxBaseURLBytes:
		return fmt.Sprintf("it has %d bytes", len(text))
	case strings.ContainsFunc(text, func(c rune) bool { return !visible(c) }):
		return "it has characters that no address has"
	}
	return ""
}
