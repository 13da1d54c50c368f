package clock

import "time"

// Hours are Unix time / 3600, and days are hours / 24.
const (
	MsPerHour   = 3600 * 1000
	HoursPerDay = 24
)

// HourOf returns the hour of a time; before 1970 it is 0.
func HourOf(t time.Time) uint32 { return uint32(max(0, t.Unix()) / 3600) }

// HourTime returns the beginning of an hour.
func HourTime(hour uint32) time.Time { return time.Unix(int64(hour)*3600, 0).UTC() }
