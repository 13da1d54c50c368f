package memory

import (
	"math"
	"runtime/metrics"
	"time"
)

// This file collects garbage a little before Go would, so that the server knows of it and can prepare:
// the event loops are not to run at the highest priority meanwhile (wire.Group.WithoutImmediate). Go still
// collects when this comes too late, or when its memory limit demands it.

const (
	// earlyPart is the part of the growth between two collections after which one begins. Go begins at
	// 0.7 or later ("minTriggerRatioDistance" in runtime/mgcpacer.go).
	earlyPart = 0.65

	// fastestGrowth bounds the bytes a second that are taken to be allocated until the next look.
	fastestGrowth = 1 << 30

	shortestLook, longestLook = 2 * time.Millisecond, time.Second

	// collectAfter is how long after a collection another one is due. Go's own begins after 2 minutes.
	collectAfter = 110 * time.Second
)

// A collector knows when garbage is to be collected. It is used by one goroutine.
type collector struct {
	samples []metrics.Sample
	cycles  uint64
	since   time.Time // when cycles was first seen
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
	if cycles := value(cycleCount); cycles != c.cycles || c.since.IsZero() {
		c.cycles, c.since = cycles, now
	}
	room := roomUntil(value(liveBytes), value(goalBytes), value(usedBytes))
	if room <= 0 || now.Sub(c.since) >= collectAfter {
		return true, shortestLook
	}
	wait := time.Duration(min(float64(room)/fastestGrowth, 1) * float64(time.Second))
	return false, min(max(wait, shortestLook), longestLook)
}

// roomUntil returns how many bytes may be allocated until a collection is due: none at 0 or below.
func roomUntil(live, goal, used uint64) int64 {
	if goal < live || goal > math.MaxInt64/2 || used > math.MaxInt64/2 { // Go does not collect (GOGC=off)
		return math.MaxInt64
	}
	return int64(live) + int64(earlyPart*float64(goal-live)) - int64(used)
}
