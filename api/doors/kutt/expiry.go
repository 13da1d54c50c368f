package kutt

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// A span is a number and a unit, as the package ms of npm reads them: "2 minutes", "8h", "1.5 days", "60000".
var span = regexp.MustCompile(`^(\d{1,9}(?:\.\d{1,9})?|\.\d{1,9}) *([a-z]*)$`)

const (
	day  = 24 * time.Hour
	year = time.Duration(365.25 * float64(day))
)

// units are those of spans, by each of their names.
var units = map[string]time.Duration{
	"": time.Millisecond, "ms": time.Millisecond, "msec": time.Millisecond, "msecs": time.Millisecond, "millisecond": time.Millisecond, "milliseconds": time.Millisecond,
	"s": time.Second, "sec": time.Second, "secs": time.Second, "second": time.Second, "seconds": time.Second,
	"m": time.Minute, "min": time.Minute, "mins": time.Minute, "minute": time.Minute, "minutes": time.Minute,
	"h": time.Hour, "hr": time.Hour, "hrs": time.Hour, "hour": time.Hour, "hours": time.Hour,
	"d": day, "day": day, "days": day, "w": 7 * day, "week": 7 * day, "weeks": 7 * day,
	"y": year, "yr": year, "yrs": year, "year": year, "years": year,
}

const (
	minSpan = time.Minute
	maxSpan = 100 * year
)

// parseSpan reads a span. wrong says what is wrong with it; empty: nothing.
func parseSpan(text string) (d time.Duration, wrong string) {
	parts := span.FindStringSubmatch(strings.ToLower(strings.TrimSpace(text)))
	if parts == nil || units[parts[2]] == 0 {
		return 0, "Expire format is invalid. Valid examples: 1m, 8h, 42 days."
	}
	n, _ := strconv.ParseFloat(parts[1], 64) // of digits
	switch long := n * float64(units[parts[2]]); {
	case long < float64(minSpan):
		return 0, "Expire time should be more than 1 minute."
	case long > float64(maxSpan):
		return 0, "Expire time should be less than 100 years."
	default:
		return time.Duration(long), ""
	}
}

// spanText returns how long d is, roughly, as ms writes it.
func spanText(d time.Duration) string {
	for _, u := range []struct {
		name string
		long time.Duration
	}{{"day", day}, {"hour", time.Hour}, {"minute", time.Minute}, {"second", time.Second}} {
		if d < u.long {
			continue
		}
		n := int64((d + u.long/2) / u.long)
		if text := strconv.FormatInt(n, 10) + " " + u.name; d < u.long*3/2 {
			return text
		} else {
			return text + "s"
		}
	}
	return strconv.FormatInt(d.Milliseconds(), 10) + " ms"
}
