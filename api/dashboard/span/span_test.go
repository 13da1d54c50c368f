package span

import (
	"errors"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"shunt/engine/expect"
	"shunt/engine/zone"
)

func moment(text string) time.Time {
	t, err := time.Parse("2006-01-02 15:04", text)
	if err != nil {
		panic(err)
	}
	return t
}

func zoned(t expect.T, name string) *zone.Zone {
	z, err := zone.Load(name)
	expect.OK(t, err, name)
	return z
}

// calendar keeps 8 days of hours and 400 days, in a store with days of UTC.
func calendar(t expect.T, now, viewer string) *Calendar {
	c := &Calendar{Now: moment(now), Store: zoned(t, zone.UTC)}
	c.FirstHour = c.Now.Truncate(time.Hour).Add(-192 * time.Hour)
	c.FirstDay = c.Now.Truncate(24*time.Hour).AddDate(0, 0, -400)
	if viewer != "" {
		c.Viewer = zoned(t, viewer)
	}
	return c
}

func shown(s *Span) string {
	const format = "01-02 15"
	text := s.From.Format(format) + " … "
	if !s.Runs() {
		text += s.To.Format(format)
	}
	if text += " " + s.Zone.Name(); s.Hourly {
		text += ", hours"
	}
	if b := s.Before; b != nil {
		return text + "; " + b.From.Format(format) + " … " + b.To.Format(format) + " with " + b.Since.Format(format) + " … " + b.Till.Format(format) + ": " + b.Words
	}
	return text + "; " + s.Alone
}

// 2026-11-21 is a Saturday.
func TestSpansAndWhatTheyAreComparedWith(t *testing.T) {
	for name, c := range map[string]struct {
		now, viewer string
		asked       Asked
		want        string
	}{
		"today":                          {"2026-11-21 14:30", "", Ask("today", "", ""), "11-21 00 …  UTC, hours; 11-21 00 … 11-21 14 with 11-20 00 … 11-20 14: yesterday until 14:00 UTC"},
		"today in Berlin":                {"2026-11-21 14:30", "Europe/Berlin", Ask("today", "", ""), "11-20 23 …  Europe/Berlin, hours; 11-20 23 … 11-21 14 with 11-19 23 … 11-20 14: yesterday until 15:00 Europe/Berlin"},
		"today in Tokyo is another date": {"2026-11-21 16:30", "Asia/Tokyo", Ask("today", "", ""), "11-21 15 …  Asia/Tokyo, hours; 11-21 15 … 11-21 16 with 11-20 15 … 11-20 16: yesterday until 01:00 Asia/Tokyo"},
		"the first hour of today":        {"2026-11-21 00:30", "", Ask("today", "", ""), "11-21 00 …  UTC, hours; Nothing to compare yet: no hour of today is over."},
		"7 days":                         {"2026-11-21 14:30", "", Ask("7d", "", ""), "11-15 00 …  UTC; 11-15 00 … 11-21 00 with 11-08 00 … 11-14 00: a week earlier"},
		"7 days in Berlin, compared in the store's days": {"2026-11-21 14:30", "Europe/Berlin", Ask("7d", "", ""), "11-14 23 …  Europe/Berlin; 11-15 00 … 11-21 00 with 11-08 00 … 11-14 00: a week earlier"},
		"7 days in Tokyo, where it is tomorrow":          {"2026-11-21 16:30", "Asia/Tokyo", Ask("7d", "", ""), "11-15 15 …  Asia/Tokyo; 11-15 00 … 11-21 00 with 11-08 00 … 11-14 00: a week earlier"},
		"30 days have no hours":                          {"2026-11-21 14:30", "Europe/Berlin", Ask("30d", "", ""), "10-23 00 …  UTC; 10-23 00 … 11-21 00 with 09-23 00 … 10-22 00: 30 days earlier"},
		"90 days":                                        {"2026-11-21 14:30", "", Ask("90d", "", ""), "08-24 00 …  UTC; 08-24 00 … 11-21 00 with 05-26 00 … 08-23 00: 90 days earlier"},
		"this month":                                     {"2026-11-21 14:30", "", Ask("month", "", ""), "11-01 00 …  UTC; 11-01 00 … 11-21 00 with 10-01 00 … 10-21 00: in the same days of October"},
		"this month is longer than the last":             {"2026-03-31 14:30", "", Ask("month", "", ""), "03-01 00 …  UTC; 03-01 00 … 03-29 00 with 02-01 00 … 03-01 00: in the same days of February"},
		"this month on its first day":                    {"2026-11-01 14:30", "", Ask("month", "", ""), "11-01 00 …  UTC, hours; 11-01 00 … 11-01 14 with 10-31 00 … 10-31 14: yesterday until 14:00 UTC"},
		"this month, young, in Berlin":                   {"2026-11-03 14:30", "Europe/Berlin", Ask("month", "", ""), "10-31 23 …  Europe/Berlin; 11-01 00 … 11-03 00 with 10-01 00 … 10-03 00: in the same days of October"},
		"last month":                                     {"2026-11-21 14:30", "", Ask("last-month", "", ""), "10-01 00 … 11-01 00 UTC; 10-01 00 … 11-01 00 with 08-31 00 … 10-01 00: in the 31 days before"},
		"last month in January":                          {"2026-01-21 14:30", "", Ask("last-month", "", ""), "12-01 00 … 01-01 00 UTC; 12-01 00 … 01-01 00 with 10-31 00 … 12-01 00: in the 31 days before"},
		"all":                                            {"2026-11-21 14:30", "Europe/Berlin", Ask("all", "", ""), "10-17 00 …  UTC; All that is kept has no time before it."},
		"nothing is 30 days":                             {"2026-11-21 14:30", "", Ask("", "", ""), "10-23 00 …  UTC; 10-23 00 … 11-21 00 with 09-23 00 … 10-22 00: 30 days earlier"},
		"two days by the hour":                           {"2026-11-21 14:30", "Europe/Berlin", Ask("", "2026-11-18", "2026-11-19"), "11-17 23 … 11-19 23 Europe/Berlin, hours; 11-17 23 … 11-19 23 with 11-15 23 … 11-17 23: in the 2 days before"},
		"one day":                                        {"2026-11-21 14:30", "", Ask("", "2026-11-19", "2026-11-19"), "11-19 00 … 11-20 00 UTC, hours; 11-19 00 … 11-20 00 with 11-18 00 … 11-19 00: in the day before"},
		"days whose time before has no hours":            {"2026-11-21 14:30", "Europe/Berlin", Ask("", "2026-11-15", "2026-11-18"), "11-14 23 … 11-18 23 Europe/Berlin; 11-15 00 … 11-19 00 with 11-11 00 … 11-15 00: in the 4 days before"},
		"dates to today":                                 {"2026-11-21 14:30", "", Ask("", "2026-11-18", ""), "11-18 00 …  UTC; 11-18 00 … 11-21 00 with 11-14 00 … 11-17 00: 4 days earlier"},
		"dates to the future":                            {"2026-11-21 14:30", "", Ask("", "2026-11-18", "9999-12-31"), "11-18 00 …  UTC; 11-18 00 … 11-21 00 with 11-14 00 … 11-17 00: 4 days earlier"},
		"a date that is today":                           {"2026-11-21 14:30", "", Ask("", "2026-11-21", "2026-11-21"), "11-21 00 …  UTC, hours; 11-21 00 … 11-21 14 with 11-20 00 … 11-20 14: yesterday until 14:00 UTC"},
		"before the days that are kept":                  {"2026-11-21 14:30", "", Ask("", "0001-01-01", "2025-10-20"), "10-17 00 … 10-21 00 UTC; No figures before: days are kept since 17 October 2025."},
		"a change of clocks":                             {"2026-10-28 14:30", "Europe/Berlin", Ask("", "2026-10-25", "2026-10-26"), "10-24 22 … 10-26 23 Europe/Berlin, hours; 10-24 22 … 10-26 23 with 10-22 22 … 10-24 22: in the 2 days before"},
	} {
		s, err := calendar(t, c.now, c.viewer).Of(c.asked, time.Time{})
		expect.OK(t, err, name)
		expect.Equal(t, shown(s), c.want, name)
	}
}

func TestDatesThatAreNoSpanAreErrors(t *testing.T) {
	for dates, want := range map[string]string{
		"x_":                    "from: “From” must be a date such as 2026-11-21.",
		"2026-02-30_":           "from: “From” must be a date such as 2026-11-21.",
		"_2026-11-1":            "to: “To” must be a date such as 2026-11-21.",
		"2026-11-22_":           "from: “From” must not be in the future.",
		"2026-11-20_2026-11-19": "to: “To” must not be before “From”.",
		"0001-01-01_2025-10-16": "to: No figures are kept of days before 17 October 2025.",
		"_0000-01-01":           "to: No figures are kept of days before 17 October 2025.",
	} {
		from, to, _ := strings.Cut(dates, "_")
		_, err := calendar(t, "2026-11-21 14:30", "Europe/Berlin").Of(Ask("7d", from, to), time.Time{})
		var wrong Error
		expect.That(t, errors.As(err, &wrong), "%s: %v", dates, err)
		expect.Equal(t, wrong.Field+": "+wrong.Text, want, dates)
	}
}

func TestAYoungLinkIsComparedWithNothingBeforeIt(t *testing.T) {
	c := calendar(t, "2026-11-21 14:30", "")
	for made, want := range map[string]bool{"2026-11-08 00:00": true, "2026-11-13 23:00": true, "2026-11-14 00:00": false, "2026-11-21 10:00": false} {
		s, err := c.Of(Ask("7d", "", ""), moment(made))
		expect.OK(t, err)
		expect.Equal(t, s.Before != nil, want, made)
		expect.Equal(t, s.Alone == "", want, made)
	}
	s, err := c.Of(Ask("all", "", ""), moment("2026-11-20 10:00"))
	expect.OK(t, err)
	expect.Equal(t, s.From, moment("2026-10-23 00:00"), "all of a young link")
	s, err = c.Of(Ask("all", "", ""), moment("2026-05-20 10:00"))
	expect.OK(t, err)
	expect.Equal(t, s.From, moment("2026-05-20 00:00"), "all of an older link")
}

func TestOnlySpansThatAreKeptAreOffered(t *testing.T) {
	for kept, want := range map[int]string{
		400: "today 7d 30d 90d month last-month all", 40: "today 7d 30d month last-month all",
		10: "today 7d month all", 1: "today month all",
	} {
		c := calendar(t, "2026-11-21 14:30", "")
		c.FirstDay = c.Now.Truncate(24*time.Hour).AddDate(0, 0, -kept)
		var names []string
		for _, choice := range c.Offered() {
			names = append(names, choice.Name)
			s, err := c.Of(Ask(choice.Name, "", ""), time.Time{})
			expect.OK(t, err)
			expect.That(t, s.Name == choice.Name && s.Title == choice.Title && !s.From.Before(c.FirstDay), "%s with %d days: %+v", choice.Name, kept, s)
		}
		expect.Equal(t, strings.Join(names, " "), want, "%d days", kept)
	}
}

func TestWhatWasAskedForIsRemembered(t *testing.T) {
	for _, a := range []Asked{{}, {Name: Today}, {Name: LastMonth}, {Custom, "2026-11-01", "2026-11-05"}, {Custom, "2026-11-01", ""}, {Custom, "", "2026-11-05"}} {
		expect.Equal(t, ReadText(a.Text()), a, "%+v", a)
	}
	for _, text := range []string{"nothing", "custom", "_", "x_", "2026-11-01_5", "today_"} {
		expect.Equal(t, ReadText(text), Asked{}, text)
	}
	expect.Equal(t, Ask("24h", "", ""), Asked{Name: Today}, "a name of former times")
}

// Whatever is asked for at whatever time by whomever: the times are in order, of one length, and do not overlap.
func TestComparedTimesAreEqual(t *testing.T) {
	zones := []*zone.Zone{nil}
	for _, name := range []string{"Europe/Berlin", "America/New_York", "Asia/Tokyo", "Pacific/Auckland", "UTC"} {
		zones = append(zones, zoned(t, name))
	}
	rapid.Check(t, func(rt *rapid.T) {
		c := &Calendar{Now: time.Unix(rapid.Int64Range(1.7e9, 1.9e9).Draw(rt, "now"), 0).UTC()}
		c.Store, c.Viewer = rapid.SampledFrom(zones[1:]).Draw(rt, "store"), rapid.SampledFrom(zones).Draw(rt, "viewer")
		c.FirstHour = c.Now.Truncate(time.Hour).Add(-time.Duration(rapid.SampledFrom([]int{1, 48, 192, 400}).Draw(rt, "hours")) * time.Hour)
		c.FirstDay = c.Store.DayOf(c.Now, -rapid.SampledFrom([]int{1, 10, 60, 400}).Draw(rt, "days"))
		asked := Asked{Name: rapid.SampledFrom([]string{Today, Week, Month, Quarter, ThisMonth, LastMonth, All}).Draw(rt, "name")}
		if rapid.Bool().Draw(rt, "dates") {
			ago := rapid.IntRange(0, 80).Draw(rt, "ago")
			asked = Ask("", c.Now.AddDate(0, 0, -ago).Format(time.DateOnly), c.Now.AddDate(0, 0, -rapid.IntRange(0, ago).Draw(rt, "until")).Format(time.DateOnly))
		}
		s, err := c.Of(asked, time.Time{})
		if errors.As(err, new(Error)) {
			return
		}
		expect.OK(rt, err)
		expect.That(rt, !s.From.After(c.Now) && (s.Runs() || s.To.After(s.From) && !s.To.After(c.Now)), "the span: %s", shown(s))
		expect.That(rt, s.Zone == c.Store || !s.From.Before(c.FirstHour), "days of the viewer without their hours: %s", shown(s))
		b := s.Before
		if expect.That(rt, (b == nil) == (s.Alone != ""), "neither a time before nor why: %s", shown(s)); b == nil {
			return
		}
		length, before := b.To.Sub(b.From), b.Till.Sub(b.Since)
		expect.That(rt, length > 0 && (length-before).Abs() <= 2*time.Hour && (length-before)%time.Hour == 0, "lengths differ by more than changes of clocks: %s", shown(s))
		expect.That(rt, !b.Till.After(b.From) && !b.To.After(c.Now), "it overlaps, or is not over: %s", shown(s))
		expect.That(rt, !b.Since.Before(c.FirstHour) || !b.Since.Before(c.FirstDay), "not kept: %s", shown(s))
	})
}
