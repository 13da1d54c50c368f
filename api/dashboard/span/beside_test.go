package span

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"shunt/engine/expect"
)

func TestTimesBesideASpan(t *testing.T) {
	c := calendar(t, "2026-11-21 15:30", "") // figures are kept since 2025-10-17
	for name, row := range map[string]struct {
		asked          Asked
		earlier, later string
	}{
		"today":                {Asked{Name: Today}, "2026-11-20_2026-11-20", ""},
		"a day":                {Ask("", "2026-11-10", "2026-11-10"), "2026-11-09_2026-11-09", "2026-11-11_2026-11-11"},
		"the day before today": {Ask("", "2026-11-20", "2026-11-20"), "2026-11-19_2026-11-19", "today"},
		"7 days":               {Asked{Name: Week}, "2026-11-08_2026-11-14", ""},
		"7 days before those":  {Ask("", "2026-11-08", "2026-11-14"), "2026-11-01_2026-11-07", "7d"},
		"this month":           {Asked{Name: ThisMonth}, "last-month", ""},
		"last month":           {Asked{Name: LastMonth}, "2026-09-01_2026-09-30", "month"},
		"a month":              {Ask("", "2026-09-01", "2026-09-30"), "2026-08-01_2026-08-31", "last-month"},
		"the rest of a time":   {Ask("", "2026-11-01", "2026-11-17"), "2026-10-15_2026-10-31", "2026-11-18_2026-11-21"},
		"the first days":       {Ask("", "2025-10-20", "2025-10-29"), "2025-10-17_2025-10-19", "2025-10-30_2025-11-08"},
		"days before":          {Ask("", "", "2025-10-20"), "", "2025-10-21_2025-10-24"},
		"all":                  {Asked{Name: All}, "", ""},
	} {
		s, err := c.Of(row.asked, time.Time{})
		expect.OK(t, err, name)
		text := func(a Asked, ok bool) string {
			expect.Equal(t, ok, a != Asked{}, "%s", name)
			return a.Text()
		}
		expect.Equal(t, text(c.Earlier(s, time.Time{})), row.earlier, "%s: earlier", name)
		expect.Equal(t, text(c.Later(s)), row.later, "%s: later", name)
	}
	s, err := c.Of(Asked{Name: Week}, time.Time{})
	expect.OK(t, err)
	_, ok := c.Earlier(s, moment("2026-11-15 00:10"))
	expect.That(t, !ok, "there is a time before the link was made")
	_, ok = c.Earlier(s, moment("2026-11-14 23:50"))
	expect.That(t, ok, "there is no time before")
}

// Times beside each other have each day once: the later one of the earlier one begins where it ended.
func TestEarlierAndLaterMeet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := calendar(t, "2026-11-21 15:30", rapid.SampledFrom([]string{"", "Asia/Tokyo", "America/New_York"}).Draw(t, "viewer"))
		day := func(name string) string {
			return c.Now.AddDate(0, 0, -rapid.IntRange(0, 420).Draw(t, name)).Format(time.DateOnly)
		}
		s, err := c.Of(Ask("", day("from"), day("to")), time.Time{})
		if err != nil {
			t.Skip(err)
		}
		if a, ok := c.Earlier(s, time.Time{}); ok {
			earlier, err := c.Of(a, time.Time{})
			expect.OK(t, err, "%v", a)
			expect.That(t, earlier.To.Equal(s.From) || s.Zone != earlier.Zone, "%v ends at %v, and %v begins at %v", a, earlier.To, s.Asked, s.From)
		}
		if a, ok := c.Later(s); ok {
			later, err := c.Of(a, time.Time{})
			expect.OK(t, err, "%v", a)
			expect.That(t, later.From.Equal(s.To) || s.Zone != later.Zone, "%v begins at %v, and %v ends at %v", a, later.From, s.Asked, s.To)
			expect.That(t, !later.first.begin(later.Zone).After(c.Now), "%v begins in the future", a)
		}
	})
}
