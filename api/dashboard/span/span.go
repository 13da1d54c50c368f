package span

import (
	"strings"
	"time"

	"shunt/engine/zone"
)

// A Calendar is what spans depend on, at a moment.
type Calendar struct {
	Now                 time.Time
	FirstHour, FirstDay time.Time  // from which figures are kept by the hour, and by days of the store
	Store               *zone.Zone // whose days the store keeps
	Viewer              *zone.Zone // the viewer's; nil: unknown, or the days of that zone do not begin on the hour
}

// A Span is the time that a page shows.
type Span struct {
	Asked
	Title  string
	From   time.Time
	To     time.Time  // zero: up to now
	Hourly bool       // by the hour, else by the day
	Zone   *zone.Zone // whose days these are
	Cut    bool       // it begins with the days that are kept, and was to begin before

	Before *Before // nil: there is nothing to compare with
	Alone  string  // why there is nothing to compare with

	first, last day // of Zone, both included
	today       day // of Zone
}

// A Before is the time that a span is compared with, and the equal part of the span.
type Before struct {
	From, To    time.Time // of the part of the span
	Whole       bool      // the part is the span
	Since, Till time.Time // of the time before
	Words       string    // when that was, after "more than"
	Open        string    // what of the span is not over, and so not in the part; empty: all is over
	Note        string    // which days are compared with which; empty: the words say it
}

// An Error says what is wrong with dates, and with which.
type Error struct{ Field, Text string }

func (e Error) Error() string { return e.Text }

// Offered returns the choices that differ in what they show: of spans of days, only those whose days are all kept.
func (c *Calendar) Offered() (offered []Choice) {
	today, first := dayOf(c.Now, c.Store), dayOf(c.FirstDay, c.Store)
	for _, choice := range choices {
		switch n := day(lengths[choice.Name]); {
		case n > 1 && today-n+1 < first:
		case choice.Name == LastMonth && today.month(0) <= first:
		default:
			offered = append(offered, choice)
		}
	}
	return offered
}

// offered returns a, or, if that is not offered, the choice of pages without one.
func (c *Calendar) offered(a Asked) Asked {
	if a.Name == Custom {
		return a
	}
	otherwise := Asked{Name: All}
	for _, choice := range c.Offered() {
		if choice.Name == a.Name {
			return a
		}
		if choice.Name == Month {
			otherwise.Name = Month
		}
	}
	return otherwise
}

// LeastDays is how many days a young subject is shown with at least, all of them empty but the last.
const LeastDays = 30

// setDays sets the days of s in its zone.
func (c *Calendar) setDays(s *Span, made time.Time) error {
	s.today = dayOf(c.Now, s.Zone)
	kept := dayOf(c.FirstDay, s.Zone)
	s.first, s.last, s.Cut = s.today, s.today, false
	switch s.Name {
	case Today:
	case ThisMonth:
		s.first = s.today.month(0)
	case LastMonth:
		s.first, s.last = s.today.month(-1), s.today.month(0)-1
	case All:
		s.first = max(kept, min(dayOf(made, s.Zone), s.today-LeastDays+1))
		return nil
	case Custom:
		if err := s.read(kept); err != nil {
			return err
		}
	default:
		s.first = s.today - day(lengths[s.Name]) + 1
	}
	if s.first < kept {
		s.first, s.Cut = kept, true
	}
	return nil
}

// read reads the days of Custom.
func (s *Span) read(kept day) error {
	const date = " must be a date such as 2026-11-21."
	ok := true
	if s.first = kept; s.Asked.From != "" {
		if s.first, ok = readDay(s.Asked.From); !ok {
			return Error{"from", "“From”" + date}
		}
	}
	if s.Asked.To != "" {
		if s.last, ok = readDay(s.Asked.To); !ok {
			return Error{"to", "“To”" + date}
		}
	}
	switch {
	case s.first > s.today:
		return Error{"from", "“From” must not be in the future."}
	case s.last < kept:
		return Error{"to", "No figures are kept of days before " + kept.date().Format(DateFormat) + "."}
	case s.last < s.first:
		return Error{"to", "“To” must not be before “From”."}
	}
	s.last = min(s.last, s.today)
	s.Title = titleOf(s.first, s.last)
	return nil
}

// DateFormat is how days are written.
const DateFormat = "2 January 2006"

// titleOf names days by their dates, without what both have in common.
func titleOf(first, last day) string {
	from, to := first.date(), last.date()
	switch {
	case first == last:
		return to.Format(DateFormat)
	case from.Year() != to.Year():
		return from.Format(DateFormat) + " to " + to.Format(DateFormat)
	case from.Month() != to.Month():
		return from.Format("2 January") + " to " + to.Format(DateFormat)
	}
	return from.Format("2") + " to " + to.Format(DateFormat)
}

// Days returns the first and the last day of s by their dates.
func (s *Span) Days() string { return titleOf(s.first, s.last) }

// Label returns the title of s within a line.
func (s *Span) Label() string {
	if s.Name == All {
		return "all that is kept"
	}
	return strings.ToLower(s.Title[:1]) + s.Title[1:]
}

// Runs reports whether the last day of s is not over.
func (s *Span) Runs() bool { return s.To.IsZero() }

// Dates returns the first and the last day of s as a field of a form has them.
func (s *Span) Dates() (first, last string) {
	return s.first.date().Format(time.DateOnly), s.last.date().Format(time.DateOnly)
}
