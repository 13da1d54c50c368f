package source

import (
	"cmp"
	"errors"
	"fmt"
	"hash/maphash"
	"math"
	"slices"
	"strconv"
	"time"

	"shunt/engine/daily"
	"shunt/engine/plural"
)

// A ClickLog asks for the log of clicks that a file has beside its links: it becomes their hits by day.
type ClickLog struct {
	Days  *time.Location // of days
	Zone  *time.Location // of times: that of the server before YOURLS 1.7.2; nil: UTC
	First time.Time      // in the first day that counts by itself; the zero time: all do
	Now   time.Time      // what is in a later day has a wrong time
}

// ClicksMet tells what was met of a log of clicks.
type ClicksMet struct {
	All     int64 `json:"all"`
	NoLink  int64 `json:"no_link,omitempty"`  // of codes that are not in the file
	NotKept int64 `json:"not_kept,omitempty"` // of days that are not kept any more: they are in the total of their link
	NoDay   int64 `json:"no_day,omitempty"`   // without a time that can be right: the same
	Early   int64 `json:"early,omitempty"`    // links that were clicked before they were made
}

// Lines says the same to a person.
func (c *ClicksMet) Lines() []string {
	text := "clicks in the log: " + strconv.FormatInt(c.All, 10)
	for _, part := range []struct {
		n    int64
		what string
	}{
		{c.NoLink, "of codes without a link here"}, {c.NotKept, "on days that are not kept, so they are in totals only"},
		{c.NoDay, "without a time that can be right, so they are in totals only"},
	} {
		if part.n > 0 {
			text += fmt.Sprintf("; %d %s", part.n, part.what)
		}
	}
	if c.Early == 0 {
		return []string{text}
	}
	early := plural.Of(int(c.Early), "link was", "links were")
	return []string{text, fmt.Sprintf("warning: %s clicked before it was made, so some times are of another zone: see --source-tz, or --log-tz of a YOURLS before 1.7.2", early)}
}

// Clicks count the clicks of a log by code and day. Nothing else of a click is kept.
//
// A day of a code takes 16 bytes: the hash of the code, the day, the clicks and when the first one came. They are in
// runs of 2^20, each sorted by code and day once it is full, and clicks of one day that met in it are added up, and
// those of all days that are not kept; a run that has room then is filled again. A code is looked for in each run. A
// log of 5 million clicks takes 5 runs of 16 MiB at most. A log with days for more than maxRuns is refused.
//
// Two codes with one hash of 64 bits would share their clicks: among a million codes that happens once in 30 million
// imports. Rejected: a map by code, which takes 100 bytes a code, and a list of days for each of them; and a sorted
// file, since what is refused are logs of a GB or more.
type clicks struct {
	asked ClickLog
	first uint32 // day
	today uint32
	seed  maphash.Seed
	runs  [][]clickDay // the last one is not sorted
	room  int          // of a run: runClicks

	met  ClicksMet
	ours int64 // clicks of codes that were looked for
}

// clickDay are the clicks of a code on a day.
type clickDay struct {
	code  uint64 // its hash
	day   uint16 // of the time zone, or noDay
	first uint16 // when the first one came: see firstAt
	n     uint32
}

const noDay = 0 // of clicks without a time that can be right

// The first click of a day is kept as the distance to dayBegins before the day begins in UTC, in firstUnits: a day of
// any time zone lies between 14 hours before and 36 hours after that.
const (
	secondsPerDay = 24 * 3600
	dayBegins     = 14 * 3600
	firstUnit     = 4 // seconds
)

// firstAt returns when the first click of a day came, in Unix seconds, up to firstUnit too early.
func (d clickDay) firstAt() int64 {
	return int64(d.day)*secondsPerDay - dayBegins + int64(d.first)*firstUnit
}

const (
	runClicks = 1 << 20
	firstRoom = 1 << 10
	maxRuns   = 9
)

var (
	// ErrNoLog is the error of a dump without a log of clicks.
	ErrNoLog = errors.New("the dump has no table of clicks of YOURLS (yourls_log), so --log has no use")
	// ErrNotDump is the error of a log of clicks that is asked for of a file that can have none.
	ErrNotDump = errors.New("is no dump of YOURLS and has no clicks of golink, so --log has no use")
	// ErrManyClicks is the error of a log that would take too much memory.
	ErrManyClicks = errors.New("the log has clicks on more than 9 million days of links: import it without --log, or delete old rows of the log before the dump")
)

func newClicks(asked ClickLog) *clicks {
	c := &clicks{asked: asked, seed: maphash.MakeSeed(), today: math.MaxUint32, room: runClicks}
	if asked.Days == nil {
		c.asked.Days = time.UTC
	}
	if !asked.First.IsZero() {
		c.first = c.dayOf(asked.First)
	}
	if !asked.Now.IsZero() {
		c.today = c.dayOf(asked.Now)
	}
	return c
}

// dayOf returns the day of a time, as its date says it.
func (c *clicks) dayOf(t time.Time) uint32 {
	y, m, d := t.In(c.asked.Days).Date()
	return uint32(max(0, time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Unix()/secondsPerDay))
}

// add counts a click; the zero time is not known.
func (c *clicks) add(code string, at time.Time) error { return c.addSome(code, at, 1) }

// addSome counts some clicks of one time.
func (c *clicks) addSome(code string, at time.Time, n uint32) error {
	c.met.All += int64(n)
	d := clickDay{code: maphash.String(c.seed, code), day: noDay, n: n}
	switch day := c.dayOf(at); {
	case at.IsZero(), day == noDay, day > c.today, day > math.MaxUint16:
		c.met.NoDay += int64(n)
	default:
		if day < c.first {
			c.met.NotKept += int64(n)
		}
		d.day = uint16(day)
		d.first = uint16((at.Unix() - int64(day)*secondsPerDay + dayBegins) / firstUnit)
	}
	return c.put(d)
}

func (c *clicks) put(d clickDay) error {
	if n := len(c.runs); n == 0 || len(c.runs[n-1]) == c.room {
		if err := c.makeRoom(); err != nil {
			return err
		}
	}
	last := &c.runs[len(c.runs)-1]
	if n := len(*last); n == cap(*last) { // a short log takes little, and a run never more than its room
		*last = append(make([]clickDay, 0, min(2*n+firstRoom, c.room)), *last...)
	}
	*last = append(*last, d)
	return nil
}

// makeRoom adds up the last run, and begins another one unless that has made a quarter of it free.
func (c *clicks) makeRoom() error {
	if n := len(c.runs); n > 0 {
		if c.runs[n-1] = c.addedUp(c.runs[n-1]); len(c.runs[n-1]) <= c.room/4*3 {
			return nil
		}
	}
	if len(c.runs) == maxRuns {
		return ErrManyClicks
	}
	c.runs = append(c.runs, nil)
	return nil
}

// addedUp returns a run sorted, with one element for each day of a code, and one for all days before the first that is
// kept. It uses the memory of the run.
func (c *clicks) addedUp(run []clickDay) []clickDay {
	slices.SortFunc(run, clickDay.compare)
	n := 0
	for _, d := range run {
		if n > 0 && c.together(run[n-1], d) {
			before := &run[n-1]
			before.n = uint32(min(uint64(before.n)+uint64(d.n), math.MaxUint32))
			if before.day == d.day {
				before.first = min(before.first, d.first)
			}
			continue
		}
		run[n] = d
		n++
	}
	return run[:n]
}

// together reports whether d is added to e, the element before it.
func (c *clicks) together(e, d clickDay) bool {
	return e.code == d.code && (e.day == d.day || e.day != noDay && uint32(d.day) < c.first)
}

func (d clickDay) compare(e clickDay) int {
	if d.code != e.code {
		return cmp.Compare(d.code, e.code)
	}
	return cmp.Compare(d.day, e.day)
}

// end ends the counting, before the first code is looked for.
func (c *clicks) end() {
	if n := len(c.runs); n > 0 {
		c.runs[n-1] = c.addedUp(c.runs[n-1])
	}
}

// of returns what was counted of a code, by day; nil: no click.
func (c *clicks) of(code string) (all []clickDay) {
	hash := maphash.String(c.seed, code)
	for _, run := range c.runs {
		at, _ := slices.BinarySearchFunc(run, clickDay{code: hash}, clickDay.compare)
		for ; at < len(run) && run[at].code == hash; at++ {
			all = append(all, run[at])
		}
	}
	return c.addedUp(all)
}

// give gives a link its hits by day, the newest daily.Max ones, and at least as many hits as it has clicks in the log.
func (c *clicks) give(l *link, code string) {
	sum := uint64(0)
	var days []dayHits
	first := true
	for _, d := range c.of(code) {
		sum += uint64(d.n)
		if d.day != noDay && first {
			c.judge(l, d.firstAt())
			first = false
		}
		if d.day != noDay && uint32(d.day) >= c.first {
			days = append(days, dayHits{string(daily.AppendDay(nil, uint32(d.day))), uint64(d.n)})
		}
	}
	c.ours += int64(sum)
	for ; len(days) > daily.Max; days = days[1:] {
		c.met.NotKept += int64(days[0].Hits)
	}
	l.Daily, l.Hits = days, max(l.Hits, sum)
}

// clockSlack is how long before the creation of a link a click may be. Both are noted by one server, in one clock.
const clockSlack = 60

// judge compares the first click of a link with its creation. If the click came first, one of the time zones that the
// import was told is wrong: that of the database for creations, or that of the log.
func (c *clicks) judge(l *link, first int64) {
	if made, err := time.Parse(time.RFC3339, l.CreatedAt); err == nil && first < made.Unix()-clockSlack {
		c.met.Early++
	}
}

// summary returns what was met so far.
func (c *clicks) summary() *ClicksMet {
	met := c.met
	met.NoLink = max(0, met.All-c.ours)
	return &met
}
