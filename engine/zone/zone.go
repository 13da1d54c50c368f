package zone

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"
)

// A Zone has the days of a time zone. It never changes. A nil Zone is UTC.
type Zone struct {
	name    string
	place   *time.Location
	changes []change // ascending; the first is of hour 0
}

// change is a change of the offset: what is in force from an hour on.
type change struct {
	hour   int64
	offset int64 // hours east of UTC
}

// Why a name is no zone that days can be of.
var (
	ErrUnknown    = errors.New("not a time zone; names are those of IANA, such as Europe/Berlin or UTC")
	ErrOffTheHour = errors.New("its days do not begin on the hour, and figures are kept by the hour")
)

// UTC is the name of the zone of a nil Zone.
const UTC = "UTC"

// MaxNameBytes bounds a name; the longest of IANA has 32 bytes.
const MaxNameBytes = 64

const (
	hoursPerDay    = 24
	secondsPerHour = 3600
)

// Offsets are read from 1970 to the end, and must be whole hours from checkedSince on.
var (
	checkedSince = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	end          = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
)

// Load returns the zone of a name. Errors: ErrUnknown, ErrOffTheHour.
func Load(name string) (*Zone, error) {
	if name == "" || name == "Local" || len(name) > MaxNameBytes { // time.LoadLocation takes these for UTC and the machine's
		return nil, ErrUnknown
	}
	place, err := time.LoadLocation(name)
	if err != nil {
		return nil, ErrUnknown
	}
	z := &Zone{name: name, place: place}
	for at := time.Unix(0, 0).In(place); at.Before(end); {
		_, offset := at.Zone()
		_, next := at.ZoneBounds()
		if next.IsZero() {
			next = end
		} else if !next.After(at) { // so says package time at the end of some years
			next = at.AddDate(0, 0, 1)
		}
		changed := z.add(at.Unix(), int64(offset))
		if next.After(checkedSince) && (offset%secondsPerHour != 0 || changed && at.After(checkedSince) && at.Unix()%secondsPerHour != 0) {
			return nil, fmt.Errorf("%w: it is %s from UTC, always or in part of the year", ErrOffTheHour, at.Format("-07:00"))
		}
		at = next.In(place)
	}
	return z, nil
}

// add adds an offset in seconds that is in force from a time on, and reports whether another one was before. No change
// leads back into a day that has ended: such a one, of 1988, is put off until that day begins again.
func (z *Zone) add(from, offset int64) (changed bool) {
	c := change{hour: floor(from+secondsPerHour-1, secondsPerHour), offset: floor(offset, secondsPerHour)}
	if n := len(z.changes); n > 0 {
		before := &z.changes[n-1]
		if before.offset == c.offset {
			return false
		}
		for c.day(c.hour) < before.day(c.hour-1) {
			c.hour++
		}
	}
	z.changes = append(z.changes, c)
	return true
}

func floor(n, by int64) int64 { return (n - (n%by+by)%by) / by }

// Name returns the name that z was loaded by.
func (z *Zone) Name() string {
	if z == nil {
		return UTC
	}
	return z.name
}

// Place returns the zone as package time has it.
func (z *Zone) Place() *time.Location {
	if z == nil {
		return time.UTC
	}
	return z.place
}

// Day returns the day of an hour; those of 1969 in the west are in day 0.
func (z *Zone) Day(hour uint32) uint32 {
	if z == nil {
		return hour / hoursPerDay
	}
	at, found := slices.BinarySearchFunc(z.changes, int64(hour), func(c change, hour int64) int { return cmp.Compare(c.hour, hour) })
	if !found {
		at--
	}
	return z.changes[at].day(int64(hour))
}

func (c *change) day(hour int64) uint32 { return uint32(max(0, floor(hour+c.offset, hoursPerDay))) }

// Begin returns the first hour that is in day or a later day: the day's first hour, unless the zone skipped the day. A
// day beyond all hours begins with the last hour.
func (z *Zone) Begin(day uint32) uint32 {
	const last = 1<<32 - 1
	if z == nil {
		return uint32(min(last, uint64(day)*hoursPerDay))
	}
	// The last change whose first hour is in an earlier day: day begins in its time, or with the next change.
	at, _ := slices.BinarySearchFunc(z.changes, day, func(c change, day uint32) int {
		if c.day(c.hour) < day {
			return -1
		}
		return 1
	})
	if at == 0 {
		return 0
	}
	begin := int64(day)*hoursPerDay - z.changes[at-1].offset
	if at < len(z.changes) {
		begin = min(begin, z.changes[at].hour)
	}
	return uint32(min(last, max(0, begin)))
}

// Begins reports whether a day begins with hour.
func (z *Zone) Begins(hour uint32) bool { return z.Begin(z.Day(hour)) == hour }

// Ceil returns the first hour from hour on with which a day begins.
func (z *Zone) Ceil(hour uint32) uint32 {
	if z.Begins(hour) {
		return hour
	}
	return z.Begin(z.Day(hour) + 1)
}

// Floor returns the hour with which the day of hour begins.
func (z *Zone) Floor(hour uint32) uint32 { return z.Begin(z.Day(hour)) }

// DayOf returns when the day begins that is n days after the day of t.
func (z *Zone) DayOf(t time.Time, n int) time.Time {
	day := int64(z.Day(uint32(max(0, t.Unix())/secondsPerHour))) + int64(n)
	return time.Unix(int64(z.Begin(uint32(max(0, day))))*secondsPerHour, 0).UTC()
}
