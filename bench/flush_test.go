package bench

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"shunt/engine"
	"shunt/engine/expect"
	"shunt/storage"
)

// hitsASecond is the steady load of BenchmarkFoldFlush.
const hitsASecond = 200_000

// preloaded is a real store that hands out generated links at start instead of its own.
type preloaded struct {
	*storage.Store
	n uint64
}

func (p preloaded) LoadLinks(_ context.Context, fn func([]engine.HotView) error) error {
	return generate(p.n, generated, fn)
}

func (p preloaded) View() (engine.View, error) {
	v, err := p.Store.View()
	return withoutHits{v}, err
}

// withoutHits is a view that has no hits of links at start.
type withoutHits struct{ engine.View }

func (withoutHits) LoadHits(context.Context, func(id, hits uint64)) error { return nil }

// BenchmarkFoldFlush puts a steady load of 200,000 hits/s, spread evenly over all links, on an
// engine for SHUNT_BENCH_SECONDS (by default 60). It reports the time of a hit (Resolve and Hit
// together, waiting for the processor included) and the processor time of the process. fold=off is
// the same load without fold and flush: the difference of the cpu figures is their share. The store
// is sampled every second, and the means of each twentieth of the time are printed: see samples.
func BenchmarkFoldFlush(b *testing.B) {
	b.Run("links="+human(links())+"/fold=off", func(b *testing.B) {
		seconds := min(int(number("SHUNT_BENCH_SECONDS", 60)), 30) // the rings hold that much
		e, err := engine.Open(&discard{n: links(), targets: generated}, engine.Options{JournalDir: b.TempDir(), RingRecords: 1 << 20})
		expect.OK(b, err)
		expect.OK(b, e.Load(context.Background(), nil))
		for b.Loop() {
			runLoad(b, e, seconds, nil)
		}
	})
	b.Run("links="+human(links())+"/fold=on", func(b *testing.B) {
		dir := b.TempDir()
		store, err := storage.Open(filepath.Join(dir, "data"), storage.Options{Create: true})
		expect.OK(b, err)
		e, err := engine.Open(preloaded{store, links()}, engine.Options{JournalDir: filepath.Join(dir, "journal")})
		expect.OK(b, err)
		expect.OK(b, e.Load(context.Background(), nil))
		ctx, stop := context.WithCancel(context.Background())
		var wg sync.WaitGroup
		wg.Go(func() { _ = e.Run(ctx) })
		for b.Loop() {
			runLoad(b, e, int(number("SHUNT_BENCH_SECONDS", 60)), store)
		}
		m := e.Metrics()
		b.ReportMetric(m.FlushSeconds/float64(max(1, m.Flushes)), "s/flush")
		b.ReportMetric(float64(m.JournalWaits), "journal-waits")
		stop()
		wg.Wait()
		expect.OK(b, e.Close())
		expect.OK(b, store.Close())
	})
}

// runLoad hits links for a number of seconds: every millisecond as many as are due. It reports the
// figures at the end.
func runLoad(b *testing.B, e *engine.Engine, seconds int, store *storage.Store) {
	var latencies histogram
	var series samples
	draw, visits := newCodes(links(), "uniform", 7), newVisits(e, 8)
	cpu, start := cpuTime(), time.Now()
	done := 0
	for second := range seconds {
		for end := start.Add(time.Duration(second+1) * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
			due := int(time.Since(start).Seconds() * hitsASecond)
			nowMs := time.Now().UnixMilli()
			for ; done < due; done++ {
				code, visit := draw.next(), visits.next(nowMs)
				before := time.Now()
				l, ok := e.Resolve(viewOf(code))
				expect.MustThat(b, ok && e.Hit(l, visit), "a link is missing")
				latencies.add(time.Since(before))
			}
		}
		if store != nil {
			series.add(store.Metrics())
		}
	}
	elapsed := time.Since(start).Seconds()
	b.ReportMetric(float64(done)/elapsed, "hits/s")
	b.ReportMetric((cpuTime()-cpu).Seconds()/elapsed, "cpu-s/s")
	b.ReportMetric(latencies.quantile(0.5), "p50-ns")
	b.ReportMetric(latencies.quantile(0.99), "p99-ns")
	b.ReportMetric(latencies.quantile(0.999), "p99.9-ns")
	if store != nil {
		series.report(b)
		b.ReportMetric(settle(store).Seconds(), "s-to-settle")
	}
}

// samples are the store's figures, one a second. The compaction debt of an LSM tree grows with the
// tree. A backlog shows in a debt that grows faster than the disk use, in more sublevels of L0, and
// in a long time to settle.
type samples []storage.Metrics

func (s *samples) add(m storage.Metrics) { *s = append(*s, m) }

// report prints the series and reports the means of each third.
func (s samples) report(b *testing.B) {
	debt := func(m storage.Metrics) float64 { return float64(m.CompactionDebtBytes) }
	disk := func(m storage.Metrics) float64 { return float64(m.DiskBytes) }
	sublevels := func(m storage.Metrics) float64 { return float64(m.L0Sublevels) }
	const mib = 1 << 20
	fmt.Println("# second  disk MiB  debt MiB  debt/disk  L0 sublevels  compacted MiB/s  rows rolled up") // b.Log would cut it
	for at, step := 0, max(1, len(s)/20); at+step <= len(s); at += step {
		part := s[at : at+step]
		last := part[step-1]
		compacted := float64(last.CompactedBytes-part[0].CompactedBytes) / float64(max(1, step-1))
		fmt.Printf("# %6d %9.0f %9.0f %10.2f %13.1f %16.0f %15d\n", at+step, part.mean(disk)/mib, part.mean(debt)/mib,
			part.mean(debt)/part.mean(disk), part.mean(sublevels), compacted/mib, last.RolledUpRows)
	}
	if n := len(s) / 3; n > 0 {
		for i, third := range []string{"1st", "2nd", "3rd"} {
			part := s[i*n:][:n]
			b.ReportMetric(part.mean(debt)/part.mean(disk), "debt/disk-"+third+"-third")
			b.ReportMetric(part.mean(sublevels), "L0-sublevels-"+third+"-third")
		}
	}
}

func (s samples) mean(of func(storage.Metrics) float64) (mean float64) {
	for _, m := range s {
		mean += of(m) / float64(len(s))
	}
	return mean
}

// settle waits after the load until no compaction runs, and returns how long that took: the time to
// work off a backlog.
func settle(store *storage.Store) time.Duration {
	const quiet, limit = 2 * time.Second, 10 * time.Minute
	start := time.Now()
	busy := start
	for time.Since(busy) < quiet && time.Since(start) < limit {
		if store.Metrics().RunningCompactions > 0 {
			busy = time.Now()
		}
		time.Sleep(10 * time.Millisecond)
	}
	return busy.Sub(start)
}

// histogram counts durations in buckets of 1/16 of a power of two of nanoseconds.
type histogram struct {
	buckets [64 * 16]uint64
	n       uint64
}

func (h *histogram) add(d time.Duration) {
	ns := uint64(max(d, 16))
	exp := bits.Len64(ns) - 5
	h.buckets[(exp+1)*16+int(ns>>exp&15)]++
	h.n++
}

// quantile returns the upper bound of the bucket that quantile q falls in, in nanoseconds.
func (h *histogram) quantile(q float64) float64 {
	left := uint64(math.Ceil(q * float64(h.n)))
	for i, n := range h.buckets {
		if left <= n {
			return float64(uint64(16+i%16+1) << (i/16 - 1))
		}
		left -= n
	}
	return math.Inf(1)
}
