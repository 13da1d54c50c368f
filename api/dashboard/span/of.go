package span

import (
	"time"

	"shunt/engine/zone"
)

// maxHourly is how many days are shown by the hour.
const maxHourly = 2

// Of returns the span that was asked for, or that of 30 days, or, if fewer are kept, all. made is when the subject of
// the figures was made, before which there are none; zero: it has been there for ever. Errors: Error.
func (c *Calendar) Of(a Asked, made time.Time) (*Span, error) {
	s := &Span{Asked: c.offered(a)}
	for _, choice := range choices {
		if choice.Name == s.Name {
			s.Title = choice.Title
		}
	}
	viewer := c.Viewer
	if viewer == nil {
		viewer = c.Store
	}
	for _, s.Zone = range []*zone.Zone{viewer, c.Store} {
		if err := c.setDays(s, made); err != nil {
			return nil, err
		}
		if s.Zone == c.Store || !s.first.begin(s.Zone).Before(c.FirstHour) {
			break
		}
	}
	s.From = s.first.begin(s.Zone)
	if s.last < s.today {
		s.To = (s.last + 1).begin(s.Zone)
	}
	s.Hourly = s.last-s.first < maxHourly && !s.From.Before(c.FirstHour)
	c.compare(s, made)
	return s, nil
}
