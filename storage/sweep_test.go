package storage

import (
	"maps"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"shunt/engine"
	"shunt/engine/expect"
	"shunt/storage/kv"
	"shunt/storage/row"
	"shunt/storage/row/rowtest"
)

// daysLeft returns the number of rows of each day in a table of days.
func daysLeft(t testing.TB, s *Store, table byte) map[uint32]int {
	t.Helper()
	found := map[uint32]int{}
	for key := range rows(t, s, table) {
		_, day, err := row.SplitDayKey([]byte(key))
		expect.OK(t, err)
		found[day]++
	}
	return found
}

func wantDays(t testing.TB, s *Store, links, owners map[uint32]int) {
	t.Helper()
	got := daysLeft(t, s, row.TableLinkDays)
	expect.That(t, maps.Equal(got, links), "link days: got %v, want %v", got, links)
	if got := daysLeft(t, s, row.TableOwnerDays); !maps.Equal(got, owners) {
		t.Errorf("owner days: got %v, want %v", got, owners)
	}
}

// addDay adds a row of the first hour of a day for each link, and one for each of as many owners.
func addDay(f *rowtest.Flush, day uint32, links uint64) {
	for id := range links {
		f.Add(day*24, id, uint32(id), rowtest.Hit(id))
	}
}

// TestASweepResumesAfterACrashBetweenAnyTwoChunks has links with one, with several and without old
// rows.
func TestASweepResumesAfterACrashBetweenAnyTwoChunks(t *testing.T) {
	t.Parallel()
	const links = 9000
	mem := vfs.NewCrashableMem()
	s := openMem(t, mem)
	f := rowtest.NewFlush()
	addDay(f, 8, links/9)
	addDay(f, 9, links/3)
	addDay(f, 10, links)
	flush(t, s, 1, f)
	rollUpAll(t, s, upTo(1000), nil)
	limits := engine.RollUpLimits{OpenHour: 1000, FirstDay: 10}
	crashes := 0
	for more := true; more; crashes++ {
		var err error
		more, err = s.RollUp(limits)
		expect.OK(t, err)
		mem = mem.CrashClone(loseAll())
		closeStore(t, s)
		s = openMem(t, mem)
	}
	defer closeStore(t, s)
	expect.Equal(t, crashes, 7, "chunks")
	wantDays(t, s, map[uint32]int{10: links}, map[uint32]int{10: links})
	expect.Equal(t, len(rows(t, s, row.TableLinkLives)), links, "life rows")
	three := &rowtest.Model{}
	for _, day := range []uint32{8, 9, 10} {
		three.Add(f.Links[rowtest.LinkHour{Hour: day * 24, ID: 5}])
	}
	wantTally(t, s, 5, three)
}

func TestDaysAreSweptOnceForEachFirstDay(t *testing.T) {
	s := openTemp(t)
	f := rowtest.NewFlush()
	for day := uint32(1); day <= 5; day++ {
		addDay(f, day, 3)
	}
	flush(t, s, 1, f)
	all := func(days ...uint32) map[uint32]int {
		left := map[uint32]int{}
		for _, day := range days {
			left[day] = 3
		}
		return left
	}
	for _, c := range []struct {
		firstDay uint32
		chunks   int
		left     map[uint32]int
	}{
		{0, 0, all(1, 2, 3, 4, 5)},
		{2, 2, all(2, 3, 4, 5)},
		{2, 0, all(2, 3, 4, 5)},
		{4, 2, all(4, 5)},
		{3, 0, all(4, 5)}, // more days are kept again
		{0, 0, all(4, 5)},
		{5, 2, all(5)},
		{100, 2, all()},
	} {
		rollUpAll(t, s, upTo(1000), nil)
		expect.Equal(t, rollUpAll(t, s, engine.RollUpLimits{OpenHour: 1000, FirstDay: c.firstDay}, nil), c.chunks, "first day %d: chunks", c.firstDay)
		wantDays(t, s, c.left, c.left)
	}
}

// TestASweepUnderWayIsFinishedFirst changes the kept days in the middle of a sweep.
func TestASweepUnderWayIsFinishedFirst(t *testing.T) {
	const links = sweepIDs + 1
	for name, c := range map[string]struct {
		next          uint32
		links, owners map[uint32]int
	}{
		"fewer days are kept": {5, map[uint32]int{5: links}, map[uint32]int{5: links}},
		"more days are kept":  {3, map[uint32]int{5: links}, map[uint32]int{5: links}},
		"all days are kept":   {0, map[uint32]int{2: 1, 3: 1, 5: links}, map[uint32]int{2: links, 3: links, 5: links}},
	} {
		t.Run(name, func(t *testing.T) {
			s := openTemp(t)
			f := rowtest.NewFlush()
			addDay(f, 2, links)
			addDay(f, 3, links)
			addDay(f, 5, links)
			flush(t, s, 1, f)
			rollUpAll(t, s, upTo(1000), nil)
			more, err := s.RollUp(engine.RollUpLimits{OpenHour: 1000, FirstDay: 4})
			expect.MustThat(t, err == nil && more, "got %v, %v", more, err)
			rollUpAll(t, s, engine.RollUpLimits{OpenHour: 1000, FirstDay: c.next}, nil)
			wantDays(t, s, c.links, c.owners)
			_, day := s.Kept()
			expect.That(t, day >= 4, "days from %d on are said to be whole", day)
		})
	}
}

func TestAStoreRemembersItsFirstKeptHourAndDay(t *testing.T) {
	fs := vfs.NewMem()
	s := openMem(t, fs)
	hour, day := s.Kept()
	expect.That(t, hour == 0 && day == 0, "a new store is whole from hour %d and day %d on", hour, day)
	f := rowtest.NewFlush()
	f.Add(50, 1, 1, rowtest.Hit(1))
	f.Add(99, 1, 1, rowtest.Hit(1))
	flush(t, s, 1, f)
	rollUpAll(t, s, engine.RollUpLimits{OpenHour: 99, FirstHour: 60, FirstDay: 3}, nil)
	check := func(when string) {
		hour, day := s.Kept()
		expect.That(t, hour == 51 && day == 3, "%s: whole from hour %d and day %d on, want 51 (hour 50 was the last one rolled up) and 3", when, hour, day)
	}
	check("at once")
	closeStore(t, s)
	s = openMem(t, fs)
	check("opened again")
	closeStore(t, s)
}

func TestTheLastLinkIsSweptAsWell(t *testing.T) {
	s := openTemp(t)
	f := rowtest.NewFlush()
	f.Add(24, 1<<64-1, 1<<32-1, rowtest.Hit(1))
	flush(t, s, 1, f)
	rollUpAll(t, s, engine.RollUpLimits{OpenHour: 1000, FirstDay: 10}, nil)
	wantDays(t, s, map[uint32]int{}, map[uint32]int{})
	mark := []byte(rows(t, s, row.MetaKey(row.MetaSweep)...)[string(row.MetaKey(row.MetaSweep))])
	got, err := row.DecodeSweep(mark)
	expect.That(t, err == nil && got == (row.Sweep{FirstDay: 10, Stage: row.StageDone}), "got %+v, %v", got, err)
}

func TestACorruptKeyStopsTheSweep(t *testing.T) {
	s := openTemp(t)
	b := s.db.NewBatch()
	kv.Merge(b, append(row.AppendLinkDayKey(nil, 1, 1), 0), rowOf(rowtest.Hit(1)))
	expect.OK(t, s.writer.Sync(b, "test"))
	_, err := s.RollUp(engine.RollUpLimits{FirstDay: 10})
	expect.Error(t, err, ErrCorrupt)
	expect.Equal(t, len(rows(t, s, row.TableLinkDays)), 1, "rows")
}
