package when_test

import (
	"testing"
	"time"

	"shunt/api/when"
	"shunt/engine/expect"
)

func TestATimeIsRFC3339WithSmallLettersAndWithoutSeconds(t *testing.T) {
	want := time.Date(2026, 11, 26, 12, 30, 0, 0, time.UTC)
	for _, text := range []string{
		"2026-11-26T12:30:00Z", "2026-11-26t12:30:00z", "2026-11-26T12:30Z", "2026-11-26t12:30z",
		"2026-11-26T14:30:00+02:00", "2026-11-26T14:30+02:00", "2026-11-26T12:30:00.000Z",
	} {
		got, ok := when.Time(text)
		expect.That(t, ok && got == want, "Time(%q) = %v, %v; want %v", text, got, ok, want)
	}
	for _, text := range []string{
		"", "2026-11-26", "2026-11-26T", "2026-11-26T12", "2026-11-26T12:30", "2026-11-26T2:30:00Z", "2026-11-26T12:30:00,5Z",
		"2026-11-26 12:30:00Z", "2026-11-26T25:00Z", "2026-02-30T00:00Z", "0000-01-01T00:00:00+01:00", "9999-12-31T23:59:59-01:00",
		"10000-01-01T00:00:00Z", "2026-11-26T12:30:00Z ", "２０２６-11-26T12:30Z",
	} {
		got, ok := when.Time(text)
		expect.That(t, !ok, "Time(%q) = %v, want none", text, got)
	}
}

func TestADateIsAWholeDay(t *testing.T) {
	newYork, err := time.LoadLocation("America/New_York")
	expect.OK(t, err)
	for _, c := range []struct {
		text               string
		zone               *time.Location
		begin, end, expiry string
	}{
		{"2026-11-26", time.UTC, "2026-11-26T00:00:00Z", "2026-11-27T00:00:00Z", "2026-11-26T23:59:59Z"},
		{"2026-11-26", newYork, "2026-11-26T05:00:00Z", "2026-11-27T05:00:00Z", "2026-11-27T04:59:59Z"},
		{"2026-11-01", newYork, "2026-11-01T04:00:00Z", "2026-11-02T05:00:00Z", "2026-11-02T04:59:59Z"}, // 25 hours
		{"2028-02-29", time.UTC, "2028-02-29T00:00:00Z", "2028-03-01T00:00:00Z", "2028-02-29T23:59:59Z"},
		{"2026-11-26T10:00Z", newYork, "2026-11-26T10:00:00Z", "2026-11-26T10:00:00Z", "2026-11-26T10:00:00Z"},
	} {
		for name, read := range map[string]struct {
			f    func(string, *time.Location) (time.Time, bool)
			want string
		}{"Begin": {when.Begin, c.begin}, "End": {when.End, c.end}, "Expiry": {when.Expiry, c.expiry}} {
			got, ok := read.f(c.text, c.zone)
			expect.That(t, ok && got.Format(time.RFC3339) == read.want, "%s(%q, %v) = %v, %v; want %s", name, c.text, c.zone, got, ok, read.want)
		}
	}
	for _, text := range []string{"2026-02-29", "2026-13-01", "2026-1-1", "26-11-2026", "", "2026-11-26Z"} {
		got, ok := when.Expiry(text, time.UTC)
		expect.That(t, !ok, "Expiry(%q) = %v, want none", text, got)
	}
	last := time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC) // JSON has no later year
	got, ok := when.End("9999-12-31", time.UTC)
	expect.That(t, ok && got == last, "the end of the year 9999 is %v, want %v", got, last)
}
