package span

import (
	"strconv"
	"time"

	"shunt/engine/zone"
)

// compare sets what s is compared with.
func (c *Calendar) compare(s *Span, made time.Time) {
	switch {
	case s.Name == All:
		s.Alone = "All that is kept has no time before it."
	case s.first == s.last && s.Runs():
		c.compareToday(s)
	default:
		c.compareDays(s)
	}
	if b := s.Before; b != nil && !made.Before(b.Till) {
		s.Before, s.Alone = nil, "No figures before: the link was made later."
	}
}

// compareToday compares today with yesterday until the same hour.
func (c *Calendar) compareToday(s *Span) {
	b := &Before{From: s.From, To: c.Now.UTC().Truncate(time.Hour), Since: (s.today - 1).begin(s.Zone)}
	b.Till = b.Since.Add(b.To.Sub(b.From))
	switch {
	case b.Since.Before(c.FirstHour):
		s.Alone = "No figures before: hours of yesterday are not kept."
	case !b.From.Before(b.To):
		s.Alone = "Nothing to compare yet: no hour of today is over."
	default:
		b.Open = "this hour"
		b.Words = "yesterday until " + b.Till.In(s.Zone.Place()).Format("15:04") + " " + s.Zone.Name()
		s.Before = b
	}
}

// compareDays compares the days of s that are over.
func (c *Calendar) compareDays(s *Span) {
	for _, z := range []*zone.Zone{s.Zone, c.Store} {
		s.Before, s.Alone = c.daysBefore(s, z)
		if s.Before == nil || !s.Before.Since.Before(c.FirstHour) {
			return // in the store's days, a time before the hours that are kept is as good
		}
	}
}

// daysBefore returns what s is compared with in days of a zone, or why there is nothing.
func (c *Calendar) daysBefore(s *Span, z *zone.Zone) (b *Before, alone string) {
	today, all := dayOf(c.Now, z), s.last-s.first+1
	first, end := s.first, min(s.last+1, today)
	if lengths[s.Name] > 0 {
		first = today - all + 1 // another date than that of s where it is another day now
	}
	if first >= end {
		return nil, "Nothing to compare yet: none of these days is over."
	}
	since, words := 2*first-end, "in the "+days(end-first)+" before"
	switch {
	case s.Name == ThisMonth:
		since = first.month(-1)
		end = min(end, first+first-since) // a longer month has days that the one before lacks
		words = "in the same days of " + since.date().Format("January")
	case s.Runs():
		since, words = first-all, earlier(all)
	}
	till := since + end - first
	if kept := dayOf(c.FirstDay, c.Store); s.Cut || since < kept {
		return nil, "No figures before: days are kept since " + kept.date().Format(DateFormat) + "."
	}
	b = &Before{From: first.begin(z), To: end.begin(z), Since: since.begin(z), Till: till.begin(z), Words: words}
	b.Whole = b.From.Equal(s.From) && b.To.Equal(s.To)
	b.Note = "Compared: " + titleOf(first, end-1) + " with " + titleOf(since, till-1) + ", days of " + z.Name() + "."
	if s.Runs() {
		b.Open = "today"
		b.Note += " Today is not over, so it is left out."
	}
	return b, ""
}

func days(n day) string {
	if n == 1 {
		return "day"
	}
	return strconv.Itoa(int(n)) + " days"
}

// earlier says by how many days a time is earlier.
func earlier(n day) string {
	if n == 7 {
		return "a week earlier"
	}
	return days(n) + " earlier"
}
