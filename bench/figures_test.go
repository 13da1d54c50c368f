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

	"golang.org/x/sync/errgroup"

	"shunt/engine"
	"shunt/engine/expect"
	"shunt/storage"
	"shunt/storage/row"
)

// figured is a running engine on a real store, with a clock that the benchmark sets.
type figured struct {
	*engine.Engine
	store *storage.Store
	dir   string       // of the store
	clock atomic.Int64 // Unix ms
	stop  func()
}

// newFigured returns an engine over n generated links, which the store does not know. With n = 0 it
// is empty.
func newFigured(b *testing.B, n uint64) *figured {
	b.Helper()
	f := new(figured)
	f.clock.Store(time.Date(2026, 1, 5, 0, 30, 0, 0, time.UTC).UnixMilli())
	dir := b.TempDir()
	var err error
	f.dir = filepath.Join(dir, "data")
	if f.store, err = storage.Open(f.dir, storage.Options{Create: true, CacheBytes: 1 << 30}); err != nil { // as serve on 16 GiB
		b.Fatal(err)
	}
	var store engine.Store = f.store
	if n > 0 {
		store = preloaded{f.store, n}
	}
	f.Engine, err = engine.Open(store, engine.Options{
		JournalDir: filepath.Join(dir, "journal"), FlushInterval: 20 * time.Millisecond, Now: f.now, ClockSettles: -1,
	})
	expect.OK(b, err)
	expect.OK(b, f.Load(context.Background(), nil))
	f.run(b)
	return f
}

func (f *figured) now() time.Time { return time.UnixMilli(f.clock.Load()) }

func (f *figured) run(b *testing.B) {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { _ = f.Run(ctx) })
	wg.Go(func() { _ = f.store.Run(ctx) })
	f.stop = func() {
		cancel()
		wg.Wait()
		expect.NoError(b, errors.Join(f.Close(), f.store.Close()))
	}
}

// create makes n links of owner 1 with tag "t" and returns their codes.
func (f *figured) create(b *testing.B, n int) (codes []string) {
	b.Helper()
	codes = make([]string, n)
	var g errgroup.Group
	g.SetLimit(128)
	for i := range codes {
		g.Go(func() error {
			d, _, err := f.Create(context.Background(), engine.Draft{
				Owner: 1, Target: string(appendTarget(nil, uint64(i))), Tags: []string{"t"},
			})
			codes[i] = d.Code
			return err
		})
	}
	expect.OK(b, g.Wait())
	return codes
}

// hit makes one redirect at the present time.
func (f *figured) hit(b *testing.B, code []byte, v engine.Visit) {
	l, ok := f.Resolve(viewOf(code))
	expect.MustThat(b, ok && f.Hit(l, v), "a link is missing")
	l.Release()
}

// pass sets the clock forward and waits until every closed hour is rolled up.
func (f *figured) pass(b *testing.B, d time.Duration) {
	b.Helper()
	const quiet, limit = 100 * time.Millisecond, 10 * time.Minute
	for f.Metrics().JournalFillRatio > 0 { // flush first: a record that is not flushed would count in a later hour
		time.Sleep(time.Millisecond)
	}
	before := f.store.Metrics().RolledUpRows
	f.clock.Add(d.Milliseconds())
	last, since := before, time.Now()
	for start := since; last == before || time.Since(since) < quiet; time.Sleep(time.Millisecond) {
		if rows := f.store.Metrics().RolledUpRows; rows != last {
			last, since = rows, time.Now()
		}
		expect.MustThat(b, time.Since(start) <= limit, "the roll-up does not end")
	}
}

// BenchmarkStorage reports the size on disk of one link and day, compacted: its hour rows (kept for
// 48 hours), its day row and its life row. The visitors come over 24 hours, with one hit each.
func BenchmarkStorage(b *testing.B) {
	for _, c := range []struct{ visitors, links uint64 }{{1, 100_000}, {10, 20_000}, {1_000, 500}, {100_000, 10}} {
		b.Run("visitors="+human(c.visitors), func(b *testing.B) {
			for b.Loop() {
				f := newFigured(b, c.links)
				for hour := range uint64(24) {
					f.dayHits(b, c.links, c.visitors, func(i uint64) bool { return mix(i)%24 == hour })
					f.pass(b, time.Hour)
				}
				f.stop()
				f.report(b, float64(c.links), "B/link")
			}
		})
	}
}

// dayHits hits each link once for each visitor of the present hour.
func (f *figured) dayHits(b *testing.B, links, visitors uint64, now func(i uint64) bool) {
	v := newVisits(f.Engine, 5)
	var code []byte
	for i := range links * visitors {
		if now(i) {
			code = appendCode(code[:0], i/visitors)
			visit := v.next(f.clock.Load())
			visit.Visitor = mix(i + 1)
			f.hit(b, code, visit)
		}
	}
}

// report reports what the store, which is closed, has on disk, divided by unit.
func (f *figured) report(b *testing.B, unit float64, name string) {
	b.Helper()
	db := openCompacted(b, filepath.Join(f.dir, "db"))
	b.ReportMetric(float64(sizeOf(b, db, row.TableLinkHours, row.TableOwnerHours))/unit, "hours-"+name)
	b.ReportMetric(float64(sizeOf(b, db, row.TableLinkDays, row.TableOwnerDays))/unit, "day-"+name)
	b.ReportMetric(float64(sizeOf(b, db, row.TableLinkLives))/unit, "lives-"+name)
	expect.OK(b, db.Close())
}

// BenchmarkPending reports the memory that a link takes until the next flush, by the number of its
// visitors since the last one.
func BenchmarkPending(b *testing.B) {
	for _, c := range []struct{ visitors, links uint64 }{{1, 100_000}, {10, 50_000}, {1_000, 500}, {100_000, 10}} {
		b.Run("visitors="+human(c.visitors), func(b *testing.B) {
			for b.Loop() {
				e, err := engine.Open(&discard{n: c.links, targets: generated}, engine.Options{JournalDir: b.TempDir(), RingRecords: 1 << 20})
				expect.OK(b, err)
				expect.OK(b, e.Load(context.Background(), nil))
				f := &figured{Engine: e}
				f.dayHits(b, c.links, c.visitors, func(uint64) bool { return true })
				if _, err := e.Stats(context.Background(), keyOf(string(appendCode(nil, 0)))); err != nil { // folds everything
					b.Fatal(err)
				}
				b.ReportMetric(float64(e.Metrics().PendingBytes)/float64(c.links), "pending-B/link")
				expect.OK(b, e.Close())
			}
		})
	}
}

// BenchmarkDay runs a day of a busy service: SHUNT_BENCH_DAY_HITS hits (by default 10 M) by 5 M
// visitors on 1 M links, by a Zipf distribution. It reports the size on disk at the end.
func BenchmarkDay(b *testing.B) {
	const n = 1_000_000
	hits := number("SHUNT_BENCH_DAY_HITS", 10_000_000)
	b.Run(fmt.Sprintf("links=%s/hits=%s", human(n), human(hits)), func(b *testing.B) {
		for b.Loop() {
			f := newFigured(b, n)
			v, codes := newVisits(f.Engine, 5), newCodes(n, "zipf", 6)
			for range 24 {
				for range hits / 24 {
					f.hit(b, codes.next(), v.next(f.clock.Load()))
				}
				f.pass(b, time.Hour)
			}
			m := f.store.Metrics()
			b.ReportMetric(float64(m.DiskBytes)/(1<<20), "MiB-as-it-is")
			b.ReportMetric(float64(m.RolledUpRows)/24, "rows/hour")
			f.stop()
			f.report(b, 1<<20, "MiB")
		}
	})
}

// BenchmarkReport measures reading figures.
func BenchmarkReport(b *testing.B) {
	const allParts = engine.Visitors | engine.Breakdowns
	for _, visitors := range []int{10, 3000} {
		b.Run(fmt.Sprintf("of=link/buckets=400d/visitors=%d-a-day", visitors), func(b *testing.B) {
			f := newFigured(b, 0)
			defer f.stop()
			codes := f.create(b, 1)
			f.days(b, codes, 400, visitors)
			q := engine.Query{From: f.now().AddDate(0, 0, -399), Interval: engine.Daily, Parts: allParts}
			for b.Loop() {
				r, err := f.LinkReport(context.Background(), keyOf(codes[0]), q)
				if err != nil || len(r.Series) != 400 || r.Hits != uint64(400*visitors) {
					b.Fatalf("%d buckets, %d hits, %v", len(r.Series), r.Hits, err)
				}
			}
		})
	}
	f := newFigured(b, 0)
	defer f.stop()
	const links = 10_000
	f.days(b, f.create(b, links), 30, 3*links)
	q := engine.Query{From: f.now().AddDate(0, 0, -29), Parts: allParts}
	for _, tag := range []string{"", "t"} {
		name := map[string]string{"": "owner", "t": "tag"}[tag]
		b.Run("of="+name+"/links=10k/days=30", func(b *testing.B) {
			for b.Loop() {
				if r, err := f.OwnerReport(context.Background(), []uint32{1}, engine.Subset{Tag: tag}, q); err != nil || r.Hits != 30*3*links {
					b.Fatalf("%d hits, %v", r.Hits, err)
				}
			}
		})
	}
	b.Run("of=top-20/links=10k/days=30", func(b *testing.B) {
		for b.Loop() {
			if top, err := f.TopLinks(context.Background(), []uint32{1}, engine.Subset{}, q, 20); err != nil || len(top.Links) != 20 {
				b.Fatalf("%d links, %v", len(top.Links), err)
			}
		}
	})
}

// days lets a number of days pass, up to today; on each the links get hits, uniformly.
func (f *figured) days(b *testing.B, links []string, days, hits int) {
	v := newVisits(f.Engine, 5)
	for day := range days {
		if day > 0 {
			f.pass(b, 24*time.Hour)
		}
		for range hits {
			f.hit(b, []byte(links[v.rng.IntN(len(links))]), v.next(f.clock.Load()))
		}
	}
}
