package storage

import (
	"encoding/binary"
	"errors"
	"maps"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"

	"shunt/engine"
	"shunt/engine/expect"
	"shunt/storage/kv"
	"shunt/storage/row"
	"shunt/storage/row/rowtest"
)

// upTo returns limits that roll up the hours before openHour and delete nothing.
func upTo(openHour uint32) engine.RollUpLimits { return engine.RollUpLimits{OpenHour: openHour} }

func TestAFlushThatFailsLeavesNothing(t *testing.T) {
	s := openTemp(t)
	stop := errors.New("stop")
	b := engine.FlushBatch{Links: func(yield func(uint32, uint64, *engine.Tally) error) error {
		return errors.Join(yield(10, 1, rowtest.Hit(1).Tally()), stop)
	}}
	expect.Error(t, s.Flush(b), stop)
	wantTally(t, s, 1, &rowtest.Model{})
	f := rowtest.NewFlush()
	f.Add(10, 1, 7, rowtest.Hit(1))
	flush(t, s, 1, f)
	wantTally(t, s, 1, rowtest.Hit(1))
}

// TestRollUpResumesAfterACrashBetweenAnyTwoChunks rolls up two hours of 9,000 links in ten chunks,
// and their summaries in five, and crashes after each.
func TestRollUpResumesAfterACrashBetweenAnyTwoChunks(t *testing.T) {
	t.Parallel()
	const links = 9000
	mem := vfs.NewCrashableMem()
	s := openMem(t, mem)
	f := rowtest.NewFlush()
	want := map[uint64]uint64{}
	for id := uint64(1); id <= links; id++ {
		f.Add(100, id, uint32(id%5000), rowtest.Hit(id))
		f.Add(103, id, uint32(id%5000), rowtest.Hit(id/2))
		want[id] = 2
	}
	flush(t, s, 1, f)
	check := func(s *Store) {
		t.Helper()
		expect.MustThat(t, maps.Equal(hitsOf(t, s), want), "LoadHits: the totals have changed")
		for id := uint64(1); id <= links; id += 61 {
			both := *rowtest.Hit(id)
			both.Add(rowtest.Hit(id / 2))
			wantTally(t, s, id, &both)
		}
	}
	crashes := 0
	for more := true; more; crashes++ {
		var err error
		more, err = s.RollUp(upTo(200))
		expect.OK(t, err)
		check(s)
		mem = mem.CrashClone(loseAll())
		closeStore(t, s)
		s = openMem(t, mem)
		check(s)
	}
	defer closeStore(t, s)
	expect.Equal(t, crashes, 15, "chunks")
	expect.Equal(t, len(rows(t, s, row.TableOwnerDays)), 5000, "owner days: rows")
	for key, value := range rows(t, s, row.TableOwnerDays) {
		hits, err := row.DecodeTallyHits([]byte(value))
		expect.MustThat(t, err == nil && (hits == 2 || hits == 4), "owner day %x: got %d hits, %v", key, hits, err)
	}
}

// TestRollUpWaitsLongBeforeWritesStall holds the bounds of a chunk of roll-up against those at which
// Pebble stalls all writes. A chunk that has begun adds at most one sublevel and one memtable.
func TestRollUpWaitsLongBeforeWritesStall(t *testing.T) {
	for _, c := range []struct {
		sublevels int32
		memTables int
		want      bool
	}{
		{0, 1, false},
		{l0CompactionSublevels / 2, 2, false}, // where compaction begins, a roll-up must go on
		{l0StopSublevels/2 - 2, 1, true},
		{0, maxQueuedMemTables, true},
	} {
		m := &pebble.Metrics{}
		m.Levels[0].Sublevels, m.MemTable.Size = c.sublevels, uint64(c.memTables)*DefaultMemTableBytes
		expect.Equal(t, behind(m, DefaultMemTableBytes), c.want, "%d sublevels, %d memtables", c.sublevels, c.memTables)
	}
}

func TestACorruptRowStopsTheRollUpWithoutLoss(t *testing.T) {
	s := openTemp(t)
	f := rowtest.NewFlush()
	f.Add(10, 1, 7, rowtest.Hit(1))
	flush(t, s, 1, f)
	b := s.db.NewBatch()
	kv.Set(b, row.AppendLinkHourKey(nil, 10, 2), []byte{1, 1})
	expect.OK(t, s.writer.Sync(b, "test"))
	_, err := s.RollUp(upTo(11))
	expect.Error(t, err, ErrCorrupt)
	got := rows(t, s, row.TableLinkLives)
	expect.Equal(t, len(got), 0, "got life rows %x", got)
	wantTally(t, s, 1, rowtest.Hit(1))
}

// TestTalliesMatchAPlainMapThroughAnyHistory is a model test: random flushes, roll-ups,
// compactions and crashes.
func TestTalliesMatchAPlainMapThroughAnyHistory(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		mem := vfs.NewCrashableMem()
		s := openMem(t, mem)
		defer func() { closeStore(t, s) }()
		const links = 3
		want := [links]rowtest.Model{}
		hour, seq := uint32(1000), uint64(0)
		for range rapid.IntRange(1, 25).Draw(rt, "steps") {
			switch rapid.IntRange(0, 7).Draw(rt, "step") {
			case 0, 1, 2:
				f := rowtest.NewFlush()
				for range rapid.IntRange(1, 4).Draw(rt, "rows") {
					id, m := rapid.Uint64Max(links-1).Draw(rt, "id"), rowtest.Models().Draw(rt, "tally")
					f.Add(hour+rapid.Uint32Max(2).Draw(rt, "hour"), id, uint32(id), m)
					want[id].Add(m)
				}
				seq++
				flush(t, s, seq, f)
			case 3:
				hour += rapid.SampledFrom([]uint32{1, 2, 60}).Draw(rt, "hours")
				_, err := s.RollUp(upTo(hour))
				expect.OK(t, err)
			case 4:
				rollUpAll(t, s, upTo(hour), nil)
			case 5:
				expect.OK(t, s.db.Compact(t.Context(), []byte{0}, []byte{0xff}, false))
			case 6:
				mem = mem.CrashClone(loseAll())
				closeStore(t, s)
				s = openMem(t, mem)
			case 7: // the clock jumps
				hour = rapid.Uint32Range(900, 1200).Draw(rt, "jump")
			}
			for id := range uint64(links) {
				wantTally(t, s, id, &want[id])
			}
		}
		for id, hits := range hitsOf(t, s) {
			expect.MustEqual(t, hits, want[id].Hits, "LoadHits of %d", id)
		}
	})
}

// TestReadersDuringFlushAndRollUpNeverMissAHit reads while rows move from hours to lives.
func TestReadersDuringFlushAndRollUpNeverMissAHit(t *testing.T) {
	s := openTemp(t)
	const flushes = 300
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for i := range uint64(flushes) {
			f := rowtest.NewFlush()
			f.Add(uint32(i), 1, 7, rowtest.Hit(rowtest.Visitor(i)))
			expect.Error(t, s.Flush(f.Batch(engine.Positions{FlushSeq: i + 1})), nil, "Flush")
			expect.NoError(t, expect.Err(s.RollUp(upTo(uint32(i)))), "RollUp")
		}
	}()
	for running := true; running; {
		select {
		case <-ended:
			running = false
		default:
		}
		got, seq, err := readLife(t, s, 1)
		if err != nil || got.Hits != seq || got.Visitors.Count() != seq {
			t.Fatalf("after flush %d: got %d hits of %d visitors, %v", seq, got.Hits, got.Visitors.Count(), err)
		}
	}
}

func TestReopeningFindsTheHoursWithRows(t *testing.T) {
	mem := vfs.NewMem()
	s := openMem(t, mem)
	f := rowtest.NewFlush()
	for hour := uint32(10); hour < 20; hour += 3 {
		for id := range uint64(50) {
			f.Add(hour, id, uint32(id), rowtest.Hit(id))
		}
	}
	flush(t, s, 1, f)
	rollUpAll(t, s, upTo(12), nil)
	b := s.db.NewBatch() // an hour in which only an owner has a row
	kv.Merge(b, row.AppendOwnerHourKey(nil, 30, 1), rowOf(rowtest.Hit(1)))
	expect.OK(t, s.db.Apply(b, pebble.Sync))
	closeStore(t, s)
	s = openMem(t, mem)
	defer closeStore(t, s)
	expect.Slices(t, s.Hours(0), []uint32{10, 13, 16, 19, 30})
	open := s.Hours(s.Mark().Hour)
	expect.That(t, len(open) != 0 && open[0] == 13, "got the open hours %v, want 13 and later ones", open)
}

func TestWhatIsKeptIsLoweredForGood(t *testing.T) {
	mem := vfs.NewMem()
	s := openMem(t, mem)
	b := s.db.NewBatch()
	kv.Set(b, row.MetaKey(row.MetaFirstHour), binary.BigEndian.AppendUint32(nil, 5000))
	kv.Set(b, row.MetaKey(row.MetaSweep), row.AppendSweep(nil, row.Sweep{FirstDay: 300, Stage: row.StageDone}))
	expect.OK(t, s.writer.Sync(b, "test"))
	closeStore(t, s)
	s = openMem(t, mem)
	hour, day := s.Kept()
	expect.MustThat(t, hour == 5000 && day == 300, "got hours from %d and days from %d", hour, day)
	expect.OK(t, s.LowerKept(4000, 400))
	closeStore(t, s)
	s = openMem(t, mem)
	defer closeStore(t, s)
	if hour, day := s.Kept(); hour != 4000 || day != 300 {
		t.Errorf("got hours from %d and days from %d, want 4000 and 300", hour, day)
	}
}
