package hit

import (
	"errors"
	"shunt/engine/expect"
	"shunt/engine/internal/clock"
	"shunt/engine/invalid"
	"strconv"
	"testing"
	"time"
)

func at(text string) time.Time {
	for _, layout := range []string{"2006-01-02 15:04", "2006-01-02"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t
		}
	}
	panic(text)
}

// The windows below are asked for at 2026-11-21 14:30, a Saturday; 48 hours and 400 days are kept.
var (
	windowNow  = at("2026-11-21 14:30")
	windowKept = kept{
		hour: clock.HourOf(at("2026-11-21 14:00")), firstHour: clock.HourOf(at("2026-11-19 14:00")), firstDay: clock.HourOf(at("2025-10-17")) / clock.HoursPerDay,
	}
)

func TestWindowsAreWidenedToWholeBuckets(t *testing.T) {
	old, young := at("2026-01-05 10:20"), at("2026-11-21 09:40")
	for name, c := range map[string]struct {
		q       Query
		created time.Time
		want    string // from … to, number of spans, and whether the last one is endless
	}{
		"no bounds, an old link":         {Query{}, old, "2026-01-05 00:00 … 2026-11-21 15:00 1"},
		"no bounds, a young link":        {Query{}, young, "2026-11-21 09:00 … 2026-11-21 15:00 1"},
		"no bounds, an owner":            {Query{}, time.Time{}, "2025-10-17 00:00 … 2026-11-21 15:00 1"},
		"hours of today":                 {Query{From: at("2026-11-21 03:10"), To: at("2026-11-21 04:00")}, old, "2026-11-21 03:00 … 2026-11-21 04:00 1"},
		"hours around a day":             {Query{From: at("2026-11-19 22:00"), To: at("2026-11-21 02:00")}, old, "2026-11-19 22:00 … 2026-11-21 02:00 3"},
		"kept hours to now":              {Query{From: at("2026-11-19 22:00")}, old, "2026-11-19 22:00 … 2026-11-21 15:00 2"},
		"today":                          {Query{From: at("2026-11-21"), To: at("2026-11-21 14:30")}, old, "2026-11-21 00:00 … 2026-11-21 15:00 1"},
		"a kept day":                     {Query{From: at("2026-11-20"), To: at("2026-11-21")}, old, "2026-11-20 00:00 … 2026-11-21 00:00 1"},
		"hours over midnight":            {Query{From: at("2026-11-20 23:59"), To: at("2026-11-21 00:01")}, old, "2026-11-20 23:00 … 2026-11-21 01:00 1"},
		"the oldest kept hour":           {Query{From: at("2026-11-19 14:30"), To: at("2026-11-19 14:31")}, old, "2026-11-19 14:00 … 2026-11-19 15:00 1"},
		"an hour that is not kept":       {Query{From: at("2026-11-19 13:59"), To: at("2026-11-19 15:01")}, old, "2026-11-19 00:00 … 2026-11-20 00:00 1"},
		"a day":                          {Query{From: at("2026-10-03"), To: at("2026-10-04")}, old, "2026-10-03 00:00 … 2026-10-04 00:00 1"},
		"parts of two days":              {Query{From: at("2026-10-03 12:00"), To: at("2026-10-04 00:01")}, old, "2026-10-03 00:00 … 2026-10-05 00:00 1"},
		"from a day to an hour of today": {Query{From: at("2026-11-01 05:00"), To: at("2026-11-21 04:30")}, old, "2026-11-01 00:00 … 2026-11-21 05:00 2"},
		"to an hour of the first kept day, which is not whole": {Query{From: at("2026-11-01"), To: at("2026-11-19 17:00")}, old, "2026-11-01 00:00 … 2026-11-20 00:00 1"},
		"to yesterday's end":                 {Query{From: at("2026-11-01"), To: at("2026-11-21")}, old, "2026-11-01 00:00 … 2026-11-21 00:00 1"},
		"to the future":                      {Query{From: at("2026-11-21 14:00"), To: at("2030-01-01")}, old, "2026-11-21 14:00 … 2026-11-21 15:00 1"},
		"from long ago, the link existed":    {Query{From: at("2024-10-18 07:00")}, at("2020-01-01"), "2025-10-17 00:00 … 2026-11-21 15:00 1"},
		"from before the link existed":       {Query{From: at("1900-01-01")}, old, "2025-10-17 00:00 … 2026-11-21 15:00 1"},
		"from before the link existed, kept": {Query{From: at("2025-12-24 18:00")}, old, "2025-12-24 00:00 … 2026-11-21 15:00 1"},
		"all before the link existed":        {Query{From: at("2025-12-01"), To: at("2025-12-02")}, old, "2025-12-01 00:00 … 2025-12-02 00:00 1"},
		"hourly":                             {Query{Interval: Hourly}, old, "2026-11-19 15:00 … 2026-11-21 15:00 48"},
		"hourly, from 48 hours ago":          {Query{Interval: Hourly, From: at("2026-11-19 14:30")}, old, "2026-11-19 14:00 … 2026-11-21 15:00 49"},
		"hourly, some":                       {Query{Interval: Hourly, From: at("2026-11-21 01:30"), To: at("2026-11-21 03:30")}, old, "2026-11-21 01:00 … 2026-11-21 04:00 3"},
		"daily":                              {Query{Interval: Daily}, old, "2026-10-23 00:00 … 2026-11-22 00:00 30"},
		"daily, of hours":                    {Query{Interval: Daily, From: at("2026-11-20 01:30"), To: at("2026-11-21 03:30")}, old, "2026-11-20 00:00 … 2026-11-22 00:00 2"},
		"daily, all":                         {Query{Interval: Daily, From: at("2025-10-18")}, time.Time{}, "2025-10-18 00:00 … 2026-11-22 00:00 400"},
	} {
		w, err := c.q.window(windowKept, windowNow, c.created)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := clock.HourTime(w.from).Format("2006-01-02 15:04") + " … " + clock.HourTime(w.to).Format("2006-01-02 15:04")
		got += " " + strconv.Itoa(len(w.spans))
		if w.spans[len(w.spans)-1].ToHour == Endless {
			got += ""
		}
		expect.Equal(t, got, c.want, name)
		checkSpans(t, name, w)
	}
}

// checkSpans checks that spans are the window without gap, and that the store can read each.
func checkSpans(t *testing.T, name string, w window) {
	t.Helper()
	at := w.from
	for i, s := range w.spans {
		to := s.ToHour
		if to == Endless {
			if to = w.to; i != len(w.spans)-1 {
				t.Errorf("%s: span %d is", name, i)
			}
		}
		expect.That(t, s.FromHour == at && (to > at || len(w.spans) == 0), "%s: span %d is %d to %d, after %d", name, i, s.FromHour, s.ToHour, at)
		days := s.FromHour%clock.HoursPerDay == 0 && (to%clock.HoursPerDay == 0)
		expect.That(t, days || s.FromHour >= windowKept.firstHour, "%s: span %d is %d to %d: neither days nor kept hours", name, i, s.FromHour, s.ToHour)
		at = to
	}
	expect.That(t, at >= w.to, "%s: spans end at %d, the window at %d", name, at, w.to)
}

// At midnight, a window that ends then has nothing of the day that begins.
func TestAWindowToThisMomentEndsWithIt(t *testing.T) {
	k, now := windowKept, at("2026-11-21")
	k.hour = clock.HourOf(now)
	for interval, want := range map[Interval]int{Daily: 2, Hourly: 0, NoSeries: 1} {
		q := Query{Interval: interval, From: at("2026-11-19"), To: now}
		if interval == Hourly {
			q.From, want = at("2026-11-20 12:00"), 12
		}
		w, err := q.window(k, now, time.Time{})
		expect.OK(t, err)
		expect.Equal(t, clock.HourTime(w.to), now, "%v: the end", interval)
		expect.Equal(t, len(w.spans), want, "%v: spans", interval)
	}
}

func TestImpossibleWindowsAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		q           Query
		field, code string
	}{
		"reversed":                     {Query{From: at("2026-11-03"), To: at("2026-11-02")}, "from", "reversed"},
		"empty":                        {Query{From: at("2026-11-03"), To: at("2026-11-03")}, "from", "reversed"},
		"in the future":                {Query{From: at("2026-11-21 14:31")}, "from", "in_future"},
		"hours that are not kept":      {Query{Interval: Hourly, From: at("2026-11-19 13:59")}, "from", "not_kept"},
		"days that are not kept":       {Query{From: at("1900-01-02"), To: at("2025-10-16")}, "to", "reversed"},
		"to an hour before those kept": {Query{Interval: Hourly, To: at("2026-11-19 13:00")}, "to", "not_kept"},
		"to before the default from":   {Query{Interval: Daily, To: at("2026-10-01")}, "to", "reversed"},
	} {
		_, err := c.q.window(windowKept, windowNow, at("2020-01-01"))
		var wrong invalid.Error
		expect.That(t, errors.As(err, &wrong) && wrong[0].Field == c.field && wrong[0].Code == c.code, "%s: got %v, want %s of %s", name, err, c.code, c.field)
	}
}
