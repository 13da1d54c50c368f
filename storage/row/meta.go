package row

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"

	"shunt/engine"
)

const (
	positionsVersion = 1
	markVersion      = 1
	clockVersion     = 1
	sweepVersion     = 1
	logVersion       = 1

	// maxRings bounds the rings of a decoded value; the engine has at most 96.
	maxRings = 1024

	maxClockMs = 1 << 50 // 35,000 years

	// MaxAhead bounds the hours ahead of a mark.
	MaxAhead = 4096
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
// every row before (Hour, Stage, Next) is contained in day and life rows, and so is every row of the
// hours ahead; no other row is.
type Mark struct {
	Hour  uint32
	Stage Stage
	Next  uint64

	// Ahead is the hours from Hour on that are contained, ascending; replaced, never changed. They were
	// rolled up while the clock was ahead, before the mark moved back.
	Ahead []uint32
}

// Passed reports whether the row of (hour, id) in the stage's table is contained in day and life
// rows.
func (m *Mark) Passed(s Stage, hour uint32, id uint64) bool {
	return hour < m.Hour || hour == m.Hour && (s < m.Stage || s == m.Stage && id < m.Next) || m.ahead(hour)
}

func (m *Mark) ahead(hour uint32) bool {
	if len(m.Ahead) == 0 {
		return false
	}
	_, found := slices.BinarySearch(m.Ahead, hour)
	return found
}

// Open returns those of ascending hours that may have rows that are not contained. It may share memory with hours.
func (m *Mark) Open(hours []uint32) []uint32 {
	at, _ := slices.BinarySearch(hours, m.Hour)
	hours = hours[at:]
	if len(m.Ahead) == 0 {
		return hours
	}
	return slices.DeleteFunc(slices.Clone(hours), m.ahead)
}

// Begun reports whether some rows of the hour are contained and others are not.
func (m *Mark) Begun() bool { return m.Stage != StageLinks || m.Next != 0 }

// At returns the mark at the beginning of an hour that is not before m's: the hours between have no
// rows that are not contained.
func (m *Mark) At(hour uint32) Mark {
	at, _ := slices.BinarySearch(m.Ahead, hour)
	return Mark{Hour: hour, Ahead: m.Ahead[at:]}
}

// NextStage returns the mark at the end of a table of an hour.
func (m *Mark) NextStage() Mark {
	if m.Stage == StageLinks {
		return Mark{Hour: m.Hour, Stage: StageOwners, Ahead: m.Ahead}
	}
	return m.At(m.Hour + 1)
}

// Last returns the last hour of which rows may be contained.
func (m *Mark) Last() uint32 {
	if n := len(m.Ahead); n > 0 {
		return max(m.Hour, m.Ahead[n-1])
	}
	return m.Hour
}

// AppendMark appends the roll-up mark. Each hour ahead is its distance from the one before; their number is
// there only if there are any.
//
//	┌───────────┬──────┬─────────┬──────────────────────────┬─────────────────────────────────┐
//	│ version 1 │ hour │ stage 1 │ next link id, or owner   │ number of hours ahead · hours   │
//	└───────────┴──────┴─────────┴──────────────────────────┴─────────────────────────────────┘
func AppendMark(dst []byte, m *Mark) []byte {
	dst = binary.AppendUvarint(append(dst, markVersion), uint64(m.Hour))
	dst = binary.AppendUvarint(append(dst, byte(m.Stage)), m.Next)
	if len(m.Ahead) > 0 {
		dst = binary.AppendUvarint(dst, uint64(len(m.Ahead)))
	}
	for last, i := m.Hour, 0; i < len(m.Ahead); i++ {
		dst = binary.AppendUvarint(dst, uint64(m.Ahead[i]-last))
		last = m.Ahead[i]
	}
	return dst
}

// DecodeMark decodes the roll-up mark.
func DecodeMark(v []byte) (Mark, error) {
	r := readValue("roll-up mark", v, markVersion)
	m := Mark{Hour: r.uint32(), Stage: Stage(r.byte()), Next: r.uvarint()}
	if m.Stage > StageOwners {
		r.fail("unknown stage")
	}
	if len(r.rest) == 0 {
		return m, r.end()
	}
	n := r.uvarint()
	if n == 0 || n > MaxAhead {
		r.fail("no hours ahead, or too many")
		return Mark{}, r.err
	}
	last := uint64(m.Hour)
	for i := range n {
		step := r.uvarint()
		if last += step; step == 0 && i > 0 || step > math.MaxUint32 || last > math.MaxUint32 {
			r.fail("hours ahead that do not ascend")
			break
		}
		m.Ahead = append(m.Ahead, uint32(last))
	}
	return m, r.end()
}

// AppendClock appends the time that the store has seen passing. The number of a wall-clock time may be negative.
//
//	┌───────────┬─────┬──────────────────────┬─────────────────────────────────────────┐
//	│ version 1 │ ran │ last jump: at by ran │ number of runs · from, to, until, ahead │
//	└───────────┴─────┴──────────────────────┴─────────────────────────────────────────┘
func AppendClock(dst []byte, c *engine.SeenClock) []byte {
	dst = binary.AppendVarint(append(dst, clockVersion), c.Ran)
	for _, n := range []int64{c.Last.At, c.Last.By, c.Last.Ran} {
		dst = binary.AppendVarint(dst, n)
	}
	dst = binary.AppendUvarint(dst, uint64(len(c.Runs)))
	for i := range c.Runs {
		x := &c.Runs[i]
		for _, n := range []int64{x.From, x.To - x.From, x.Until, x.Ahead + x.From} { // small ones are short
			dst = binary.AppendVarint(dst, n)
		}
	}
	return dst
}

// DecodeClock decodes the time that a store has seen passing. The result shares no memory with v.
func DecodeClock(v []byte) (engine.SeenClock, error) {
	r := readValue("clock", v, clockVersion)
	c := engine.SeenClock{Ran: r.varint(), Last: engine.SeenJump{At: r.varint(), By: r.varint(), Ran: r.varint()}}
	n := r.uvarint()
	if n > engine.MaxSeenRuns {
		r.fail("too many runs")
		return engine.SeenClock{}, r.err
	}
	for range n {
		if r.err != nil {
			break
		}
		from, lasted, until, ahead := r.varint(), r.varint(), r.varint(), r.varint()
		if lasted < 0 || until < 0 || until > c.Ran || max(from, -from, lasted, ahead, -ahead) > maxClockMs {
			r.fail("a run that ends before it begins, or after the clock")
		}
		c.Runs = append(c.Runs, engine.SeenRun{From: from, To: from + lasted, Until: until, Ahead: ahead - from})
	}
	return c, r.end()
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

const zoneVersion = 1

// MaxZoneBytes bounds the name of a time zone.
const MaxZoneBytes = 64

// AppendZone appends the name of the time zone of all days, such as Europe/Berlin.
//
//	┌───────────┬──────┐
//	│ version 1 │ name │
//	└───────────┴──────┘
func AppendZone(dst []byte, name string) []byte { return append(append(dst, zoneVersion), name...) }

// DecodeZone decodes the name of a time zone. Whether there is such a zone is not checked.
func DecodeZone(v []byte) (name string, err error) {
	r := readValue("time zone", v, zoneVersion)
	name = string(r.rest)
	if r.err == nil && (name == "" || len(name) > MaxZoneBytes) {
		r.fail(fmt.Sprintf("a name of %d bytes", len(name)))
	}
	return name, r.err
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
