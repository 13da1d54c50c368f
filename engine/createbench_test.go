package engine_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"shunt/engine"
	"shunt/storage"
)

// benchEngine is a running engine over a store on disk.
func benchEngine(b *testing.B) *engine.Engine {
	b.Helper()
	dir := b.TempDir()
	store, err := storage.Open(filepath.Join(dir, "data"), storage.Options{Create: true})
	must(b, err)
	e, err := engine.Open(store, engine.Options{JournalDir: filepath.Join(dir, "journal")})
	must(b, err)
	must(b, e.Load(context.Background(), nil))
	stopStore := start(func(ctx context.Context) { _ = store.Run(ctx) })
	stopEngine := start(func(ctx context.Context) { _ = e.Run(ctx) })
	b.Cleanup(func() {
		stopEngine()
		check(b, e.Close())
		stopStore()
		check(b, store.Close())
	})
	return e
}

// cpuTime is what the process has used.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	must(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// measure reports the CPU time of each of n items of an operation, the store's included.
func measure(b *testing.B, items int, run func()) {
	b.ReportAllocs()
	before := cpuTime(b)
	b.ResetTimer()
	run()
	b.StopTimer()
	b.ReportMetric(float64(cpuTime(b)-before)/float64(b.N*items), "cpu-ns/item")
}

const benchTarget = "https://www.example.com/articles/2026/11/what-a-link-costs?id="

// BenchmarkCreate makes links of drawn codes, by several writers at once.
func BenchmarkCreate(b *testing.B) {
	for _, writers := range []int{1, 64} {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) {
			e := benchEngine(b)
			var next atomic.Int64
			measure(b, 1, func() {
				var all sync.WaitGroup
				for range writers {
					all.Go(func() {
						for next.Add(1) <= int64(b.N) {
							_, _, err := e.Create(context.Background(), engine.Draft{Owner: 1, Target: benchTarget})
							check(b, err)
						}
					})
				}
				all.Wait()
			})
		})
	}
}

// BenchmarkBulk makes 1,000 links at once, with drawn codes or with aliases, as imports do.
func BenchmarkBulk(b *testing.B) {
	for _, codes := range []string{"drawn", "aliases"} {
		b.Run("codes="+codes, func(b *testing.B) {
			e := benchEngine(b)
			items, made := make([]engine.BulkItem, engine.MaxBulk), 0
			measure(b, len(items), func() {
				for range b.N {
					for i := range items {
						items[i].Draft = engine.Draft{Owner: 1, Target: benchTarget}
						if codes == "aliases" {
							made++
							items[i].Draft.Alias = benchAlias(made)
						}
					}
					_, err := e.CreateBulk(context.Background(), items)
					must(b, err)
				}
			})
		})
	}
}

// benchAlias returns an alias of eight characters.
func benchAlias(n int) string {
	s := fmt.Sprint(n * 7919)
	return "A" + strings.Repeat("z", max(0, 7-len(s))) + s
}
