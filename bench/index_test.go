package bench

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"shunt/engine"
	"shunt/engine/expect"
)

// loaded returns an engine over links with real targets, if there are, and a store that keeps nothing. It is not
// running, so a caller that hits links must drain it. The benchmarks of one run share it.
var loaded = sync.OnceValue(func() *engine.Engine {
	dir, err := os.MkdirTemp("", "shunt-bench-")
	if err != nil {
		panic(err)
	}
	e, err := engine.Open(&discard{n: links(), targets: urls()}, engine.Options{JournalDir: dir})
	if err != nil {
		panic(err)
	}
	if err := e.Load(context.Background(), nil); err != nil {
		panic(err)
	}
	return e
})

// drainEvery is a quarter of the capacity of the rings that a start fills, which is a quarter of the rings' capacity,
// because some rings get more records than others.
const drainEvery = engine.DefaultRings * engine.DefaultRingRecords / 16

// drain folds and flushes all hits.
func drain(b *testing.B, e *engine.Engine) {
	b.Helper()
	if _, err := e.Stats(context.Background(), keyOf(string(appendCode(nil, 0)))); err != nil { // folds everything
		b.Fatal(err)
	}
	expect.OK(b, e.Flush())
}

func TestMain(m *testing.M) {
	code := m.Run()
	dirs, _ := os.ReadDir(os.TempDir())
	for _, d := range dirs {
		if strings.HasPrefix(d.Name(), "shunt-bench-") {
			_ = os.RemoveAll(os.TempDir() + "/" + d.Name())
		}
	}
	os.Exit(code)
}

// stream is a precomputed run of codes, so that drawing them is not measured.
func stream(dist string) [][]byte {
	const n = 1 << 20
	c := newCodes(links(), dist, 42)
	s := make([][]byte, n)
	all := make([]byte, 0, 8*n)
	for i := range s {
		all = append(all, c.next()...)
		s[i] = all[8*i : 8*i+8]
	}
	return s
}

// BenchmarkResolve is the look-up alone.
func BenchmarkResolve(b *testing.B) {
	for _, dist := range []string{"uniform", "zipf"} {
		b.Run("links="+human(links())+"/dist="+dist, func(b *testing.B) {
			e, codes := loaded(), stream(dist)
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				l, ok := e.Resolve(viewOf(codes[n&(len(codes)-1)]))
				if !ok || l.ID() == 0 {
					b.Fatal("a link is missing")
				}
				l.Release()
				n++
			}
		})
	}
}

// BenchmarkResolveHit measures a redirect's cost in the engine. With fold=off the records wait in
// the rings and are folded while the clock is stopped: that is the redirect's own cost. With
// fold=on the fold runs at the same time, at the same millions of records a second, and shares
// processors, caches and memory.
func BenchmarkResolveHit(b *testing.B) {
	for _, dist := range []string{"uniform", "zipf"} {
		for _, fold := range []string{"off", "on"} {
			b.Run("links="+human(links())+"/dist="+dist+"/fold="+fold, func(b *testing.B) {
				benchmarkResolveHit(b, stream(dist), fold == "on")
			})
		}
	}
}

func benchmarkResolveHit(b *testing.B, codes [][]byte, fold bool) {
	e := loaded()
	var wg sync.WaitGroup
	ctx, stop := context.WithCancel(context.Background())
	if fold {
		wg.Go(func() { _ = e.Run(ctx) })
	}
	nowMs := time.Now().UnixMilli()
	b.ReportAllocs()
	b.ResetTimer()
	for n := range b.N {
		if !fold && n%drainEvery == drainEvery-1 {
			b.StopTimer()
			drain(b, e)
			b.StartTimer()
		}
		l, ok := e.Resolve(viewOf(codes[n&(len(codes)-1)]))
		expect.MustThat(b, ok && e.Hit(l, engine.Visit{Visitor: mix(uint64(n)), NowMs: nowMs}), "a link is missing")
		l.Release()
	}
	b.StopTimer()
	stop()
	wg.Wait()
	drain(b, e)
	b.ReportMetric(float64(e.Metrics().JournalWaits), "journal-waits")
}

// BenchmarkMemory reports the resident memory that loading the links adds to the process, with the
// counter of each, the greatest while it loads, and the processor time of one full garbage collection.
// Plain targets are the same ones, not coded, and random bytes show the worst case.
func BenchmarkMemory(b *testing.B) {
	for _, targets := range []kind{urls(), plain(urls()), random(urls())} {
		b.Run("links="+human(links())+"/targets="+targets.label(), func(b *testing.B) { benchmarkMemory(b, targets) })
	}
}

func benchmarkMemory(b *testing.B, targets kind) {
	n := float64(links())
	e, err := engine.Open(&discard{n: links(), targets: targets, hits: 1},
		engine.Options{JournalDir: b.TempDir(), Rings: 1, RingRecords: 256, PlainTargets: targets.plain})
	expect.OK(b, err)
	before := settledBytes(b)
	peak := watchPeak(b)
	start, startCPU := time.Now(), cpuTime()
	expect.OK(b, e.Load(context.Background(), nil))
	loadSeconds, loadCPU := time.Since(start).Seconds(), cpuTime()-startCPU
	peakBytes := peak()
	runtime.GC()
	runtime.GC()
	after := settledBytes(b)
	const cycles = 20
	cpu := cpuTime()
	for range cycles {
		runtime.GC()
	}
	gcTime := (cpuTime() - cpu) / cycles
	for b.Loop() { // resets the figures, so they come after it
	}
	b.ReportMetric(n/loadSeconds, "links-loaded/s")
	b.ReportMetric(float64(loadCPU.Nanoseconds())/n, "load-cpu-ns/link")
	b.ReportMetric(targets.meanBytes(links()), "target-B/link")
	b.ReportMetric(float64(after-before)/n, "resident-B/link")
	b.ReportMetric(float64(peakBytes-before)/n, "peak-B/link")
	b.ReportMetric(float64(e.Metrics().IndexBytes)/n, "index-B/link")
	b.ReportMetric(float64(gcTime.Microseconds())/1000, "GC-cpu-ms")
	expect.OK(b, e.Close())
}

// watchPeak reads the resident memory a hundred times a second until the function that it returns is
// called, which returns the greatest.
func watchPeak(b *testing.B) func() int64 {
	b.Helper()
	done, greatest := make(chan struct{}), make(chan int64)
	go func() {
		ticks := time.NewTicker(10 * time.Millisecond)
		defer ticks.Stop()
		peak := int64(0)
		for {
			select {
			case <-ticks.C:
				peak = max(peak, residentNow(b))
			case <-done:
				greatest <- max(peak, residentNow(b))
				return
			}
		}
	}()
	return func() int64 { close(done); return <-greatest }
}

// settledBytes returns residentBytes after the memory of earlier runs is unmapped, which happens
// some time after its collection.
func settledBytes(b *testing.B) int64 {
	b.Helper()
	for last := residentBytes(b); ; {
		time.Sleep(100 * time.Millisecond)
		now := residentBytes(b)
		if now >= last {
			return now
		}
		last = now
	}
}

// residentBytes returns the resident memory of the process after free memory was given back to the
// kernel.
func residentBytes(b *testing.B) int64 {
	b.Helper()
	debug.FreeOSMemory()
	return residentNow(b)
}

func residentNow(b *testing.B) int64 {
	b.Helper()
	status, err := os.ReadFile("/proc/self/status")
	expect.OK(b, err)
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			expect.OK(b, err)
			return kb << 10
		}
	}
	b.Fatal("no VmRSS in /proc/self/status")
	return 0
}

// cpuTime returns the processor time that the process has used.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// viewOf returns a view of the same.
func viewOf(code []byte) engine.KeyView {
	return engine.KeyView{Domain: engine.DefaultDomain, Code: code}
}
