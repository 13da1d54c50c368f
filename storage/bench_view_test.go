package storage

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"shunt/engine"
	"shunt/storage/kv"
	"shunt/storage/row"
)

// fillDays writes rows into the table of link days, as roll-up does, and compacts them.
func fillDays(b *testing.B, s *Store, ids []uint64, days uint32, value func() *engine.Tally) {
	batch := s.db.NewBatch()
	for _, id := range ids {
		for day := range days {
			kv.Merge(batch, row.AppendLinkDayKey(nil, id, day), row.AppendTally(nil, value()))
			if batch.Len() > 16<<20 {
				must(b, s.writer.Sync(batch, "benchmark"))
				batch.Reset()
			}
		}
	}
	must(b, s.writer.Sync(batch, "benchmark"))
	must(b, s.db.Compact(b.Context(), []byte{0}, []byte{0xff}, true))
}

func benchTally(rng *rand.Rand, visitors int) func() *engine.Tally {
	f := benchFlush{rng: rng}
	return func() *engine.Tally {
		f.tally = engine.Tally{}
		f.divide()
		f.tally.Hits = uint64(visitors)
		for i := range f.tally.Dimensions {
			f.tally.Dimensions[i][0].Hits = f.tally.Hits
		}
		for range visitors {
			f.tally.Visitors.Add(rng.Uint64())
		}
		return &f.tally
	}
}

// BenchmarkReadDays reads 400 days of one link in a view of its own: as one span, or as a series of
// 400.
func BenchmarkReadDays(b *testing.B) {
	const days = 400
	for _, visitors := range []int{1, 100, 2000} {
		s := openTemp(b)
		fillDays(b, s, []uint64{1, 2, 3}, days, benchTally(rand.New(rand.NewPCG(1, 1)), visitors))
		whole := []engine.Span{{FromHour: 0, ToHour: engine.Endless}}
		series := make([]engine.Span, days)
		for day := range series {
			series[day] = engine.Span{FromHour: uint32(day) * row.HoursPerDay, ToHour: uint32(day+1) * row.HoursPerDay}
		}
		for _, c := range []struct {
			name   string
			spans  []engine.Span
			wanted engine.Parts
		}{
			{"parts=hits/spans=1", whole, 0}, {"parts=visitors/spans=1", whole, engine.Visitors},
			{"parts=all/spans=1", whole, row.AllParts}, {"parts=all/spans=400", series, row.AllParts},
		} {
			b.Run(fmt.Sprintf("visitors=%d/%s", visitors, c.name), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					readSpansOnce(b, s, []uint64{2}, c.spans, c.wanted)
				}
			})
		}
	}
}

func readSpansOnce(b *testing.B, s *Store, ids []uint64, spans []engine.Span, wanted engine.Parts) {
	v, err := s.View()
	must(b, err)
	hits := uint64(0)
	err = v.ReadSpans(ids, spans, wanted, func(_, _ int, t *engine.Tally) error { hits += t.Hits; return nil })
	if err != nil || hits == 0 || v.Close() != nil {
		b.Fatalf("got %d hits, %v", hits, err)
	}
}

// BenchmarkReadLinks reads the hits of 10,000 links over 30 days, in the order of a list: newest
// first. Each link has rows of all days; with hours, it also has rows in two open hours.
func BenchmarkReadLinks(b *testing.B) {
	const links, days = 10_000, 30
	for _, hours := range []uint32{0, 2, 48} {
		b.Run(fmt.Sprintf("hours=%d", hours), func(b *testing.B) {
			s := openTemp(b)
			ids := make([]uint64, links)
			for i := range ids {
				ids[i] = uint64(links-i) * 37
			}
			fillDays(b, s, ids, days, benchTally(rand.New(rand.NewPCG(1, 1)), 10))
			f := newBenchFlush(200_000)
			for hour := range hours {
				f.draw(links * 37)
				must(b, s.Flush(f.batch(uint64(hour)*60)))
			}
			spans := []engine.Span{{FromHour: 0, ToHour: engine.Endless}}
			if hours == 48 {
				spans[0].FromHour = 1 // hours only
			}
			b.ReportAllocs()
			b.ResetTimer()
			for b.Loop() {
				readSpansOnce(b, s, ids, spans, 0)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/links, "ns/link")
		})
	}
}

// BenchmarkView opens and closes a view.
func BenchmarkView(b *testing.B) {
	s := openTemp(b)
	f := newBenchFlush(1000)
	f.draw(1000)
	must(b, s.Flush(f.batch(1)))
	rollUpAll(b, s, upTo(2000), nil)
	b.ReportAllocs()
	for b.Loop() {
		v, err := s.View()
		if err != nil || v.Close() != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSweep deletes the oldest day of 100,000 links per iteration. Each link has 30 days.
func BenchmarkSweep(b *testing.B) {
	const links, days = 100_000, 30
	s := openTemp(b)
	ids := make([]uint64, links)
	for i := range ids {
		ids[i] = uint64(i + 1)
	}
	fillDays(b, s, ids, days, benchTally(rand.New(rand.NewPCG(1, 1)), 3))
	firstDay := uint32(0)
	b.ResetTimer()
	for range b.N {
		firstDay++
		rollUpAll(b, s, engine.RollUpLimits{FirstDay: firstDay}, nil)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/links, "ns/link")
}
