package settings

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"shunt/api/when"
)

// Expiry is a flag: a time, or a span from now; zero: never.
type Expiry struct {
	text string
	Time time.Time
}

func (e *Expiry) Set(text string) (err error) {
	e.text = text
	e.Time, err = ParseExpiry(text, time.Now(), time.Local)
	return err
}

func (e *Expiry) String() string { return e.text }
func (e *Expiry) Type() string   { return "TIME" }

// maxSpan is the largest number in a span: with it, a time from now has a year of four digits, as
// JSON wants it.
const maxSpan = 366 * 1000

// ParseExpiry reads a span from now such as 30d, 2w or 1d12h, a date, which is the end of that day in
// zone, or a time.
func ParseExpiry(text string, now time.Time, zone *time.Location) (time.Time, error) {
	return parseMoment(text, now, zone, when.Expiry)
}

// ParseStart is ParseExpiry for when something begins: a date is the beginning of that day in zone.
func ParseStart(text string, now time.Time, zone *time.Location) (time.Time, error) {
	return parseMoment(text, now, zone, when.Begin)
}

func parseMoment(text string, now time.Time, zone *time.Location, read func(string, *time.Location) (time.Time, bool)) (time.Time, error) {
	if t, ok := addSpan(now, text, +1); ok {
		return t, nil
	}
	if t, ok := read(text, zone); ok {
		return t, nil
	}
	return time.Time{}, errors.New("must be a span such as 90d, 2w or 1d12h, or a time such as 2030-12-31 or 2030-12-31T23:59:59Z")
}

// addSpan returns the time that is a span after now, or before it if sign is -1. A span is a number of
// years (1y), weeks, days, and hours, minutes and seconds as Go writes them, in this order. Years and
// days are those of the calendar in UTC. ok is false if text is not a span, or the time has no year of
// four digits.
func addSpan(now time.Time, text string, sign int) (t time.Time, ok bool) {
	var parts [3]int // years, weeks, days
	for i, unit := range []string{"y", "w", "d"} {
		number, rest, found := strings.Cut(text, unit)
		if !found {
			continue
		}
		n, err := strconv.ParseUint(number, 10, 32)
		if err != nil || n == 0 || n > maxSpan {
			return t, false
		}
		parts[i], text, ok = sign*int(n), rest, true
	}
	if text != "" {
		d, err := time.ParseDuration(text)
		if err != nil || d <= 0 {
			return t, false
		}
		now, ok = now.Add(time.Duration(sign)*d), true
	}
	t = now.UTC().AddDate(parts[0], 0, 7*parts[1]+parts[2])
	return t, ok && 0 < t.Year() && t.Year() <= 9999
}

// ParseSpan reads a span such as 30d, 2w or 1d12h; a year has 365 days, or 366.
func ParseSpan(text string) (time.Duration, error) {
	now := time.Now()
	t, ok := addSpan(now, text, +1)
	span := t.Sub(now.UTC())
	if !ok || span >= maxDuration {
		return 0, errors.New("must be a span such as 30d, 2w or 1d12h")
	}
	return span, nil
}

// maxDuration is what Sub returns for all longer spans, some 292 years.
const maxDuration = time.Duration(math.MaxInt64)

// ParseBegin reads when a window begins: a span before now, a word (today, yesterday, now), a date,
// which is the beginning of that day in UTC, or a time. Empty: the zero time.
func ParseBegin(text string, now time.Time) (time.Time, error) {
	return parseBound(text, now, when.Begin)
}

// ParseEnd reads when a window ends like ParseBegin, but a day is in the window up to its end.
func ParseEnd(text string, now time.Time) (time.Time, error) { return parseBound(text, now, when.End) }

// Now makes the parser of a flag of ParseBegin or ParseEnd.
func Now(parse func(text string, now time.Time) (time.Time, error)) func(text string) (time.Time, error) {
	return func(text string) (time.Time, error) { return parse(text, time.Now()) }
}

func parseBound(text string, now time.Time, read func(string, *time.Location) (time.Time, bool)) (time.Time, error) {
	now = now.UTC()
	switch text {
	case "":
		return time.Time{}, nil
	case "now":
		return now, nil
	case "today":
		text = now.Format(time.DateOnly)
	case "yesterday":
		text = now.AddDate(0, 0, -1).Format(time.DateOnly)
	}
	if t, ok := addSpan(now, text, -1); ok {
		return t, nil
	}
	if t, ok := read(text, time.UTC); ok {
		return t, nil
	}
	return time.Time{}, errors.New("must be a date such as 2026-11-01, a time such as 2026-11-01T12:00:00Z, today, yesterday, or a span before now such as 7d")
}
