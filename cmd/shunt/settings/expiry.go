package settings

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

// Expiry is a flag: a time, or a span from now; zero: never.
type Expiry struct {
	text string
	Time time.Time
}

func (e *Expiry) Set(text string) (err error) {
	e.text = text
	e.Time, err = ParseExpiry(text, time.Now())
	return err
}

func (e *Expiry) String() string { return e.text }
func (e *Expiry) Type() string   { return "TIME" }

// maxExpiryDays keeps a span in days within what a time can hold in JSON: years have four digits.
const maxExpiryDays = 366 * 1000

// ParseExpiry reads a span such as 30d or 12h from now, a date, or an RFC 3339 time.
func ParseExpiry(text string, now time.Time) (time.Time, error) {
	if days, found := strings.CutSuffix(text, "d"); found {
		if n, err := strconv.Atoi(days); err == nil && 0 < n && n <= maxExpiryDays {
			return now.UTC().AddDate(0, 0, n), nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return now.UTC().Add(d), nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, errors.New("must be a span such as 90d or 12h, or a time such as 2030-12-31 or 2030-12-31T23:59:59Z")
}
