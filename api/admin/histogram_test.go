package admin

import (
	"math"
	"math/rand/v2"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"pgregory.net/rapid"

	"shunt/engine/expect"
)

// ofNative adds up the buckets of a native histogram by index, as a reader does.
func ofNative(t *rapid.T, h *dto.Histogram) map[int]int64 {
	got := map[int]int64{}
	index, count, at := 0, int64(0), 0
	for _, span := range h.GetPositiveSpan() {
		index += int(span.GetOffset())
		for range span.GetLength() {
			count += h.GetPositiveDelta()[at]
			got[index] = count
			index, at = index+1, at+1
		}
	}
	if at != len(h.GetPositiveDelta()) {
		t.Errorf("the spans have %d buckets, and there are %d", at, len(h.GetPositiveDelta()))
	}
	return got
}

func TestBothFormsOfAHistogramHaveTheSameValues(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		e := Exponential{Zero: rapid.Uint64Range(0, 9).Draw(rt, "zero"), First: -159, Counts: make([]uint64, 193), Sum: 1.5}
		all := e.Zero
		for range rapid.IntRange(0, 40).Draw(rt, "buckets") {
			n := rapid.Uint64Range(0, 1<<40).Draw(rt, "count")
			e.Counts[rapid.IntRange(0, 192).Draw(rt, "bucket")] += n
			all += n
		}
		var out dto.Metric
		expect.OK(rt, (exponentialMetric{now: e}).Write(&out))
		h := out.GetHistogram()
		native := ofNative(rt, h)
		for at, want := range e.Counts {
			expect.Equal(rt, native[e.First+at], int64(want), "native bucket %d, want %d", e.First+at, want)
		}
		for _, b := range h.GetBucket() {
			want := e.Zero
			for at, count := range e.Counts {
				if math.Exp2(float64(e.First+at)/8) <= b.GetUpperBound() {
					want += count
				}
			}
			if got := b.GetCumulativeCount(); got != want {
				rt.Errorf("up to %v: got %d, want %d", b.GetUpperBound(), got, want)
			}
		}
		if h.GetSampleCount() != all || h.GetSampleSum() != 1.5 || h.GetZeroCount() != e.Zero || h.GetZeroThreshold() != math.Exp2(-20) {
			rt.Errorf("got %d values, sum %v, zero %d up to %v", h.GetSampleCount(), h.GetSampleSum(), h.GetZeroCount(), h.GetZeroThreshold())
		}
		if len(h.GetBucket()) != 24 || len(h.GetPositiveSpan()) == 0 {
			rt.Errorf("got %d classic buckets and %d spans", len(h.GetBucket()), len(h.GetPositiveSpan()))
		}
	})
}

func BenchmarkWriteOfAHistogram(b *testing.B) {
	e := Exponential{First: -159, Counts: make([]uint64, 193)}
	for i := range e.Counts[:80] {
		e.Counts[i] = rand.Uint64N(1000)
	}
	for b.Loop() {
		if err := (exponentialMetric{now: e}).Write(new(dto.Metric)); err != nil {
			b.Fatal(err)
		}
	}
}
