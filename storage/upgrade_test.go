package storage

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"shunt/engine"
)

// oldLayouts are those that are upgraded by writing the version only.
var oldLayouts = []uint32{1, 2}

// makeOld makes a folder of an old layout, with a link, a flush and rolled-up rows of version 1, as that version of the
// program left them.
func makeOld(t *testing.T, mem vfs.FS, layout uint32) *modelFlush {
	t.Helper()
	s := open(t, "/data/store", Options{FS: mem})
	stop := start(t, s)
	apply(t, s, creation(link("old", 1, 7, "tag")))
	stop()
	f := newModelFlush()
	f.add(10, 1, 7, hit(1))
	f.add(11, 1, 7, hit(2))
	f.add(12, 2, 7, hit(3))
	flush(t, s, 1, f)
	rollUpAll(t, s, upTo(12), nil)
	writeOldVersions(t, s, mem, layout)
	closeStore(t, s)
	return f
}

func writeOldVersions(t *testing.T, s *Store, mem vfs.FS, layout uint32) {
	t.Helper()
	b := s.db.NewBatch()
	set(b, metaKey(metaLayout), binary.BigEndian.AppendUint32(nil, layout))
	if err := s.sync(b, "test"); err != nil {
		t.Fatal(err)
	}
	s.layout = layout
	folder := &folder{fs: mem, dir: "/data/store"}
	if err := folder.writeSynced(formatName, fmt.Sprintf("shunt store, format %d\n", layout)); err != nil {
		t.Fatal(err)
	}
	if err := folder.syncDir(folder.dir); err != nil {
		t.Fatal(err)
	}
}

// wantUpgraded checks that an open store has all rows of makeOld, and that both its versions are this program's.
func wantUpgraded(t *testing.T, s *Store, mem vfs.FS) {
	t.Helper()
	if rec, err := s.ReadRecord("old"); err != nil || rec.Hot.ID != 1 {
		t.Errorf("link: got %+v, %v", rec, err)
	}
	both := hit(1)
	both.add(hit(2))
	wantTally(t, s, 1, both)
	wantTally(t, s, 2, hit(3))
	if day, err := s.get(appendOwnerDayKey(nil, 7, 0)); err != nil || !bytes.Equal(day, both.row()) {
		t.Errorf("owner day: got %x, %v, want %x", day, err, both.row())
	}
	version, _, err := (&folder{fs: mem, dir: "/data/store"}).readFormat(formatName)
	if err != nil || version != layoutVersion {
		t.Errorf("format file: got %d, %v", version, err)
	}
	if layout, err := s.readLayout(); err != nil || layout != layoutVersion {
		t.Errorf("layout version: got %d, %v", layout, err)
	}
}

// wantAllUpgraded opens what crashes have left.
func wantAllUpgraded(t *testing.T, clones []*vfs.MemFS) {
	t.Helper()
	for i, clone := range clones {
		s, err := Open("/data/store", Options{FS: clone, Logger: quiet})
		if err != nil {
			t.Errorf("crash %d: %v", i, err)
			continue
		}
		wantUpgraded(t, s, clone)
		closeStore(t, s)
	}
}

func TestAStoreOfAnOldLayoutIsUpgradedWhereverItsOpeningCrashes(t *testing.T) {
	for i, cfg := range []func() vfs.CrashCloneCfg{loseAll, loseNothing, loseAll, loseNothing} {
		c, fs := newCrasher(cfg)
		makeOld(t, c.mem, oldLayouts[i/2])
		c.arm(true)
		s := open(t, "/data/store", Options{FS: fs})
		c.arm(false)
		wantUpgraded(t, s, c.mem)
		closeStore(t, s)
		if len(c.taken()) < 10 {
			t.Fatalf("got %d points to crash at", len(c.taken()))
		}
		wantAllUpgraded(t, c.taken())
	}
}

// TestAnUpgradeBearsAnyLoss leaves out Pebble's own opening, which does not.
func TestAnUpgradeBearsAnyLoss(t *testing.T) {
	for seed := range uint64(10) {
		c, fs := newCrasher(loseSome(seed))
		layout := oldLayouts[seed%2]
		makeOld(t, c.mem, layout)
		s := open(t, "/data/store", Options{FS: fs})
		writeOldVersions(t, s, fs, layout)
		c.arm(true)
		if err := s.upgrade(&folder{fs: fs, dir: "/data/store"}); err != nil {
			t.Fatal(err)
		}
		c.arm(false)
		wantUpgraded(t, s, c.mem)
		closeStore(t, s)
		wantAllUpgraded(t, c.taken())
	}
}

func TestAnUpgradedStoreTakesRowsThatOlderProgramsDoNotKnow(t *testing.T) {
	mem := vfs.NewMem()
	makeOld(t, mem, 1)
	s := openMem(t, mem)
	f := newModelFlush()
	f.add(12, 2, 7, hitFrom(4, "a.b", 5, 2, 1))
	flush(t, s, 2, f)
	rollUpAll(t, s, upTo(13), nil)
	closeStore(t, s)
	s = openMem(t, mem)
	defer closeStore(t, s)
	sum := hit(3)
	sum.add(f.links[linkHour{12, 2}])
	wantTally(t, s, 2, sum)
}

// deletionsOfLayout2 is what a store that makeLayout2 made must have in the index by deletion.
var deletionsOfLayout2 = []engine.Deletion{
	{Hour: 0, ID: 3, Code: "again"}, {Hour: 0, ID: 4, Code: "again"}, {Hour: 40, ID: 2, Code: "gone"}, {Hour: 41, ID: 70_000, Code: "far"},
}

// makeLayout2 makes a folder of layout 2: links that are live, deleted, and deleted and made anew, without index.
func makeLayout2(t *testing.T, mem vfs.FS) {
	t.Helper()
	s := open(t, "/data/store", Options{FS: mem})
	stop := start(t, s)
	for _, rec := range []engine.Record{link("live", 1, 7, "tag"), link("gone", 2, 7), link("far", 70_000, 7)} {
		apply(t, s, creation(rec))
	}
	apply(t, s, deletedAt(link("gone", 2, 7), 40))
	apply(t, s, deletedAt(link("far", 70_000, 7), 41))
	for id := uint64(3); id <= 5; id++ { // two deleted ones, and a live one
		apply(t, s, creation(link("again", id, 7)))
		if id < 5 {
			apply(t, s, deletedAt(link("again", id, 7), 42))
		}
	}
	stop()
	b := s.db.NewBatch()
	for key := range rows(t, s, tableByDeletion) {
		remove(b, []byte(key))
	}
	if err := s.sync(b, "test"); err != nil {
		t.Fatal(err)
	}
	writeOldVersions(t, s, mem, 2)
	closeStore(t, s)
}

func wantDeletionsIndexed(t *testing.T, s *Store) {
	t.Helper()
	if got := deletions(t, s, 1<<32-1, 100); !slices.Equal(got, deletionsOfLayout2) {
		t.Errorf("got %v, want %v", got, deletionsOfLayout2)
	}
	if layout, err := s.readLayout(); err != nil || layout != layoutVersion {
		t.Errorf("layout version: got %d, %v", layout, err)
	}
}

// TestAnUpgradeIndexesWhatWasDeletedWhereverItCrashes commits after every row. In the end everything that is listed is
// purged: only links that are live are left.
func TestAnUpgradeIndexesWhatWasDeletedWhereverItCrashes(t *testing.T) {
	defer func(n int) { upgradeBatchBytes = n }(upgradeBatchBytes)
	upgradeBatchBytes = 1
	for _, cfg := range []func() vfs.CrashCloneCfg{loseAll, loseNothing} {
		c, fs := newCrasher(cfg)
		makeLayout2(t, c.mem)
		c.arm(true)
		s := open(t, "/data/store", Options{FS: fs})
		c.arm(false)
		wantDeletionsIndexed(t, s)
		closeStore(t, s)
		for i, clone := range c.taken() {
			s, err := Open("/data/store", Options{FS: clone, Logger: quiet})
			if err != nil {
				t.Fatalf("crash %d: %v", i, err)
			}
			wantDeletionsIndexed(t, s)
			closeStore(t, s)
		}
		if len(c.taken()) < 15 {
			t.Errorf("got %d points to crash at", len(c.taken()))
		}
	}
}

func TestWhatAnUpgradeHasIndexedCanBePurged(t *testing.T) {
	mem := vfs.NewMem()
	makeLayout2(t, mem)
	s := openMem(t, mem)
	defer closeStore(t, s)
	stop := start(t, s)
	defer stop()
	for _, d := range deletions(t, s, 1<<32-1, 100) {
		apply(t, s, purgeOf(d, d.Hour != 0))
	}
	wantRowsOf(t, s, 1, 5)
}

func TestAnUpgradeRefusesWhatIsNoColdRecord(t *testing.T) {
	for _, c := range []struct{ key, value []byte }{
		{append(appendColdKey(nil, 9), 0), appendCold(nil, &goldenCold)}, {appendColdKey(nil, 9), []byte{9}},
	} {
		mem := vfs.NewMem()
		makeLayout2(t, mem)
		s := openMem(t, mem)
		b := s.db.NewBatch()
		set(b, c.key, c.value)
		if err := s.sync(b, "test"); err != nil {
			t.Fatal(err)
		}
		writeOldVersions(t, s, mem, 2)
		closeStore(t, s)
		if _, err := Open("/data/store", Options{FS: mem, Logger: quiet}); !errors.Is(err, ErrCorrupt) {
			t.Errorf("got %v, want ErrCorrupt", err)
		}
	}
}

func TestASetOfIDsHasWhatWasAdded(t *testing.T) {
	var s idSet
	ids := []uint64{0, 63, 64, 65_535, 65_536, 1<<48 | 5, 1<<64 - 1}
	for _, id := range ids {
		if s.has(id) {
			t.Errorf("%d is in it before it was added", id)
		}
		s.add(id)
	}
	for _, id := range ids {
		if !s.has(id) || s.has(id^2) {
			t.Errorf("%d: got %v, and %v for a neighbour", id, s.has(id), s.has(id^2))
		}
	}
}
