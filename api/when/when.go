package when

import (
	"strings"
	"time"
)

const (
	minuteEnd = len("2006-01-02T15:04")
	maxYear   = 9999 // JSON has years of four digits
)

// Time reads a time in the form of RFC 3339, and returns it in UTC. The letters T and Z may be small
// (RFC 3339, 5.6), and the seconds may be missing. ok is false for every other text, and for a year
// that is not from 0 to 9999 in UTC.
func Time(text string) (t time.Time, ok bool) {
	if len(text) <= minuteEnd || text[13] != ':' || strings.Contains(text, ",") {
		return t, false // time.Parse also takes an hour of one digit, and a comma before the fraction
	}
	text = strings.ToUpper(text)
	if text[minuteEnd] != ':' {
		text = text[:minuteEnd] + ":00" + text[minuteEnd:]
	}
	t, err := time.Parse(time.RFC3339, text)
	t = t.UTC()
	return t, err == nil && 0 <= t.Year() && t.Year() <= maxYear
}

// Day reads a date such as 2026-11-26, and returns when that day begins in zone.
func Day(text string, zone *time.Location) (begin time.Time, ok bool) {
	if len(text) != len(time.DateOnly) { // most are times, and an error of time.Parse is expensive
		return begin, false
	}
	begin, err := time.ParseInLocation(time.DateOnly, text, zone)
	return begin, err == nil
}

// Begin reads when something begins: a time, or a date, which is the beginning of that day in zone.
func Begin(text string, zone *time.Location) (t time.Time, ok bool) {
	if day, ok := Day(text, zone); ok {
		return inUTC(day)
	}
	return Time(text)
}

// End reads when a window ends, exclusively: a time, or a date, which is the beginning of the next day
// in zone, so that the window has all of that day. No time is in the year 10000, so the last day of
// all ends a second earlier.
func End(text string, zone *time.Location) (t time.Time, ok bool) {
	if day, ok := Day(text, zone); ok {
		if end, ok := inUTC(next(day)); ok {
			return end, true
		}
	}
	return Expiry(text, zone)
}

// Expiry reads when something expires: a time, or a date, which is the last second of that day in
// zone. So what is shown of the time has the date that was given.
func Expiry(text string, zone *time.Location) (t time.Time, ok bool) {
	if day, ok := Day(text, zone); ok {
		return inUTC(next(day).Add(-time.Second))
	}
	return Time(text)
}

// next returns the beginning of the day after the one that begins at day. A day may have 23 or 25
// hours, and may begin at 01:00.
func next(day time.Time) time.Time {
	year, month, date := day.Date()
	return time.Date(year, month, date+1, 0, 0, 0, 0, day.Location())
}

func inUTC(t time.Time) (time.Time, bool) {
	t = t.UTC()
	return t, 0 <= t.Year() && t.Year() <= maxYear
}
