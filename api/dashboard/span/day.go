package span

import (
	"time"

	"shunt/engine/zone"
)

// A day is a calendar day, numbered from 0 for 1970-01-01. Which hours it has depends on the zone.
type day int

const secondsPerDay = 24 * 60 * 60

// dayOf returns the day of a moment in a zone.
func dayOf(t time.Time, z *zone.Zone) day { return day(z.Day(uint32(max(0, t.Unix()) / 3600))) }

// begin returns when the day begins in a zone.
func (d day) begin(z *zone.Zone) time.Time {
	return time.Unix(int64(z.Begin(uint32(max(0, d))))*3600, 0).UTC()
}

// date returns the beginning of the day in UTC, which has its date.
func (d day) date() time.Time { return time.Unix(int64(d)*secondsPerDay, 0).UTC() }

func dayOfDate(t time.Time) day { return day(t.Unix() / secondsPerDay) }

// month returns the first day of the month that is n months after that of d.
func (d day) month(n int) day {
	year, month, _ := d.date().Date()
	return dayOfDate(time.Date(year, month+time.Month(n), 1, 0, 0, 0, 0, time.UTC))
}

// readDay reads a date. Those before 1970 are that day, because no figures are older.
func readDay(text string) (day, bool) {
	t, err := time.Parse(time.DateOnly, text)
	return max(0, dayOfDate(t)), err == nil
}
