package storage

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"shunt/engine"
	"shunt/engine/expect"
	"shunt/storage/row"
	"shunt/storage/row/rowtest"
)

const msPerHour = 3600 * 1000

func wantRowsOf(t testing.TB, s *Store, ids ...uint64) {
	t.Helper()
	expect.Slices(t, slices.Sorted(maps.Keys(rowsOfLinks(t, s))), ids)
}

// purgeOf is the purge of a link with figures, whose tombstone is there if it frees the code.
func purgeOf(s *Store, d engine.Deletion, freesCode bool) engine.Mutation {
	p := engine.Purge{Deletion: d, FreesCode: freesCode, Figures: true}
	if rec, err := s.ReadRecord(d.Key); freesCode && err == nil {
		p.Left = &rec
	}
	return engine.Mutation{Purge: &p}
}

func deletions(t testing.TB, s *Store, beforeHour uint32, limit int) []engine.Deletion {
	t.Helper()
	found, err := s.Deletions(true, 0, 0, beforeHour, limit)
	expect.OK(t, err)
	return found
}

func TestDeletionsComeOldestFirstUpToHourAndLimit(t *testing.T) {
	s := openTemp(t)
	for id, hour := range []int64{1: 700, 2: -9, 3: 300, 4: 300, 5: math.MaxInt64 / msPerHour / 2} {
		if id == 0 {
			continue
		}
		rec := rowtest.Link(fmt.Sprintf("c%d", id), uint64(id), 1, "tag")
		apply(t, s, rowtest.Creation(rec))
		apply(t, s, deletedAt(rec, hour))
	}
	all := []engine.Deletion{{Hour: 0, ID: 2, Key: keyOf("c2")}, {Hour: 300, ID: 3, Key: keyOf("c3")}, {Hour: 300, ID: 4, Key: keyOf("c4")}, {Hour: 700, ID: 1, Key: keyOf("c1")}}
	for _, c := range []struct {
		before uint32
		limit  int
		want   []engine.Deletion
	}{
		{0, 9, nil}, {1, 9, all[:1]}, {300, 9, all[:1]}, {301, 9, all[:3]}, {301, 2, all[:2]}, {math.MaxUint32, 9, all},
	} {
		expect.Slices(t, deletions(t, s, c.before, c.limit), c.want, "before %d, at most %d", c.before, c.limit)
	}
}

// TestAPurgeRemovesAllRowsOfOneLinkOnly has links with few and with many days, and links with
// neighbouring ids, each with two targets. Their rows are in hours that are rolled up and in a future hour, as a clock
// that was ahead leaves them.
func TestAPurgeRemovesAllRowsOfOneLinkOnly(t *testing.T) {
	s := openTemp(t)
	const few, many, ahead = 3, maxDaysByKey + 9, 9999
	f := rowtest.NewFlush()
	for id := range uint64(7) {
		apply(t, s, rowtest.Creation(rowtest.Link(fmt.Sprintf("c%d", id), id, 7, "tag")))
		days := uint32(few)
		if id == 4 {
			days = many
		}
		for day := range days {
			f.Add(day*24, id, 7, rowtest.Hit(id))
			f.AddTarget(day*24, id, 3, rowtest.Hit(id))
		}
		f.Add(ahead, id, 7, rowtest.Hit(id))
		f.AddTarget(ahead, id, uint8(200+id), rowtest.Hit(id))
	}
	flush(t, s, 1, f)
	rollUpAll(t, s, upTo(ahead), nil)
	before := rowsOfLinks(t, s)
	owners := rows(t, s, row.TableOwnerDays)
	for _, id := range []uint64{2, 4} {
		apply(t, s, deletedAt(rowtest.Link(fmt.Sprintf("c%d", id), id, 7, "tag"), 5))
	}
	for _, d := range deletions(t, s, 6, 9) {
		apply(t, s, purgeOf(s, d, true))
	}
	rollUpAll(t, s, upTo(ahead+1), nil)
	wantRowsOf(t, s, 0, 1, 3, 5, 6)
	after := rowsOfLinks(t, s)
	for _, id := range []uint64{0, 1, 3, 5, 6} {
		if after[id] != before[id]+1 { // the future hours were rolled up into days, and one target had no life before
			t.Errorf("link %d: got %d rows, had %d", id, after[id], before[id])
		}
		wantTally(t, s, id, &rowtest.Model{Hits: few + 1, Visitors: map[uint64]bool{id: true}})
		wantTally(t, s, engine.TargetID(id, 3), &rowtest.Model{Hits: few, Visitors: map[uint64]bool{id: true}})
	}
	expect.Equal(t, len(rows(t, s, row.TableOwnerDays)), len(owners)+1, "days of the owner, want %d and that of the hour to come", len(owners))
}

func TestAPurgeLeavesALinkThatTookTheCodeAgain(t *testing.T) {
	s := openTemp(t)
	old, renewed := rowtest.Link("c", 1, 7, "tag"), rowtest.Link("c", 2, 7, "tag")
	apply(t, s, rowtest.Creation(old))
	gone := deletedAt(old, 5)
	apply(t, s, gone)
	again := rowtest.Creation(renewed)
	again.Replaced = &engine.Record{Hot: gone.Hot, Cold: old.Cold}
	apply(t, s, again)
	apply(t, s, purgeOf(s, engine.Deletion{Hour: 5, ID: 1, Key: keyOf("c")}, false))
	wantRowsOf(t, s, 2)
	rec, err := s.ReadRecord(keyOf("c"))
	expect.That(t, err == nil && rec.Hot.ID == 2 && rec.Cold.Title == renewed.Cold.Title, "got %+v, %v", rec, err)
}

func TestAPurgeWithoutAValidCodeIsRefused(t *testing.T) {
	s := openTemp(t)
	for _, code := range []string{"", string(make([]byte, engine.MaxCodeBytes+1))} {
		expect.That(t, tryApply(s, purgeOf(s, engine.Deletion{ID: 1, Key: keyOf(code)}, true)) != nil, "a code of %d bytes was accepted", len(code))
	}
}

// TestAPurgeIsDoneWholeOrNotAtAll crashes at every write of purges. After a crash a link has all
// its rows, including those by which a purge finds it, or none; no other link loses any; and a
// second run finishes the purge.
func TestAPurgeIsDoneWholeOrNotAtAll(t *testing.T) {
	for _, cfg := range []func() vfs.CrashCloneCfg{loseAll, loseNothing} {
		c, fs := newCrasher(cfg)
		s := open(t, "/data/store", Options{FS: fs})
		stop := start(t, s)
		f := rowtest.NewFlush()
		for id := uint64(1); id <= 8; id++ {
			rec := rowtest.Link(fmt.Sprintf("c%d", id), id, 7, "tag")
			apply(t, s, rowtest.Creation(rec))
			f.Add(1, id, 7, rowtest.Hit(id))
			f.Add(30, id, 7, rowtest.Hit(id))
			f.AddTarget(30, id, uint8(id), rowtest.Hit(id))
			if id%2 == 0 {
				apply(t, s, deletedAt(rec, 40))
			}
		}
		flush(t, s, 1, f)
		rollUpAll(t, s, upTo(50), nil)
		whole := rowsOfLinks(t, s)
		c.arm(true)
		purgeAll(t, s)
		c.arm(false)
		wantRowsOf(t, s, 1, 3, 5, 7)
		stop()
		closeStore(t, s)
		wantPurgesWhole(t, c.taken(), whole)
	}
}

func purgeAll(t testing.TB, s *Store) {
	t.Helper()
	for _, d := range deletions(t, s, math.MaxUint32, 100) {
		apply(t, s, purgeOf(s, d, true))
	}
}

func wantPurgesWhole(t *testing.T, clones []*vfs.MemFS, whole map[uint64]int) {
	t.Helper()
	seen := map[int]bool{}
	for i, clone := range clones {
		s := openMem(t, clone)
		left := rowsOfLinks(t, s)
		seen[len(left)] = true
		for id, n := range left {
			expect.Equal(t, n, whole[id], "crash %d: link %d rows or none", i, id)
		}
		stop := start(t, s)
		purgeAll(t, s)
		stop()
		wantRowsOf(t, s, 1, 3, 5, 7)
		closeStore(t, s)
	}
	expect.That(t, len(seen) >= 5, "crashes left only %d different states", len(seen))
}

// TestALinkThatLeavesTheTrashLeavesItsTombstone purges a link in two stages, and one that was purged by its owner.
func TestALinkThatLeavesTheTrashLeavesItsTombstone(t *testing.T) {
	s := openTemp(t)
	f := rowtest.NewFlush()
	gone := map[uint64]engine.Mutation{}
	for id, hour := range map[uint64]int64{1: 40, 2: 41} {
		rec := rowtest.Link(fmt.Sprintf("c%d", id), id, 7, "tag")
		rec.Cold.Version = 9
		apply(t, s, rowtest.Creation(rec))
		f.Add(1, id, 7, rowtest.Hit(id))
		gone[id] = deletedAt(rec, hour)
		if id == 2 {
			m := gone[id]
			m.Trash = engine.TrashPurged
			gone[id] = m
		}
		apply(t, s, gone[id])
	}
	flush(t, s, 1, f)
	rollUpAll(t, s, upTo(50), nil)
	for _, d := range deletions(t, s, 50, 9) {
		rec, err := s.ReadRecord(d.Key)
		expect.OK(t, err)
		apply(t, s, engine.Mutation{Purge: &engine.Purge{Deletion: d, Figures: true, Left: &rec}})
	}
	expect.Slices(t, deletions(t, s, 50, 9), nil, "with figures")
	left, err := s.Deletions(false, 0, 0, 50, 9)
	expect.OK(t, err)
	expect.Slices(t, left, []engine.Deletion{{Hour: 40, ID: 1, Key: keyOf("c1")}, {Hour: 41, ID: 2, Key: keyOf("c2")}}, "without")
	for id, n := range rowsOfLinks(t, s) {
		expect.Equal(t, n, 2, "rows of link %d: the tombstone, and the one by which it is found", id)
		rec, err := s.ReadRecord(keyOf(fmt.Sprintf("c%d", id)))
		expect.That(t, err == nil && rec.Hot == gone[id].Hot && rec.Cold.Version == 9 && rec.Cold.Code == "", "got %+v, %v", rec, err)
	}
	for _, d := range left {
		apply(t, s, engine.Mutation{Purge: &engine.Purge{Deletion: d, FreesCode: true}})
	}
	wantRowsOf(t, s)
}
