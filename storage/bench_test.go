package storage

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"shunt/engine"
	"shunt/engine/expect"
	"shunt/storage/row"
	"shunt/storage/row/rowtest"
)

// benchFlush is a flush of rows that each count one hit of one visitor, for distinct random ids
// below ids.
type benchFlush struct {
	ids     []uint64
	rng     *rand.Rand
	tally   engine.Tally
	hash    [1]uint64
	hour    uint32 // 0: a new one begins every 60 flushes
	divided bool   // the hit has a referrer out of 100, a country out of 30, a device and a browser
}

var benchReferrers = func() (names [100]string) {
	for i := range names {
		names[i] = fmt.Sprintf("www.site%d.example", i)
	}
	return names
}()

// divide draws the value of each dimension of a hit.
func (f *benchFlush) divide() {
	d := &f.tally.Dimensions
	for i := range d {
		if len(d[i]) == 0 {
			d[i] = make(engine.Breakdown, 1)
		}
		d[i][0] = engine.ValueHits{Value: string([]byte{byte(1 + f.rng.IntN(5))}), Hits: 1}
	}
	d[engine.Referrers][0].Value = benchReferrers[f.rng.IntN(100)]
	d[engine.Countries][0].Value = string([]byte{byte(1 + f.rng.IntN(30))})
}

func newBenchFlush(rows int) *benchFlush {
	f := &benchFlush{ids: make([]uint64, rows), rng: rand.New(rand.NewPCG(1, 2))}
	f.tally = engine.Tally{Hits: 1, Visitors: engine.ExactSketch(f.hash[:])}
	return f
}

func (f *benchFlush) draw(ids uint64) {
	for i := range f.ids {
		f.ids[i] = 1 + f.rng.Uint64N(ids)
	}
	slices.SortFunc(f.ids, cmp.Compare[uint64])
}

func (f *benchFlush) batch(seq uint64) engine.FlushBatch {
	hour := cmp.Or(f.hour, 1000+uint32(seq/60))
	return engine.FlushBatch{
		Positions: engine.Positions{Epoch: 1, FlushSeq: seq, Rings: make([]uint64, 8)},
		Links: func(yield func(uint32, uint64, *engine.Tally) error) error {
			for _, id := range f.ids {
				f.hash[0] = f.rng.Uint64()
				if f.divided {
					f.divide()
				}
				if err := yield(hour, id, &f.tally); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// cpuSeconds returns the CPU time that this process has used.
func cpuSeconds() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}

// BenchmarkFlush commits one flush of 200,000 rows an iteration, as a server does each second at
// 200,000 hits/s over 10 M links; a new hour begins every 60 flushes. cpu-s/op includes everything
// but sorting: encoding, the commit, memtable flushes and compactions. debt-MB is the work that
// compaction has not done by the end.
func BenchmarkFlush(b *testing.B) {
	for _, divided := range []bool{false, true} {
		b.Run(fmt.Sprintf("dimensions=%v", divided), func(b *testing.B) { benchmarkFlush(b, divided) })
	}
}

func benchmarkFlush(b *testing.B, divided bool) {
	const rows, ids = 200_000, 10_000_000
	s := openTemp(b)
	f := newBenchFlush(rows)
	f.divided = divided
	seq := uint64(0)
	cpu := 0.0
	for b.Loop() {
		b.StopTimer()
		f.draw(ids)
		before := cpuSeconds()
		b.StartTimer()
		seq++
		expect.OK(b, s.Flush(f.batch(seq)))
		cpu += cpuSeconds() - before
	}
	m := s.Metrics()
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/row")
	b.ReportMetric(cpu/float64(b.N), "cpu-s/op")
	b.ReportMetric(float64(m.CompactionDebtBytes)/1e6, "debt-MB")
	b.ReportMetric(float64(m.L0Sublevels), "L0-sublevels")
	b.ReportMetric(float64(m.DiskBytes)/1e6, "disk-MB")
}

// BenchmarkHour commits one flush of 200,000 rows an iteration, all of one hour that already has a
// row of 6 visitors for each of 10 M links, and waits until Pebble has nothing left to do. So
// cpu-s/op does not depend on the other work of the machine: it is the cost of a second of the load
// of BenchmarkFoldFlush in bench, without the fold, in the order that Pebble would do it without
// hurry.
func BenchmarkHour(b *testing.B) {
	const rows, ids = 200_000, 10_000_000
	s := openTemp(b)
	plantHour(b, s, ids)
	f := newBenchFlush(rows)
	f.divided, f.hour = true, 1000
	before := s.Metrics()
	cpu, seq := 0.0, uint64(100)
	for b.Loop() {
		f.draw(ids)
		began := cpuSeconds()
		seq++
		expect.OK(b, s.Flush(f.batch(seq)))
		settle(s)
		cpu += cpuSeconds() - began
	}
	m := s.Metrics()
	b.ReportMetric(cpu/float64(b.N), "cpu-s/op")
	b.ReportMetric(float64(m.CompactedBytes-before.CompactedBytes)/float64(b.N)/1e6, "compacted-MB/op")
	b.ReportMetric(float64(m.L0Sublevels), "L0-sublevels")
	b.ReportMetric(float64(m.DiskBytes)/1e6, "disk-MB")
}

// settle waits until no compaction runs and no memtable is being flushed.
func settle(s *Store) {
	for quiet := 0; quiet < 3; quiet++ {
		if p := s.db.Metrics(); p.Compact.NumInProgress > 0 || p.Flush.NumInProgress > 0 {
			quiet = 0
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// plantHour writes a row of 6 visitors for each id below ids.
func plantHour(b *testing.B, s *Store, ids uint64) {
	f := newBenchFlush(0)
	var hashes [6]uint64
	f.tally = engine.Tally{Hits: 6, Visitors: engine.ExactSketch(hashes[:])}
	for first := uint64(1); first <= ids; first += 500_000 {
		batch := engine.FlushBatch{Links: func(yield func(uint32, uint64, *engine.Tally) error) error {
			for id := first; id < min(first+500_000, ids+1); id++ {
				for i := range hashes {
					hashes[i] = f.rng.Uint64()
				}
				slices.Sort(hashes[:])
				f.divide()
				if err := yield(1000, id, &f.tally); err != nil {
					return err
				}
			}
			return nil
		}}
		batch.Positions = engine.Positions{Epoch: 1, FlushSeq: first, Rings: make([]uint64, 8)}
		expect.OK(b, s.Flush(batch))
	}
	settle(s)
}

// BenchmarkApply creates links. Each writer waits for its commit before it continues.
func BenchmarkApply(b *testing.B) {
	for _, writers := range []int{1, 16, 256} {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) {
			s := openTemp(b)
			var next atomic.Uint64
			before := s.Metrics()
			var wg sync.WaitGroup
			for w := range writers {
				wg.Go(func() {
					for range (b.N + w) / writers {
						id := next.Add(1)
						if err := tryApply(s, rowtest.Creation(rowtest.Link(fmt.Sprintf("c%d", id), id, 1))); err != nil {
							b.Error(err)
						}
					}
				})
			}
			wg.Wait()
			after := s.Metrics()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "links/s")
			b.ReportMetric(float64(after.Mutations-before.Mutations)/float64(after.CommitBatches-before.CommitBatches), "links/fsync")
		})
	}
}

// BenchmarkMerge merges rows: two of one visitor, the usual case of a compaction, and heavier ones.
func BenchmarkMerge(b *testing.B) {
	many := make([][]byte, 100)
	for i := range many {
		many[i] = rowOf(rowtest.HitFrom(uint64(i), benchReferrers[i], byte(i%30), byte(i%4), byte(i%9)))
	}
	full := make([][]byte, 2)
	dense := make([][]byte, 2)
	for i := range full {
		m := &rowtest.Model{Hits: 1000}
		for value := range 256 {
			m.Count(engine.Referrers, fmt.Sprintf("www.site%d.example", value+i), 1)
		}
		full[i] = rowOf(m)
		t := engine.Tally{Hits: 3000}
		for v := range uint64(3000) {
			t.Visitors.Add(rowtest.Visitor(v + uint64(i)))
		}
		dense[i] = row.AppendTally(nil, &t)
	}
	for _, c := range []struct {
		name string
		rows [][]byte
	}{
		{"rows=2/dimensions=false", [][]byte{rowOf(rowtest.Hit(1)), rowOf(rowtest.Hit(2))}},
		{"rows=2/dimensions=true", many[:2]},
		{"rows=100/dimensions=true", many},
		{"rows=2/referrers=256", full},
		{"rows=2/visitors=dense", dense},
	} {
		b.Run(c.name, func(b *testing.B) { benchmarkMerge(b, c.rows) })
	}
}

func benchmarkMerge(b *testing.B, rows [][]byte) {
	merger := newMerger()
	b.ReportAllocs()
	for b.Loop() {
		m, _ := merger.Merge(nil, rows[0])
		for _, value := range rows[1:] {
			_ = m.MergeNewer(value)
		}
		_, closer, _ := m.Finish(true)
		_ = closer.Close()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(rows)), "ns/row")
}
