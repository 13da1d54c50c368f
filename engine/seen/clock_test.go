package seen

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"shunt/engine/expect"
)

const (
	minute = int64(time.Minute / time.Millisecond)
	hour   = 60 * minute
	day    = 24 * hour
)

// history is a clock and all stamps that it made.
type history struct {
	c      Clock
	wall   int64
	ran    int64
	stamps []stamp
}

type stamp struct{ at, ran int64 }

func (h *history) pass(elapsed, jump int64) {
	before := h.wall
	h.wall += elapsed + jump
	h.ran += elapsed
	h.c.Pass(before, h.wall, elapsed)
	h.stamp()
}

func (h *history) stamp() { h.stamps = append(h.stamps, stamp{h.wall, h.ran}) }

// TestNothingIsOlderThanTheClockHasSeen lets a clock run, jump and stop, and asks about all stamps that it made.
func TestNothingIsOlderThanTheClockHasSeen(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		h := history{wall: 20_000 * day}
		h.c.Start(h.wall)
		h.stamp()
		rt.Repeat(map[string]func(*rapid.T){
			"run":   func(rt *rapid.T) { h.pass(rapid.Int64Range(0, 3*day).Draw(rt, "elapsed"), 0) },
			"drift": func(rt *rapid.T) { h.pass(minute, rapid.Int64Range(-minute, minute).Draw(rt, "drift")) },
			"jump": func(rt *rapid.T) {
				h.pass(rapid.Int64Range(0, hour).Draw(rt, "elapsed"), rapid.SampledFrom([]int64{-1000, -40, -1, 1, 40, 1000}).Draw(rt, "days")*day)
			},
			"stop": func(rt *rapid.T) {
				h.wall += rapid.SampledFrom([]int64{0, 1, hour, 90 * day, -90 * day}).Draw(rt, "off")
				h.c.Start(h.wall)
				h.stamp()
			},
			"": func(rt *rapid.T) { h.check(rt) },
		})
	})
}

func (h *history) check(rt *rapid.T) {
	if h.c.Ran != h.ran {
		rt.Fatalf("it ran for %d, want %d", h.c.Ran, h.ran)
	}
	keep := rapid.SampledFrom([]int64{hour, day, 30 * day}).Draw(rt, "keep")
	cutoff := h.c.Cutoff(h.wall, 0, keep)
	for _, s := range h.stamps {
		age := h.ran - s.ran
		if got := h.c.Age(s.at); got > age {
			rt.Fatalf("the age of %d is %d, and it was made %d ago", s.at, got, age)
		}
		if age < keep && (h.c.Kept(h.wall, s.at, keep) || s.at < cutoff) {
			rt.Fatalf("%d was made %d ago: kept for %d is %v, and the cutoff is %d", s.at, age, keep, h.c.Kept(h.wall, s.at, keep), cutoff)
		}
	}
}

// TestAClockThatIsRightForgetsInTime has a clock that is never wrong, is off for a month, and what it makes older.
func TestAClockThatIsRightForgetsInTime(t *testing.T) {
	h := history{wall: 20_000 * day}
	h.c.Start(h.wall)
	for range 20 * 24 {
		h.pass(hour, 0)
	}
	want := func(what string, keep, back int64) {
		t.Helper()
		got := h.wall - h.c.Cutoff(h.wall, 0, keep)
		expect.That(t, got >= back-minute && got <= back+minute, "%s: what is kept for %d h goes back %d h, want %d", what, keep/hour, got/hour, back/hour)
	}
	want("no stop", 5*day, 5*day)
	h.wall += 30 * day
	h.c.Start(h.wall)
	want("after a month off", 5*day, 35*day)
	h.pass(2*day, 0)
	want("two days later", 5*day, 35*day)
	h.pass(4*day, 0)
	want("once it ran for five days", 5*day, 5*day)
}

// TestAJumpMakesThingsStayForAsLongAgainAtMost jumps ahead for ten minutes, and back in time for ten minutes.
func TestAJumpMakesThingsStayForAsLongAgainAtMost(t *testing.T) {
	for _, by := range []int64{500 * day, -8 * day, -3 * day} {
		h := history{wall: 20_000 * day}
		h.c.Start(h.wall)
		for range 100 * 24 {
			h.pass(hour, 0)
		}
		h.pass(minute, by)
		h.pass(10*minute, 0)
		h.pass(minute, -by)
		const keep = 10 * day
		got := h.c.Cutoff(h.wall, 0, keep)
		expect.That(t, got <= h.wall-keep, "%d days: the cutoff is %d days back", by/day, (h.wall-got)/day)
		for range 11 * 24 {
			h.pass(hour, 0)
		}
		if got := h.wall - h.c.Cutoff(h.wall, 0, keep); got > keep+minute {
			t.Errorf("%d days: after the time again, things of %d days ago are kept", by/day, got/day)
		}
	}
}

// TestRunsBeforeAllThatThereIsHoldNothingUp begins each start in 1970.
func TestRunsBeforeAllThatThereIsHoldNothingUp(t *testing.T) {
	h := history{wall: 20_000 * day}
	h.c.Start(h.wall)
	right := h.wall
	for range 30 {
		h.wall = 0
		h.c.Start(h.wall)
		h.pass(minute, 0)
		right += minute
		h.pass(0, right-h.wall)
		h.pass(day, 0)
		right += day
	}
	back := h.wall - h.c.Cutoff(h.wall, 20_000*day, 5*day)
	expect.That(t, back <= 5*day+hour, "what is kept for 5 days goes back %d days", back/day)
	expect.That(t, h.c.Cutoff(h.wall, 0, 5*day) <= 0, "things of 1970 are not kept for as long as others")
}

func TestRunsAreBounded(t *testing.T) {
	h := history{wall: 20_000 * day}
	for range 3 * MaxRuns {
		h.c.Start(h.wall)
		h.pass(hour, 0)
		h.wall += day
	}
	expect.Equal(t, len(h.c.Runs), MaxRuns, "runs")
	for _, s := range h.stamps {
		got, want := h.c.Age(s.at), h.ran-s.ran
		expect.MustThat(t, got <= want, "the age of %d is %d, and it was made %d ago", s.at, got, want)
	}
}
