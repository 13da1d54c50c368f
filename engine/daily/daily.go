package daily

import (
	"encoding/binary"
	"errors"
	"iter"
	"math"
	"math/bits"
	"time"
)

// Max is how many days an import may give a link. With 36 bytes a day in JSON they fit into an item of an import (64
// KiB) beside the longest target. It only rises, because stored links must stay valid.
const Max = 1200

// Hits are the hits of one day.
type Hits struct {
	Day  uint32 // since 1970-01-01
	Hits uint64
}

// Packed are the hits of several days; empty: of none.
type Packed string

// Pack packs days. They must ascend, begin after 1970-01-01, and have hits.
func Pack(days []Hits) Packed {
	var b []byte
	before := uint32(0)
	for _, d := range days {
		b = binary.AppendUvarint(b, uint64(d.Day-before))
		b = binary.AppendUvarint(b, d.Hits)
		before = d.Day
	}
	return Packed(b)
}

var errPacked = errors.New("malformed hits by day")

// Check returns an error for what Pack does not make, or that has more than Max days.
func (p Packed) Check() error {
	if p == "" {
		return nil
	}
	days, day, rest := 0, uint64(0), []byte(p)
	var hits, carry uint64
	for ; len(rest) > 0; days++ {
		gap, n := uvarint(rest)
		of, m := uvarint(rest[n:])
		if n == 0 || m == 0 || gap == 0 || of == 0 || gap > math.MaxUint32-day {
			return errPacked
		}
		if hits, carry = bits.Add64(hits, of, 0); carry != 0 {
			return errPacked
		}
		day, rest = day+gap, rest[n+m:]
	}
	if days > Max {
		return errPacked
	}
	return nil
}

// uvarint reads a number in its shortest form; n is 0 if there is none.
func uvarint(b []byte) (v uint64, n int) {
	v, n = binary.Uvarint(b)
	if n <= 0 || n > 1 && b[n-1] == 0 {
		return 0, 0
	}
	return v, n
}

// All returns the days of p, of which Check must not return an error.
func (p Packed) All() iter.Seq[Hits] {
	return func(yield func(Hits) bool) {
		day := uint64(0)
		for rest := []byte(p); len(rest) > 0; {
			gap, n := binary.Uvarint(rest)
			hits, m := binary.Uvarint(rest[max(n, 0):])
			if n <= 0 || m <= 0 {
				return // unchecked
			}
			day, rest = day+gap, rest[n+m:]
			if !yield(Hits{uint32(day), hits}) {
				return
			}
		}
	}
}

// Sum returns the hits of all days.
func (p Packed) Sum() (sum uint64) {
	for d := range p.All() {
		sum += d.Hits
	}
	return sum
}

// Len returns the number of days.
func (p Packed) Len() (n int) {
	for range p.All() {
		n++
	}
	return n
}

// Has reports whether a day is among those of p.
func (p Packed) Has(day uint32) bool {
	for d := range p.All() {
		if d.Day >= day {
			return d.Day == day
		}
	}
	return false
}

const secondsPerDay = 24 * 3600

// ParseDay reads a day of the calendar, such as 2026-03-01, from 1970-01-02 on.
func ParseDay(text string) (day uint32, ok bool) {
	t, err := time.Parse(time.DateOnly, text)
	if err != nil || t.Unix() < secondsPerDay {
		return 0, false
	}
	return uint32(t.Unix() / secondsPerDay), true
}

// AppendDay appends a day as ParseDay reads it.
func AppendDay(dst []byte, day uint32) []byte {
	return time.Unix(int64(day)*secondsPerDay, 0).UTC().AppendFormat(dst, time.DateOnly)
}
