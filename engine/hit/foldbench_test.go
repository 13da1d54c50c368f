package hit

import (
	"math/rand/v2"
	"testing"

	"shunt/engine/index"
	"shunt/engine/journal"
	"shunt/engine/tally"
)

// BenchmarkFold folds 200,000 hits of random links out of 10 million into empty deltas: neither
// their counters nor their entries are in the cache.
func BenchmarkFold(b *testing.B) {
	const links, hits = 10_000_000, 200_000
	x := new(index.Index)
	x.Init()
	for id := uint64(1); id <= links; id++ {
		must(b, x.SetHits(id, 0))
	}
	rng := rand.New(rand.NewPCG(1, 2))
	records := make([]journal.Record, hits)
	p := &pending{index: x}
	p.mu.gathering = &pair{limit: 1 << 22}
	for b.Loop() {
		b.StopTimer()
		for i := range records {
			records[i] = journal.Record{LinkID: 1 + rng.Uint64N(links), Visitor: rng.Uint64(), Owner: 1, Hour: 500_000, Class: tally.ClassHit}
		}
		p.mu.gathering.reset()
		b.StartTimer()
		for at := 0; at < hits; at += foldGroup {
			p.foldGroupLocked(records[at:min(at+foldGroup, hits)])
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/hits, "ns/hit")
}
