package bench

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"shunt/engine"
	"shunt/engine/expect"
	"shunt/storage"
)

// published measures how long the callbacks of Apply take: they publish links on the goroutine that
// commits, so the next commit waits for them.
type published struct {
	*storage.Store
	took atomic.Int64 // ns
}

func (p *published) Apply(m engine.Mutation, done func(error)) {
	p.Store.Apply(m, func(err error) {
		began := time.Now()
		done(err)
		p.took.Add(int64(time.Since(began)))
	})
}

// BenchmarkCreate makes links through the engine on a real store. Each writer makes one after the
// other. published-% is the share of the time in which the committer publishes links and cannot
// commit. With audit, each create has an entry in the audit log, as one by token over HTTP.
func BenchmarkCreate(b *testing.B) {
	for _, writers := range []int{1, 16, 64, 256} {
		for _, audit := range []bool{false, true} {
			b.Run(fmt.Sprintf("writers=%d/audit=%v", writers, audit), func(b *testing.B) { benchmarkCreate(b, writers, audit) })
		}
	}
}

func benchmarkCreate(b *testing.B, writers int, audit bool) {
	b.ReportAllocs()
	e, store := openPublished(b)
	before, cpu, began := store.Metrics(), cpuTime(), store.took.Load()
	var took histogram
	var mu sync.Mutex
	var next atomic.Int64
	var all sync.WaitGroup
	b.ResetTimer()
	for range writers {
		all.Go(func() {
			var ours histogram
			for n := next.Add(1); n <= int64(b.N); n = next.Add(1) {
				asked := time.Now()
				d := engine.Draft{Owner: 1, Target: string(appendTarget(nil, uint64(n)))}
				if audit {
					d.By = &engine.By{
						AtMs: asked.UnixMilli(), User: 1, Name: "ann@example.com", TokenID: "whac35zpbjd26d65", RequestID: "c2vAbsZl3m0mYq8t",
					}
				}
				_, _, err := e.Create(context.Background(), d)
				if err != nil {
					b.Error(err)
					return
				}
				ours.add(time.Since(asked))
			}
			mu.Lock()
			defer mu.Unlock()
			took.join(&ours)
		})
	}
	all.Wait()
	b.StopTimer()
	after, n, elapsed := store.Metrics(), float64(b.N), b.Elapsed()
	b.ReportMetric(float64((cpuTime()-cpu).Microseconds())/n, "cpu-µs/op")
	b.ReportMetric(took.quantile(0.5)/1e3, "p50-µs")
	b.ReportMetric(took.quantile(0.99)/1e3, "p99-µs")
	b.ReportMetric(float64(after.Mutations-before.Mutations)/float64(after.CommitBatches-before.CommitBatches), "links/fsync")
	b.ReportMetric(100*float64(store.took.Load()-began)/float64(elapsed), "published-%")
}

// join adds all durations of another histogram.
func (h *histogram) join(more *histogram) {
	for i, n := range more.buckets {
		h.buckets[i] += n
	}
	h.n += more.n
}

// openPublished returns a running engine on a store of its own, until the benchmark ends.
func openPublished(b *testing.B) (*engine.Engine, *published) {
	dir := b.TempDir()
	inner, err := storage.Open(filepath.Join(dir, "data"), storage.Options{Create: true})
	expect.OK(b, err)
	store := &published{Store: inner}
	e, err := engine.Open(store, engine.Options{JournalDir: filepath.Join(dir, "journal"), ClockSettles: -1})
	expect.OK(b, err)
	expect.OK(b, e.Load(context.Background(), nil))
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() { _ = e.Run(ctx) })
	all.Go(func() { _ = inner.Run(ctx) })
	b.Cleanup(func() {
		cancel()
		all.Wait()
		expect.NoError(b, errors.Join(e.Close(), inner.Close()))
	})
	return e, store
}
