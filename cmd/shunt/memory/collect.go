package memory

import (
	"math"
	"runtime/metrics"
	"time"
)

// This file collects garbage a little before Go would, so that the server knows of it and can prepare:
// no event loop is to have a real-time priority meanwhile (wire.Group.WithoutImmediate). Go still
// collects when this comes too late, or when its memory limit demands it.

const (
	// earlyPart is the part of the growth between two collections after which one begins. Go begins
	// between 0.7 and 0.95 ("minTriggerRatioDistance" in runtime/mgcpacer.go). So that there are no more
	// collections than Go would make, its growth is half as much again as is wanted (slack).
	earlyPart = 0.65
	slack     = 1.5

	// leastGrowth is the growth below which collections are left to Go: then they are many, and there is
	// nothing to foresee.
	leastGrowth = 4 << 20

	// It is looked so often that what is allocated at rateMargin times the last rate, and at leastRate in
	// any case, does not come before the next look.
	rateMargin   = 4
	leastRate    = 32 << 20 // bytes a second
	shortestLook = 2 * time.Millisecond
	longestLook  = time.Second

	// settling is how long it takes until what a collection of Go's own has found to be garbage no longer
	// counts as used.
	settling = 200 * time.Millisecond

	// restPart bounds the part of the time that these collections take.
	restPart = 4

	// collectAfter is how long after a collection another one is due. Go's own begins after 2 minutes.
	collectAfter = 110 * time.Second
)

// A collector knows when garbage is to be collected. It is used by one goroutine.
type collector struct {
	samples []metrics.Sample
	cycles  uint64
	since   time.Time // when cycles was first seen
	used    uint64    // at the last look
	looked  time.Time
}

// The samples of a collector.
const (
	liveBytes = iota // at the last collection
	goalBytes        // the next one ends when there are so many
	usedBytes        // now
	cycleCount
)

func newCollector() *collector {
	return &collector{samples: []metrics.Sample{
		liveBytes: {Name: "/gc/heap/live:bytes"}, goalBytes: {Name: "/gc/heap/goal:bytes"},
		usedBytes: {Name: "/memory/classes/heap/objects:bytes"}, cycleCount: {Name: "/gc/cycles/total:gc-cycles"},
	}}
}

// look reports whether a collection is due, and if not, when to look again.
func (c *collector) look(now time.Time) (due bool, next time.Duration) {
	metrics.Read(c.samples)
	value := func(i int) uint64 { return c.samples[i].Value.Uint64() }
	return c.judge(now, value(cycleCount), value(liveBytes), value(goalBytes), value(usedBytes))
}

func (c *collector) judge(now time.Time, cycles, live, goal, used uint64) (due bool, next time.Duration) {
	rate := c.rate(now, used)
	if c.since.IsZero() {
		c.cycles, c.since = cycles, now
	} else if cycles != c.cycles {
		c.cycles, c.since = cycles, now
		return false, settling
	}
	if goal < live || goal > math.MaxInt64/2 { // Go does not collect (GOGC=off)
		return false, longestLook
	}
	if goal-live < leastGrowth {
		return now.Sub(c.since) >= collectAfter, longestLook
	}
	room := float64(live) + earlyPart*float64(goal-live) - float64(used)
	if room <= 0 || now.Sub(c.since) >= collectAfter {
		return true, 0
	}
	wait := time.Duration(room / rate * float64(time.Second))
	return false, min(max(wait, shortestLook), longestLook)
}

// rate returns how many bytes a second are to be expected.
func (c *collector) rate(now time.Time, used uint64) float64 {
	rate := float64(leastRate)
	if passed := now.Sub(c.looked).Seconds(); !c.looked.IsZero() && used > c.used && passed > 0 {
		rate = max(rate, rateMargin*float64(used-c.used)/passed)
	}
	c.used, c.looked = used, now
	return rate
}

// collected records that garbage was collected since began, because look said so. It returns when to look
// again.
func (c *collector) collected(began, now time.Time) (next time.Duration) {
	metrics.Read(c.samples[cycleCount:])
	c.cycles, c.since, c.looked = c.samples[cycleCount].Value.Uint64(), now, time.Time{}
	return max(restPart*now.Sub(began), shortestLook)
}
