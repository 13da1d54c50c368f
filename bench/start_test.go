package bench

import (
	"cmp"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"shunt/engine"
	"shunt/engine/expect"
	"shunt/storage"
)

// BenchmarkStart loads links with their hits from a real store, as a start of the process does: once
// with targets that compress (SHUNT_BENCH_URLS, or generated ones), once with the same ones that are kept plain,
// because the table of symbols is switched off, and once with random bytes of the same lengths, which stay plain.
// It reports the links a second, the processor time of each, and the resident memory per link at its highest
// during the load, after it, and when the cache of blocks is warm, each time after a collection. SHUNT_BENCH_STORE
// names the folder of the stores, which are made if they do not exist and then kept, so that two programs can be
// compared on the same ones.
func BenchmarkStart(b *testing.B) {
	for _, targets := range []kind{urls(), plain(urls()), random(urls())} {
		b.Run("links="+human(links())+"/targets="+targets.label(), func(b *testing.B) {
			dir := filepath.Join(cmp.Or(os.Getenv("SHUNT_BENCH_STORE"), b.TempDir()), targets.name)
			if _, err := os.Stat(dir); os.IsNotExist(err) {
				plantLinks(b, dir, links(), targets)
			}
			for b.Loop() {
				benchmarkStart(b, dir, targets.plain)
			}
		})
	}
}

func benchmarkStart(b *testing.B, dir string, plain bool) {
	b.StopTimer()
	s, err := storage.Open(dir, storage.Options{Logger: slog.New(slog.DiscardHandler)})
	expect.OK(b, err)
	e, err := engine.Open(s, engine.Options{JournalDir: b.TempDir(), Rings: 1, RingRecords: 256, PlainTargets: plain})
	expect.OK(b, err)
	before := settledBytes(b)
	forgetPeak(b)
	b.StartTimer()
	began, cpu := time.Now(), cpuTime()
	expect.OK(b, e.Load(context.Background(), nil))
	took, used := time.Since(began), cpuTime()-cpu
	b.StopTimer()
	peak := statusBytes(b, "VmHWM:")
	runtime.GC()
	runtime.GC()
	after := residentBytes(b)
	warmCache(b, s)
	warm := residentBytes(b)
	n := float64(e.Metrics().Links)
	b.ReportMetric(n/took.Seconds(), "links/s")
	b.ReportMetric(float64(used.Nanoseconds())/n, "cpu-ns/link")
	b.ReportMetric(float64(peak-before)/n, "peak-B/link")
	b.ReportMetric(float64(after-before)/n, "resident-B/link")
	b.ReportMetric(float64(warm-before)/n, "warm-B/link")
	expect.OK(b, e.Close())
	expect.OK(b, s.Close())
	b.StartTimer()
}

// warmCache reads links at random until blocks fill the cache of the default size several times.
func warmCache(b *testing.B, s *storage.Store) {
	b.Helper()
	const blockBytes = 16 << 10
	const reads = 4 * storage.DefaultCacheBytes / blockBytes
	for i := range uint64(reads) {
		expect.OK(b, expect.Err(s.ReadHot(keyOf(string(appendCode(nil, mix(i)%links()))))))
	}
}

// plantLinks makes a store of n links with targets of kind k, each with imported hits. Codes are drawn, so that
// they come in another order than their ids.
func plantLinks(b *testing.B, dir string, n uint64, k kind) {
	b.Helper()
	expect.OK(b, os.MkdirAll(filepath.Dir(dir), 0o700))
	s, err := storage.Open(dir, storage.Options{Create: true, Logger: slog.New(slog.DiscardHandler)})
	expect.OK(b, err)
	ctx, cancel := context.WithCancel(context.Background())
	var run sync.WaitGroup
	run.Go(func() { _ = s.Run(ctx) })
	first, err := s.AllocateIDs(n)
	expect.OK(b, err)
	slots := make(chan struct{}, 4096)
	for i := range n {
		code := string(appendCode(nil, i))
		m := engine.Mutation{
			Hot:  engine.Hot{Key: keyOf(code), ID: first + i, Owner: 1, Target: string(k.append(nil, i))},
			Cold: engine.Cold{Key: keyOf(code), Version: 1, CreatedAtMs: 1000, UpdatedAtMs: 1000, ImportedHits: 1 + i%100},
		}
		slots <- struct{}{}
		s.Apply(m, func(err error) {
			expect.NoError(b, err)
			<-slots
		})
	}
	for range cap(slots) {
		slots <- struct{}{}
	}
	cancel()
	run.Wait()
	expect.OK(b, s.Close())
}

// forgetPeak makes the kernel forget the highest resident memory so far.
func forgetPeak(b *testing.B) {
	b.Helper()
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		b.Skipf("the kernel does not reset the highest resident memory: %v", err)
	}
}

// statusBytes returns a line of /proc/self/status.
func statusBytes(b *testing.B, line string) int64 {
	b.Helper()
	status, err := os.ReadFile("/proc/self/status")
	expect.OK(b, err)
	_, rest, _ := strings.Cut(string(status), line)
	kb, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	expect.OK(b, err)
	return kb << 10
}
