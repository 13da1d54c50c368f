package engine

import "time"

const (
	msPerHour   = 3600 * 1000
	hoursPerDay = 24
)

// hourOf returns the hour of a time; before 1970 it is 0.
func hourOf(t time.Time) uint32 { return uint32(max(0, t.Unix()) / 3600) }

func hourTime(hour uint32) time.Time { return time.Unix(int64(hour)*3600, 0).UTC() }
