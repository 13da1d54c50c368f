package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"shunt/engine"
	"shunt/engine/expect"
	"shunt/storage"
)

const (
	heavyVisitors = 38               // of each planted row: 10 M links under 200,000 hits/s for 33 minutes
	heavyPeriods  = 10               // lines that are printed
	heavyGrace    = 61 * time.Second // after its end, an hour is rolled up: engine's rollUpGrace and a second
	commitPause   = 20 * time.Millisecond
)

// BenchmarkHeavyHour measures the end of a heavy hour: the hour has SHUNT_BENCH_HOUR_ROWS rows (by
// default one for each link) of 38 visitors each, and ends in the middle of SHUNT_BENCH_SECONDS (by
// default 60) of SHUNT_BENCH_HITS a second (by default 200,000), spread evenly over all links. The
// rows are planted, and the clock jumps over the minute that an hour stays open, so that nobody
// waits for an hour.
//
// For each tenth of the time it prints the CPU time by part (seconds a second: see cpuParts), the
// state of the store, and the longest hit and commit of a link. It reports, for both halves, the
// CPU seconds of fold, flush, compaction and everything that they cause for 200,000 hits (roll-up
// apart), and the worst values of the second half. Nothing may wait: journal-waits must be 0, and
// L0 must stay below 20 sublevels, half of the number at which commits stall.
func BenchmarkHeavyHour(b *testing.B) {
	rows := number("SHUNT_BENCH_HOUR_ROWS", links())
	b.Run(fmt.Sprintf("links=%s/rows=%s", human(links()), human(rows)), func(b *testing.B) {
		h := openHeavyHour(b, min(rows, links()))
		for b.Loop() {
			h.run(b)
		}
		h.close(b)
	})
}

// heavyHour is an engine and a store, a clock that begins some seconds before the end of a planted
// hour, and a load.
type heavyHour struct {
	store   *storage.Store
	engine  *engine.Engine
	start   time.Time // of the load
	half    time.Duration
	stop    func()
	end     atomic.Int64 // Unix ns at which the planted hour ends
	period  time.Duration
	draw    *codes
	visits  *visits
	rate    float64       // hits a second
	done    int           // hits
	longest atomic.Int64  // ns: commit of a link
	created atomic.Uint64 // links, for their ids
	parts   [heavyPeriods]heavyPart
}

// heavyPart is what was measured in one tenth of the time.
type heavyPart struct {
	cpu     map[string]time.Duration
	took    time.Duration // longer than a tenth if the machine is too slow for the load
	hits    int
	hit     time.Duration // the longest
	commit  time.Duration // the longest
	l0      uint64        // sublevels, at most
	l0Files uint64        // at most
	debt    uint64        // bytes, at most
	last    storage.Metrics
	bytes   uint64 // written by compactions
}

// now is the engine's clock. Once the planted hour has ended, it is ahead by the minute for which
// an hour stays open.
func (h *heavyHour) now() time.Time {
	if h.start.IsZero() {
		return time.Unix(0, h.end.Load()).Add(-h.half)
	}
	since := time.Since(h.start)
	if since >= h.half {
		since += heavyGrace
	}
	return time.Unix(0, h.end.Load()).Add(since - h.half)
}

func openHeavyHour(b *testing.B, rows uint64) *heavyHour {
	seconds := time.Duration(number("SHUNT_BENCH_SECONDS", 60)) * time.Second
	h := &heavyHour{half: seconds / 2, period: seconds / heavyPeriods, rate: float64(number("SHUNT_BENCH_HITS", hitsASecond))}
	hour := time.Now().Truncate(time.Hour)
	h.end.Store(hour.Add(time.Hour).UnixNano())
	dir := b.TempDir()
	var err error
	if h.store, err = storage.Open(filepath.Join(dir, "data"), storage.Options{Create: true}); err != nil {
		b.Fatal(err)
	}
	expect.OK(b, plant(h.store, uint32(hour.Unix()/3600), rows))
	fmt.Printf("# planted %d rows: %d MiB, settled after %.0f s\n", rows, h.store.Metrics().DiskBytes>>20, settle(h.store).Seconds())
	h.engine, err = engine.Open(preloaded{h.store, links()}, engine.Options{
		JournalDir: filepath.Join(dir, "journal"), Now: h.now, ClockSettles: -1, CloseTimeout: time.Hour,
	})
	expect.OK(b, err)
	expect.OK(b, h.engine.Load(context.Background(), nil))
	h.draw, h.visits = newCodes(links(), "uniform", 7), newVisits(h.engine, 8)
	return h
}

// begin starts the clock and everything that runs beside the load.
func (h *heavyHour) begin() {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	h.start = time.Now()
	wg.Go(func() { _ = h.store.Run(ctx) })
	wg.Go(func() { _ = h.engine.Run(ctx) })
	wg.Go(func() { h.commits(ctx) })
	h.stop = func() { cancel(); wg.Wait() }
}

func (h *heavyHour) close(b *testing.B) {
	h.stop()
	expect.OK(b, h.engine.Close())
	expect.OK(b, h.store.Close())
}

// run runs the load once; a benchmark of it has one iteration.
func (h *heavyHour) run(b *testing.B) {
	h.begin()
	fmt.Println("#  until   rows rolled  hits  fold rollup flush memtb compa   log    gc other | L0 sub files  debt MiB  disk MiB  compacted MiB/s | longest hit, commit ms")
	for i := range h.parts {
		profile, err := startPartProfile()
		expect.OK(b, err)
		before, done, began := h.store.Metrics().CompactedBytes, h.done, time.Now()
		p := &h.parts[i]
		h.load(b, p, h.start.Add(time.Duration(i+1)*h.period))
		p.commit = time.Duration(h.longest.Swap(0))
		p.bytes, p.hits = p.last.CompactedBytes-before, h.done-done
		if p.cpu, err = profile.stop(); err != nil {
			b.Fatal(err)
		}
		p.took = time.Since(began)
		p.print(time.Since(h.start))
	}
	h.report(b)
}

// load does hits until end, at least once, and samples the store ten times a second.
func (h *heavyHour) load(b *testing.B, p *heavyPart, end time.Time) {
	var sampled time.Time
	for begun := false; !begun || time.Now().Before(end); time.Sleep(time.Millisecond) {
		begun = true
		p.hit = max(p.hit, h.hits(b))
		if time.Since(sampled) > 100*time.Millisecond {
			sampled = time.Now()
			p.sample(h.store.Metrics())
		}
	}
}

// hits does the hits that are due, and returns how long the longest took.
func (h *heavyHour) hits(b *testing.B) (longest time.Duration) {
	due := int(time.Since(h.start).Seconds() * h.rate)
	nowMs := h.now().UnixMilli()
	for ; h.done < due; h.done++ {
		code, visit := h.draw.next(), h.visits.next(nowMs)
		before := time.Now()
		l, ok := h.engine.Resolve(viewOf(code))
		expect.MustThat(b, ok && h.engine.Hit(l, visit), "a link is missing")
		longest = max(longest, time.Since(before))
	}
	return longest
}

// commits makes a link every 20 ms and notes how long the longest commit took.
func (h *heavyHour) commits(ctx context.Context) {
	for ; ctx.Err() == nil; time.Sleep(commitPause) {
		id := links() + 1<<20 + h.created.Add(1)
		code := fmt.Sprintf("commit-%d", id)
		m := engine.Mutation{
			Hot:  engine.Hot{Key: keyOf(code), ID: id, Owner: 2, Target: "https://www.example.com/"},
			Cold: engine.Cold{Key: keyOf(code), Version: 1},
		}
		done := make(chan error, 1)
		start := time.Now()
		h.store.Apply(m, func(err error) { done <- err })
		if <-done != nil {
			return
		}
		h.longest.Store(max(h.longest.Load(), int64(time.Since(start))))
	}
}

func (p *heavyPart) sample(m storage.Metrics) {
	p.last = m
	p.l0, p.l0Files = max(p.l0, m.L0Sublevels), max(p.l0Files, m.L0Files)
	p.debt = max(p.debt, m.CompactionDebtBytes)
}

func (p *heavyPart) print(until time.Duration) {
	seconds := p.took.Seconds()
	fmt.Printf("# %4.0f s %12d", until.Seconds(), p.last.RolledUpRows)
	for _, part := range cpuParts {
		fmt.Printf(" %5.3f", p.cpu[part.name].Seconds()/seconds)
	}
	fmt.Printf(" %5.3f | %6d %5d %9d %9d %16.0f | %.1f, %.1f\n", p.cpu[otherPart].Seconds()/seconds, p.l0, p.l0Files,
		p.debt>>20, p.last.DiskBytes>>20, float64(p.bytes>>20)/seconds, ms(p.hit), ms(p.commit))
}

func ms(d time.Duration) float64 { return d.Seconds() * 1000 }

// report reports the means of both halves, and the worst values of the second one.
func (h *heavyHour) report(b *testing.B) {
	for half, name := range []string{"before", "during"} {
		var cpu time.Duration
		hits := 0
		for _, p := range h.parts[half*heavyPeriods/2:][:heavyPeriods/2] {
			hits += p.hits
			for part, took := range p.cpu {
				if part != "hits" && part != "rollup" {
					cpu += took
				}
			}
		}
		b.ReportMetric(cpu.Seconds()*hitsASecond/float64(max(1, hits)), "cpu-s/200k-hits-"+name)
	}
	second := h.parts[heavyPeriods/2:]
	worst := func(of func(*heavyPart) float64) (most float64) {
		for i := range second {
			most = max(most, of(&second[i]))
		}
		return most
	}
	b.ReportMetric(worst(func(p *heavyPart) float64 { return float64(p.l0) }), "L0-sublevels")
	b.ReportMetric(worst(func(p *heavyPart) float64 { return float64(p.debt >> 20) }), "debt-MiB")
	b.ReportMetric(worst(func(p *heavyPart) float64 { return ms(p.hit) }), "longest-hit-ms")
	b.ReportMetric(worst(func(p *heavyPart) float64 { return ms(p.commit) }), "longest-commit-ms")
	b.ReportMetric(float64(h.engine.Metrics().JournalWaits), "journal-waits")
	seconds := time.Since(h.start).Seconds()
	b.ReportMetric(float64(second[len(second)-1].last.RolledUpRows)/(seconds-h.half.Seconds()), "rolled-rows/s")
	b.ReportMetric(float64(h.done)/seconds, "hits/s")
}

// plant writes the rows of an hour: links 1 to rows, 38 hits of 38 visitors each.
func plant(store *storage.Store, hour uint32, rows uint64) error {
	const rowsAFlush = 50_000
	p := newPlanter()
	positions, err := store.Positions()
	if err != nil {
		return err
	}
	for first := uint64(0); first < rows; first += rowsAFlush {
		positions.FlushSeq++
		err := store.Flush(engine.FlushBatch{
			Positions: positions,
			Links: func(yield func(hour uint32, id uint64, t *engine.Tally) error) error {
				for i := first; i < min(first+rowsAFlush, rows); i++ {
					if err := yield(hour, idOf(i), p.next()); err != nil {
						return err
					}
				}
				return nil
			},
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// planter draws rows like those of visits: breakdowns out of 1,024 that are drawn once, visitors
// for each row.
type planter struct {
	rng        *rand.Rand
	dimensions [1024]engine.Dimensions
	visitors   [heavyVisitors]uint64
	tally      engine.Tally
}

func newPlanter() *planter {
	p := &planter{rng: rand.New(rand.NewPCG(11, 12))}
	hosts := rand.NewZipf(p.rng, 1.2, 1, 1999)
	for i := range p.dimensions {
		d := &p.dimensions[i]
		for range heavyVisitors {
			host := ""
			if p.rng.Uint64()&1 == 0 {
				host = fmt.Sprintf("site-%d.example.com", hosts.Uint64())
			}
			countHit(&d[engine.Referrers], host)
			for dim, values := range [...]uint64{engine.Countries: 60, engine.Devices: 3, engine.Browsers: 8} {
				if values > 0 {
					countHit(&d[dim], string([]byte{byte(1 + p.rng.Uint64N(256)*p.rng.Uint64N(256)*values>>16)}))
				}
			}
		}
	}
	return p
}

// countHit adds a hit of a value to a breakdown.
func countHit(b *engine.Breakdown, value string) {
	at := 0
	for at < len(*b) && (*b)[at].Value < value {
		at++
	}
	if at == len(*b) || (*b)[at].Value != value {
		*b = slices.Insert(*b, at, engine.ValueHits{Value: value})
	}
	(*b)[at].Hits++
}

// next returns a row, which is valid until the next call.
func (p *planter) next() *engine.Tally {
	for i := range p.visitors {
		p.visitors[i] = mix(p.rng.Uint64N(5_000_000))
	}
	slices.Sort(p.visitors[:])
	distinct := slices.Compact(p.visitors[:])
	p.tally = engine.Tally{
		Hits: heavyVisitors, Visitors: engine.ExactSketch(distinct), Dimensions: p.dimensions[p.rng.IntN(len(p.dimensions))],
	}
	return &p.tally
}
