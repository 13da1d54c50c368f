package storage

import (
	"bytes"
	"encoding/binary"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

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

func TestTheOldestHourThatIsNotRolledUpIsKnown(t *testing.T) {
	mem := vfs.NewMem()
	s := openMem(t, mem)
	endOf := func(hour int64) time.Time { return time.Unix((hour+1)*3600, 0) }
	want := func(when string, want time.Time) {
		t.Helper()
		got := s.Metrics().RollUpWaits
		expect.That(t, got.Equal(want), "%s: got %v, want %v", when, got, want)
	}
	want("at first", time.Time{})
	f := rowtest.NewFlush()
	f.Add(23, 1, 7, rowtest.Hit(1))
	f.Add(30, 1, 7, rowtest.Hit(3))
	flush(t, s, 1, f)
	want("after a flush", endOf(23))
	rollUpAll(t, s, upTo(30), nil)
	want("after a roll-up", endOf(30))
	closeStore(t, s)
	s = openMem(t, mem)
	want("after a restart", endOf(30))
	rollUpAll(t, s, upTo(31), nil)
	want("after all", time.Time{})
	closeStore(t, s)
}

func TestRolledUpHoursAreInDaysAndLives(t *testing.T) {
	s := openTemp(t)
	f := rowtest.NewFlush()
	f.Add(23, 1, 7, rowtest.Hit(1))
	f.Add(24, 1, 7, rowtest.Hit(1))
	f.Add(24, 1, 7, rowtest.Hit(2))
	f.Add(25, 2, 7, &rowtest.Model{Hits: 1, Bots: 3, Visitors: map[uint64]bool{2: true}})
	f.Add(30, 1, 7, rowtest.Hit(3))
	flush(t, s, 1, f)
	rollUpAll(t, s, upTo(30), nil)
	two := &rowtest.Model{Hits: 2, Visitors: map[uint64]bool{1: true, 2: true}}
	three := &rowtest.Model{Hits: 3, Visitors: two.Visitors}
	for name, c := range map[string]struct {
		key  []byte
		want *rowtest.Model
	}{
		"link 1, day 0":  {row.AppendLinkDayKey(nil, 1, 0), rowtest.Hit(1)},
		"link 1, day 1":  {row.AppendLinkDayKey(nil, 1, 1), two},
		"link 1":         {row.AppendLinkLifeKey(nil, 1), three},
		"link 2":         {row.AppendLinkLifeKey(nil, 2), f.Links[rowtest.LinkHour{Hour: 25, ID: 2}]},
		"owner 7, day 0": {row.AppendOwnerDayKey(nil, 7, 0), rowtest.Hit(1)},
		"owner 7, day 1": {row.AppendOwnerDayKey(nil, 7, 1), &rowtest.Model{Hits: 3, Bots: 3, Visitors: two.Visitors}},
	} {
		got, err := s.writer.Get(c.key)
		if err != nil || !bytes.Equal(got, rowOf(c.want)) {
			t.Errorf("%s: got %x, %v, want %x", name, got, err, rowOf(c.want))
		}
	}
	three.Add(rowtest.Hit(3)) // of the open hour
	wantTally(t, s, 1, three)
	got, want := hitsOf(t, s), map[uint64]uint64{1: 4, 2: 1}
	expect.That(t, maps.Equal(got, want), "LoadHits: got %v, want %v", got, want)
}

// TestAFlushOfARolledUpHourCountsThereAndInItsDayAndLife has a clock that was ahead when the hour was
// rolled up, and then one that was far behind.
func TestAFlushOfARolledUpHourCountsThereAndInItsDayAndLife(t *testing.T) {
	s := openTemp(t)
	f := rowtest.NewFlush()
	f.Add(10, 1, 7, rowtest.Hit(1))
	flush(t, s, 1, f)
	rollUpAll(t, s, upTo(11), nil)
	flush(t, s, 2, f)
	two := rowtest.Hit(1)
	two.Add(rowtest.Hit(1))
	wantTally(t, s, 1, two)
	v := openView(t, s)
	defer closeView(t, v)
	got := seen{rows: map[[2]int][]byte{}}
	hourAndDay := []engine.Span{{FromHour: 10, ToHour: 11}, {FromHour: 0, ToHour: 24}}
	expect.OK(t, v.ReadSpans([]uint64{1}, hourAndDay, row.AllParts, got.add))
	for j, what := range []string{"hour", "day"} {
		expect.That(t, bytes.Equal(got.rows[[2]int{0, j}], rowOf(two)), "%s: got %x, want %x", what, got.rows[[2]int{0, j}], rowOf(two))
	}
}

// TestTheMarkMovesBackOnceTheClockIsRight rolls up hours of the future, and then those of the present.
func TestTheMarkMovesBackOnceTheClockIsRight(t *testing.T) {
	mem := vfs.NewMem()
	s := openMem(t, mem)
	defer func() { closeStore(t, s) }()
	want, seq := rowtest.Model{}, uint64(0)
	count := func(hour uint32) {
		f := rowtest.NewFlush()
		f.Add(hour, 1, 7, rowtest.Hit(rowtest.Visitor(seq)))
		want.Add(rowtest.Hit(rowtest.Visitor(seq)))
		seq++
		flush(t, s, seq, f)
	}
	for _, hour := range []uint32{100, 101, 5000, 5002} {
		count(hour)
		rollUpAll(t, s, upTo(hour+1), nil)
	}
	count(101)
	for _, c := range []struct{ openHour, markHour uint32 }{{102, 102}, {103, 102}, {106, 105}, {5001, 105}} {
		rollUpAll(t, s, upTo(c.openHour), nil)
		m := s.Mark()
		expect.That(t, m.Hour == c.markHour && slices.Equal(m.Ahead, []uint32{5000, 5002}), "open hour %d: the mark is %+v, want hour %d", c.openHour, m, c.markHour)
		if c.openHour == 103 {
			count(103)
			count(104)
		}
		count(5000) // rows of an hour ahead count at once
		wantTally(t, s, 1, &want)
		closeStore(t, s)
		s = openMem(t, mem)
	}
	count(5001)
	rollUpAll(t, s, upTo(5003), nil)
	m := s.Mark()
	expect.That(t, m.Hour > 5001 && (m.Hour <= 5002 || len(m.Ahead) == 0), "at last the mark is %+v", m)
	wantTally(t, s, 1, &want)
	v := openView(t, s)
	defer closeView(t, v)
	for _, c := range []struct {
		span engine.Span
		hits uint64
	}{{engine.Span{FromHour: 5000, ToHour: 5001}, 5}, {engine.Span{FromHour: 4992, ToHour: 5016}, 7}, {engine.Span{FromHour: 96, ToHour: 120}, 5}} {
		hits := uint64(0)
		err := v.ReadSpans([]uint64{1}, []engine.Span{c.span}, row.AllParts, func(_, _ int, t *engine.Tally) error { hits += t.Hits; return nil })
		expect.That(t, err == nil && hits == c.hits, "%v: got %d hits, %v, want %d", c.span, hits, err, c.hits)
	}
}

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

func TestHourRowsStayWhileKeptAndUntilRolledUp(t *testing.T) {
	s := openTemp(t)
	f := rowtest.NewFlush()
	for _, hour := range []uint32{100, 120, 149, 150} {
		f.Add(hour, 1, 7, rowtest.Hit(uint64(hour)))
	}
	flush(t, s, 1, f)
	hours := func() (found []uint32) {
		for key := range rows(t, s, row.TableLinkHours) {
			found = append(found, row.HourOf([]byte(key)))
		}
		links, owners := len(found), len(rows(t, s, row.TableOwnerHours))
		expect.That(t, links == owners, "got %d link hours and %d owner hours", links, owners)
		slices.Sort(found)
		return found
	}
	for _, c := range []struct {
		openHour, firstHour uint32
		want                []uint32
	}{
		{120, 0, []uint32{100, 120, 149, 150}},
		{120, 100, []uint32{100, 120, 149, 150}},
		{121, 101, []uint32{120, 149, 150}},
		{121, 500, []uint32{149, 150}},
		{1000, 0, []uint32{149, 150}},
		{1000, 150, []uint32{150}},
		{1000, 1000, nil},
		{1001, 1001, nil},
	} {
		rollUpAll(t, s, engine.RollUpLimits{OpenHour: c.openHour, FirstHour: c.firstHour}, nil)
		expect.Slices(t, hours(), c.want, "open hour %d, first hour %d", c.openHour, c.firstHour)
		expect.Slices(t, s.Hours(0), c.want, "open hour %d, first hour %d: the set", c.openHour, c.firstHour)
	}
	want := rowtest.Model{}
	for _, m := range f.Links {
		want.Add(m)
	}
	wantTally(t, s, 1, &want)
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
