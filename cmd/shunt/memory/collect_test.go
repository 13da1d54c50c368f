package memory

import (
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"
)

// Garbage is collected by the keeper, not by Go, as long as it looks often enough.
func TestGarbageIsCollectedBeforeGoDoes(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	keep := make([][]byte, 64) // live: goals are a good way off
	for i := range keep {
		keep[i] = make([]byte, 1<<20)
	}
	runtime.GC()
	c := newCollector()
	automatic, forced := cyclesOf(t)
	for i := range 400 { // 400 MB in all
		keep[i%len(keep)] = make([]byte, 1<<20)
		if due, _ := c.look(time.Now()); due {
			runtime.GC()
		}
	}
	runtime.KeepAlive(keep)
	automaticNow, forcedNow := cyclesOf(t)
	if automaticNow != automatic {
		t.Errorf("Go has collected %d times", automaticNow-automatic)
	}
	// 64 MiB may be allocated between two collections of Go, and about 0.65 of that here.
	if n := forcedNow - forced; n < 6 || n > 14 {
		t.Errorf("%d collections for 400 MiB, want about 9", n)
	}
}

// cyclesOf returns how often Go has collected by itself, and how often it was told to.
func cyclesOf(t *testing.T) (automatic, forced uint64) {
	t.Helper()
	samples := []metrics.Sample{{Name: "/gc/cycles/automatic:gc-cycles"}, {Name: "/gc/cycles/forced:gc-cycles"}}
	metrics.Read(samples)
	return samples[0].Value.Uint64(), samples[1].Value.Uint64()
}

func TestACollectionIsDueBeforeTwoMinutesAreOver(t *testing.T) {
	runtime.GC()
	c, now := newCollector(), time.Now()
	if due, next := c.look(now); due || next < shortestLook || next > longestLook {
		t.Errorf("right after a collection: got %v, %v", due, next)
	}
	if due, _ := c.look(now.Add(collectAfter - time.Second)); due {
		t.Error("a collection is due early")
	}
	if due, _ := c.look(now.Add(collectAfter)); !due {
		t.Error("no collection is due")
	}
	runtime.GC()
	if due, _ := c.look(now.Add(collectAfter)); due {
		t.Error("a collection is due right after one")
	}
}

func TestTheRoomUntilACollection(t *testing.T) {
	for _, c := range []struct {
		live, goal, used uint64
		want             int64
	}{
		{100, 200, 100, 65},
		{100, 200, 165, 0},
		{100, 200, 400, -235},
		{200, 100, 150, math.MaxInt64},
		{100, math.MaxUint64, 1 << 40, math.MaxInt64}, // GOGC=off
	} {
		if got := roomUntil(c.live, c.goal, c.used); got != c.want {
			t.Errorf("%+v: got %d", c, got)
		}
	}
}
