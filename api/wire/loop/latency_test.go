package loop

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"shunt/engine/expect"
)

// placeByLog is latencyPlace by its definition.
func placeByLog(d time.Duration) int {
	const lowest = -20
	octaves := math.Log2(float64(d)*1e-9) - lowest
	return max(0, min(LatencyBuckets, int(math.Ceil(octaves*perOctave))))
}

func TestADurationIsInTheBucketOfItsLogarithm(t *testing.T) {
	for range 200_000 {
		d := time.Duration(math.Exp2(rand.Float64() * 38)) // 1 ns to 275 s
		got, want := latencyPlace(d), placeByLog(d)
		octaves := (math.Log2(float64(d)*1e-9) + 20) * perOctave
		expect.MustThat(t, got == want || math.Abs(octaves-math.Round(octaves)) <= 1e-9, "%d ns: got place %d, want %d", d, got, want)
	}
	for d, want := range map[time.Duration]int{
		-1: 0, 0: 0, 1: 0, 953: 0, 954: 1, time.Second: 160, time.Second + 1: 161, 500 * time.Millisecond: 152,
		16 * time.Second: 192, 16*time.Second + 1: 193, 17 * time.Second: 193, time.Hour: 193, math.MaxInt64: 193,
	} {
		expect.Equal(t, latencyPlace(max(d, 0)), want, "%v", d)
	}
}

func TestLatenciesAreCountedOnceInOneBucket(t *testing.T) {
	var l Latency
	w := stopwatch{shard: l.shard()}
	w.start(time.Now().Add(-time.Millisecond), false)
	w.written(3)
	w.written(0)
	l.Observe(0, 7)
	l.Observe(2*time.Hour, 7)
	c := l.Counts()
	n := c.Zero
	for _, count := range c.Buckets {
		n += count
	}
	if c.Zero != 1 || c.Buckets[LatencyBuckets-1] != 1 || n != 5 || c.Seconds < 7200.003 {
		t.Errorf("got %d values, %v s, zero %d, last %d", n, c.Seconds, c.Zero, c.Buckets[LatencyBuckets-1])
	}
}

func TestOneInSixteenBusyWakeUpsCountsForAll(t *testing.T) {
	var l Latency
	w := stopwatch{shard: l.shard()}
	const turns = 10 * latencySample
	for range turns {
		w.start(time.Now(), true)
		w.written(1)
		w.written(2)
	}
	c := l.Counts()
	n := c.Zero
	for _, count := range c.Buckets {
		n += count
	}
	expect.Equal(t, n, 3*turns, "answers")
	none := stopwatch{}
	none.start(time.Now(), false)
	none.written(1) // nothing measures
}

func TestMeasuringAnAnswerAllocatesNothing(t *testing.T) {
	var l Latency
	w := stopwatch{shard: l.shard()}
	allocs := testing.AllocsPerRun(1000, func() {
		w.start(time.Now(), false)
		w.written(1)
		l.Observe(time.Millisecond, 3)
	})
	if allocs != 0 {
		t.Errorf("it allocates %v times", allocs)
	}
}

// BenchmarkStopwatch is what a redirect costs more: a wake-up with one answer.
func BenchmarkStopwatch(b *testing.B) {
	var l Latency
	for _, c := range []struct {
		name  string
		shard *latencyShard
		busy  bool
	}{{"measured=none", nil, false}, {"measured=all", l.shard(), false}, {"measured=sixteenth", l.shard(), true}} {
		b.Run(c.name, func(b *testing.B) {
			a := Answers{watch: stopwatch{shard: c.shard}}
			b.ReportAllocs()
			for b.Loop() {
				a.Begin(c.busy)
				a.watch.written(1)
			}
		})
	}
}
