package memory

import (
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"

	"shunt/storage"
)

// Garbage is collected by the keeper, not by Go, as long as it looks often enough, and not more often
// than Go would.
func TestGarbageIsCollectedBeforeGoDoes(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(slack * 100))
	keep := make([][]byte, 64) // live: goals are a good way off
	for i := range keep {
		keep[i] = make([]byte, 1<<20)
	}
	calm := 0
	k := NewHeapKeeper(func() storage.Metrics { return storage.Metrics{} }, func(collect func()) { calm++; collect() })
	runtime.GC()
	c := newCollector()
	automatic, forced := cyclesOf(t)
	for i := range 400 { // 400 MB in all
		keep[i%len(keep)] = make([]byte, 1<<20)
		k.collect(c)
	}
	runtime.KeepAlive(keep)
	automaticNow, forcedNow := cyclesOf(t)
	if automaticNow != automatic {
		t.Errorf("Go has collected %d times", automaticNow-automatic)
	}
	// 64 MiB are live, so 62 MiB may be allocated between two collections.
	if n := forcedNow - forced; n < 4 || n > 8 || calm != int(n) {
		t.Errorf("%d collections for 400 MiB, %d of them as the process wants it; want about 6", n, calm)
	}
}

// cyclesOf returns how often Go has collected by itself, and how often it was told to.
func cyclesOf(t *testing.T) (automatic, forced uint64) {
	t.Helper()
	samples := []metrics.Sample{{Name: "/gc/cycles/automatic:gc-cycles"}, {Name: "/gc/cycles/forced:gc-cycles"}}
	metrics.Read(samples)
	return samples[0].Value.Uint64(), samples[1].Value.Uint64()
}

func TestWhenACollectionIsDue(t *testing.T) {
	const mib = 1 << 20
	begin := time.Now()
	type heap struct{ live, goal, used uint64 }
	for _, c := range []struct {
		name string
		heap heap
		at   time.Duration // since the last collection
		due  bool
		next time.Duration // at most; 0: any
	}{
		{"much room", heap{100 * mib, 200 * mib, 100 * mib}, time.Second, false, longestLook},
		{"little room", heap{100 * mib, 200 * mib, 164 * mib}, time.Second, false, time.Second / 30},
		{"no room", heap{100 * mib, 200 * mib, 165 * mib}, time.Second, true, 0},
		{"beyond the goal", heap{100 * mib, 200 * mib, 400 * mib}, time.Second, true, 0},
		{"a small heap is Go's", heap{2 * mib, 4 * mib, 4 * mib}, time.Second, false, longestLook},
		{"at Go's limit of memory", heap{100 * mib, 101 * mib, 101 * mib}, time.Second, false, longestLook},
		{"beyond it", heap{100 * mib, 90 * mib, 101 * mib}, time.Second, false, longestLook},
		{"GOGC=off", heap{100 * mib, math.MaxUint64, 1 << 40}, collectAfter, false, longestLook},
		{"nearly two minutes", heap{100 * mib, 200 * mib, 100 * mib}, collectAfter - time.Second, false, 0},
		{"two minutes", heap{100 * mib, 200 * mib, 100 * mib}, collectAfter, true, 0},
		{"two minutes of a small heap", heap{2 * mib, 4 * mib, 2 * mib}, collectAfter, true, 0},
	} {
		k := newCollector()
		k.judge(begin, 7, c.heap.live, c.heap.goal, c.heap.live)
		k.looked = time.Time{} // the rate is not what is tested here
		due, next := k.judge(begin.Add(c.at), 7, c.heap.live, c.heap.goal, c.heap.used)
		if due != c.due || c.next > 0 && next > c.next || !due && next < shortestLook {
			t.Errorf("%s: got %v, %v", c.name, due, next)
		}
	}
}

// What Go's own collection has found is still counted as used for a while.
func TestACollectionOfGosOwnMakesNoSecondOneDue(t *testing.T) {
	const mib = 1 << 20
	c, now := newCollector(), time.Now()
	c.judge(now, 7, 100*mib, 200*mib, 100*mib)
	if due, next := c.judge(now.Add(time.Second), 8, 60*mib, 120*mib, 190*mib); due || next != settling {
		t.Errorf("right after it: got %v, %v", due, next)
	}
	if due, _ := c.judge(now.Add(time.Second+settling), 8, 60*mib, 120*mib, 70*mib); due {
		t.Error("another one is due when it is over")
	}
}

func TestFastAllocationsAreLookedAtMoreOften(t *testing.T) {
	const mib = 1 << 20
	c, now := newCollector(), time.Now()
	c.judge(now, 7, 1000*mib, 2000*mib, 1000*mib)
	_, slow := c.judge(now.Add(time.Second), 7, 1000*mib, 2000*mib, 1001*mib)
	_, fast := c.judge(now.Add(2*time.Second), 7, 1000*mib, 2000*mib, 1501*mib)
	if slow != longestLook || fast > 100*time.Millisecond || fast < shortestLook {
		t.Errorf("looks again after %v and %v", slow, fast)
	}
}
