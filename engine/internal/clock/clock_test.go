package clock

import (
	"slices"
	"testing"
	"time"

	"shunt/engine/expect"
)

// TestAClockIsSteadyOnceItHasRunEvenly checks a clock once a minute of monotonic time. The jumps
// are of the wall clock.
func TestAClockIsSteadyOnceItHasRunEvenly(t *testing.T) {
	const settles = 10 * time.Minute
	start := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		jumpAt int // minute; 0: never
		jump   time.Duration
		steady []int // minutes in which it becomes steady
		shaky  []int // minutes in which it ceases to be
	}{
		"even":               {0, 0, []int{10}, nil},
		"set ahead":          {20, 48 * time.Hour, []int{10, 30}, []int{20}},
		"set back":           {20, -time.Hour, []int{10, 30}, []int{20}},
		"set before":         {5, time.Hour, []int{15}, nil},
		"corrected a little": {20, 30 * time.Second, []int{10}, nil},
	} {
		var w watch
		was := false
		var steady, shaky []int
		for minute := range 60 {
			monotonic := start.Add(time.Duration(minute) * time.Minute)
			wall := monotonic
			if c.jumpAt != 0 && minute >= c.jumpAt {
				wall = wall.Add(c.jump)
			}
			switch now := w.steady(wall, monotonic, settles); {
			case now && !was:
				steady, was = append(steady, minute), true
			case !now && was:
				shaky, was = append(shaky, minute), false
			}
		}
		expect.That(t, slices.Equal(steady, c.steady) && slices.Equal(shaky, c.shaky),
			"%s: steady from minutes %v, not from %v; want %v and %v", name, steady, shaky, c.steady, c.shaky)
	}
	var w watch
	expect.That(t, w.steady(start, start, -1), "a clock that need not settle is not steady")
}
