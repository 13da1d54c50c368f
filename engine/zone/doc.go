// Package zone counts the days of a time zone in hours: which day an hour is in, and with which hour a day begins. It
// knows nothing of ours, no goroutine and no lock.
//
// # Terminology
//
// An hour is Unix time / 3600. A day is a calendar day of the zone, numbered from 0 for 1970-01-01. It has 24 hours, 23
// or 25 when clocks change, and none if the zone skipped it (Apia, 2011-12-30).
//
//	Europe/Berlin   …│ 2026-10-24: 24 │ 2026-10-25: 25 hours │ 2026-10-26: 24 │…
//	hours            …493822          493846                493871            493895
//
// # Zones that are refused
//
// Figures are kept by the hour, so a day must begin with an hour of UTC. A zone that is off the hour now (Kolkata,
// Kathmandu), in part of the year (Lord Howe), or at any time since checkedSince, is refused. Before that, nothing was
// counted: only a wrong clock shows such times, and then offsets are rounded down to the hour.
//
// # Decisions
//
// A zone is a table of some 300 changes of its offset up to 2100, made once. Rejected: time.Time.In for each hour,
// which follows rules that another version of the time zone database may have changed, in the middle of a day.
//
// The rules are those of the machine (/usr/share/zoneinfo), or, where it has none, of the binary. A country that
// changes its rules changes days from then on; those that were rolled up stay as they were.
package zone
