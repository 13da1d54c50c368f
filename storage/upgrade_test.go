package storage

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
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
