package storage

import (
	"math"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"shunt/engine"
	"shunt/engine/expect"
	"shunt/storage/kv"
	"shunt/storage/row"
	"shunt/storage/row/rowtest"
)

func TestAFlushAllocatesNothingForARow(t *testing.T) {
	const rows = 10_000
	s := openTemp(t)
	f := newBenchFlush(rows)
	seq := uint64(0)
	allocs := testing.AllocsPerRun(10, func() {
		seq++
		f.draw(1 << 40)
		expect.OK(t, s.Flush(f.batch(seq)))
	})
	if allocs > rows/10 { // those of Pebble, mostly for new memtables
		t.Errorf("got %v allocations for %d rows", allocs, rows)
	}
}

// flushDense commits a flush of one hour, with one row per link, each of the same 2,000 visitors.
func flushDense(t *testing.T, s *Store, hour uint32, links uint64) *rowtest.Model {
	t.Helper()
	m := &rowtest.Model{Hits: 2000, Visitors: map[uint64]bool{}}
	for v := range uint64(2000) {
		m.Visitors[rowtest.Visitor(v)] = true
	}
	dense := m.Tally()
	err := s.Flush(engine.FlushBatch{Links: func(yield func(uint32, uint64, *engine.Tally) error) error {
		for id := range links {
			if err := yield(hour, id, dense); err != nil {
				return err
			}
		}
		return nil
	}})
	expect.OK(t, err)
	return m
}

// TestAFlushOverHalfAMemtableIsWhole commits a batch whose buffer Pebble keeps.
func TestAFlushOverHalfAMemtableIsWhole(t *testing.T) {
	expect.Long(t)
	t.Parallel()
	const links = DefaultMemTableBytes / 2 / (16 << 10)
	s := openMem(t, vfs.NewMem())
	defer closeStore(t, s)
	m := flushDense(t, s, 10, links)
	f := rowtest.NewFlush()
	f.Add(10, 5, 1, rowtest.Hit(1))
	flush(t, s, 2, f)
	wantTally(t, s, 0, m)
	wantTally(t, s, links-1, m)
	m.Add(rowtest.Hit(1))
	wantTally(t, s, 5, m)
}

func TestATooLargeFlushIsRefusedWhole(t *testing.T) {
	s := openMem(t, vfs.NewMem())
	s.MaxFlushBytes = 4 << 10
	defer closeStore(t, s)
	single := rowtest.Hit(1)
	f := rowtest.NewFlush()
	for id := range uint64(200) {
		f.Add(10, id, 1, single)
	}
	before, err := s.Positions()
	expect.OK(t, err)
	expect.MustError(t, s.Flush(f.Batch(engine.Positions{Epoch: 1, FlushSeq: 1})), engine.ErrFlushTooLarge, "200 rows in 4 KiB")
	after, err := s.Positions()
	expect.That(t, err == nil && after.FlushSeq == before.FlushSeq, "got flush %d, want %d (%v)", after.FlushSeq, before.FlushSeq, err)
	wantTally(t, s, 7, &rowtest.Model{})
	small := rowtest.NewFlush()
	small.Add(10, 7, 1, single)
	flush(t, s, 1, small)
	one := &rowtest.Model{}
	one.Add(single)
	wantTally(t, s, 7, one)
}

// TestAFlushOfCountsAloneIsNeverTooLarge computes the size of the largest possible rows, as many as
// may wait.
func TestAFlushOfCountsAloneIsNeverTooLarge(t *testing.T) {
	s := openMem(t, vfs.NewMem())
	defer closeStore(t, s)
	largest := &engine.Tally{Hits: math.MaxUint64, Bots: math.MaxUint64, Prefetches: math.MaxUint32, Heads: math.MaxUint32}
	b := s.db.NewBatch()
	defer b.Close()
	before := b.Len()
	kv.Merge(b, row.AppendLinkHourKey(nil, math.MaxUint32, math.MaxUint64), row.AppendTally(nil, largest))
	rowBytes := b.Len() - before
	if rowBytes != 48 { // as engine.DefaultPendingEntries says
		t.Errorf("a row takes %d bytes", rowBytes)
	}
	sum := rowBytes * engine.DefaultPendingEntries
	expect.That(t, sum <= s.MaxFlushBytes, "%d rows take %d bytes, a flush at most %d", engine.DefaultPendingEntries, sum, s.MaxFlushBytes)
}

func TestChunksOfDenseRowsAreCutBySize(t *testing.T) {
	const links = 600
	s := openMem(t, vfs.NewMem())
	defer closeStore(t, s)
	m := flushDense(t, s, 10, links)
	if chunks := rollUpAll(t, s, upTo(11), nil); chunks != 8 { // 128 rows, 16 KB twice each, are 4 MiB; one more chunk has no owners; the summaries of as many lives are two more
		t.Errorf("got %d chunks of %d dense rows, want 8", chunks, links)
	}
	wantTally(t, s, 0, m)
	wantTally(t, s, links-1, m)
}
