package admin

import (
	"math"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// Exponential is a snapshot of a histogram whose buckets grow by 2^(1/8), which is schema 3 of
// Prometheus' native histograms (https://prometheus.io/docs/specs/native_histograms/). The bucket
// with the index i has the values in (2^((i-1)/8), 2^(i/8)]. It is not changed after it was handed
// over.
type Exponential struct {
	Zero   uint64   // values up to the lower bound of the first bucket
	First  int      // index of the first bucket, of the form 8k+1
	Counts []uint64 // of each bucket alone
	Sum    float64  // of all values
}

const (
	exponentialSchema = 3
	bucketsPerOctave  = 1 << exponentialSchema
)

// exponentialMetric is both forms of one snapshot: classic buckets, whose bounds are powers of two,
// for scrapes in text, and the native histogram for those that ask for protobuf.
type exponentialMetric struct {
	desc *prometheus.Desc
	now  Exponential
}

func (o sender) exponential(e Exponential) { o.ch <- exponentialMetric{o.desc, e} }

// Desc implements prometheus.Metric.
func (m exponentialMetric) Desc() *prometheus.Desc { return m.desc }

// Write implements prometheus.Metric.
func (m exponentialMetric) Write(out *dto.Metric) error {
	h := &dto.Histogram{
		Schema: new(int32(exponentialSchema)), ZeroCount: new(m.now.Zero),
		ZeroThreshold: new(boundOf(m.now.First - 1)), SampleSum: new(m.now.Sum),
	}
	h.Bucket, h.SampleCount = m.now.classic()
	h.PositiveSpan, h.PositiveDelta = m.now.native()
	out.Histogram = h
	return nil
}

// boundOf returns the upper bound of the bucket with index i.
func boundOf(i int) float64 { return math.Exp2(float64(i) / bucketsPerOctave) }

// classic returns cumulative buckets, each an octave wide, and the number of all values.
func (e *Exponential) classic() (buckets []*dto.Bucket, all *uint64) {
	n := e.Zero
	for at, count := range e.Counts {
		n += count
		if index := e.First + at; index%bucketsPerOctave == 0 {
			buckets = append(buckets, &dto.Bucket{UpperBound: new(boundOf(index)), CumulativeCount: new(n)})
		}
	}
	return buckets, &n
}

// native returns the buckets that are not empty: as spans of consecutive ones, and the difference of
// each count to the one before. Gaps of up to two empty buckets are part of a span, which is shorter.
func (e *Exponential) native() (spans []*dto.BucketSpan, deltas []int64) {
	const shortGap = 2
	next, last := 0, int64(0) // the index after the last bucket, and its count
	for at, count := range e.Counts {
		index := e.First + at
		if count == 0 {
			continue
		}
		switch gap := index - next; {
		case len(spans) == 0 || gap > shortGap:
			spans = append(spans, &dto.BucketSpan{Offset: new(int32(gap)), Length: new(uint32(0))})
		default:
			for range gap {
				deltas, last = append(deltas, -last), 0
				*spans[len(spans)-1].Length++
			}
		}
		*spans[len(spans)-1].Length++
		deltas = append(deltas, int64(count)-last)
		next, last = index+1, int64(count)
	}
	if len(spans) == 0 { // a span of nothing says that this is a native histogram
		spans = []*dto.BucketSpan{{Offset: new(int32(0)), Length: new(uint32(0))}}
	}
	return spans, deltas
}
