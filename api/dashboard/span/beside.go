package span

import "time"

// Earlier returns the time before s, of the same length, and Later the time after it, up to today. The time before a
// month is the month before it. ok is false if no figures of that time are kept, or if the link was not made yet; made
// is zero for what was always there.
func (c *Calendar) Earlier(s *Span, made time.Time) (a Asked, ok bool) {
	kept := dayOf(c.FirstDay, s.Zone)
	first, last := 2*s.first-s.last-1, s.first-1
	if s.isMonth() {
		first = s.first.month(-1)
	}
	if s.Name == All || s.Cut || last < kept || !made.IsZero() && last < dayOf(made, s.Zone) {
		return Asked{}, false
	}
	return s.askedOf(max(first, kept), last), true
}

// Later is the other direction; see Earlier.
func (c *Calendar) Later(s *Span) (a Asked, ok bool) {
	first, last := s.last+1, 2*s.last-s.first+1
	if s.isMonth() {
		last = first.month(1) - 1
	}
	if s.Name == All || first > s.today {
		return Asked{}, false
	}
	return s.askedOf(first, min(last, s.today)), true
}

// isMonth reports whether s is a month, or as much of it as there was.
func (s *Span) isMonth() bool {
	return s.first == s.first.month(0) && (s.last == s.first.month(1)-1 || s.last == s.today && s.Name == ThisMonth)
}

// askedOf returns what asks for days, by the name of a choice that has just these, if there is one.
func (s *Span) askedOf(first, last day) Asked {
	switch month := s.today.month(0); {
	case last == s.today:
		for _, c := range choices {
			if n := day(lengths[c.Name]); n > 0 && last-first+1 == n {
				return Asked{Name: c.Name}
			}
		}
		if first == month {
			return Asked{Name: ThisMonth}
		}
	case last == month-1 && first == s.today.month(-1):
		return Asked{Name: LastMonth}
	}
	beside := Span{first: first, last: last}
	from, to := beside.Dates()
	return Asked{Name: Custom, From: from, To: to}
}

// Pairs returns a as the parameters of an address.
func (a Asked) Pairs() []string {
	if a.Name == Custom {
		return []string{"from", a.From, "to", a.To}
	}
	return []string{"period", a.Name}
}
