package rate

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Bounds of a Limit. Within them the arithmetic of gcra never overflows.
const (
	MaxEvents = 1_000_000
	MaxBurst  = 1_000_000
	MinPeriod = time.Second
	MaxPeriod = 24 * time.Hour
)

// A Limit allows Events in each Period on average, and Burst at once. The zero Limit allows
// everything.
type Limit struct {
	Events int
	Period time.Duration
	Burst  int
}

// Off reports whether l allows everything.
func (l Limit) Off() bool { return l == Limit{} }

const offWord = "off"

// String returns what Parse reads as l.
func (l Limit) String() string {
	if l.Off() {
		return offWord
	}
	text := fmt.Sprintf("%d/%s", l.Events, periodText(l.Period))
	if l.Burst != l.Events {
		text += fmt.Sprintf(":%d", l.Burst)
	}
	return text
}

// Quota returns l as a quota in a window: the number of events allowed at once, and the seconds,
// rounded up, after which as many are allowed again; 68 years at most.
func (l Limit) Quota() (events, windowSeconds int) {
	perSecond := int64(l.Events) * 1000
	seconds := (int64(l.Burst)*l.Period.Milliseconds() + perSecond - 1) / perSecond
	return l.Burst, int(min(seconds, math.MaxInt32))
}

type unit struct {
	name   string
	length time.Duration
}

// units are the units of a period, the longest first.
var units = []unit{
	{"d", 24 * time.Hour}, {"h", time.Hour}, {"min", time.Minute}, {"m", time.Minute}, {"s", time.Second},
}

func periodText(d time.Duration) string {
	for _, u := range units {
		switch n := d / u.length; {
		case d%u.length != 0:
		case n == 1:
			return u.name
		default:
			return strconv.Itoa(int(n)) + u.name
		}
	}
	return d.String() // no limit has such a period
}

// errForm is Parse's error for a text of another form.
var errForm = errors.New("must be off, or events/period such as 200/s or 5/15min, with an optional :burst such as 200/s:2000")

// Parse reads "200/s", "5/15min", "200/s:2000" or "off". Without a burst, all events of a period
// may come at once.
func Parse(text string) (Limit, error) {
	if text == offWord {
		return Limit{}, nil
	}
	average, burst, hasBurst := strings.Cut(text, ":")
	events, period, hasPeriod := strings.Cut(average, "/")
	if !hasPeriod {
		return Limit{}, errForm
	}
	l := Limit{}
	var err error
	if l.Events, err = count("the number of events", events, MaxEvents); err != nil {
		return Limit{}, err
	}
	if l.Period, err = parsePeriod(period); err != nil {
		return Limit{}, err
	}
	l.Burst = l.Events
	if hasBurst {
		if l.Burst, err = count("the burst", burst, MaxBurst); err != nil {
			return Limit{}, err
		}
	}
	return l, nil
}

func parsePeriod(text string) (time.Duration, error) {
	name := strings.TrimLeft(text, "0123456789")
	at := slices.IndexFunc(units, func(u unit) bool { return u.name == name })
	if at < 0 {
		return 0, fmt.Errorf("the period %q must be a number of s, min, h or d", text)
	}
	n, length := 1, units[at].length
	if digits := text[:len(text)-len(name)]; digits != "" {
		var err error
		if n, err = count("the period", digits, int(MaxPeriod/length)); err != nil {
			return 0, fmt.Errorf("%w %s", err, name)
		}
	}
	return time.Duration(n) * length, nil
}

func count(what, text string, most int) (int, error) {
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil || n < 1 || n > uint64(most) {
		return 0, fmt.Errorf("%s must be from 1 to %d", what, most)
	}
	return int(n), nil
}
