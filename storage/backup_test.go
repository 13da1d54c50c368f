package storage

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"shunt/engine"
	"shunt/engine/expect"
	"shunt/storage/disk"
	"shunt/storage/row"
	"shunt/storage/row/rowtest"
)

const (
	storeDir  = "/data/store"
	backupDir = "/backups/one"
	otherDir  = "/other/store"
)

func backup(t testing.TB, s *Store, dir string) BackupResult {
	t.Helper()
	result, err := s.Backup(t.Context(), dir)
	expect.OK(t, err)
	return result
}

// allRows returns every row of a store or backup except the journal's positions.
func allRows(t testing.TB, v *Inspection) map[string]string {
	t.Helper()
	it, err := v.r.NewIter(nil)
	expect.OK(t, err)
	defer it.Close()
	found := map[string]string{}
	for valid := it.First(); valid; valid = it.Next() {
		found[string(it.Key())] = string(it.Value())
	}
	delete(found, string(row.MetaKey(row.MetaPositions)))
	return found
}

// wantWhole checks that a folder has the rows and no fault.
func wantWhole(t testing.TB, dir string, fs vfs.FS, want map[string]string) {
	t.Helper()
	v := inspect(t, dir, fs)
	defer closeInspection(t, v)
	got := allRows(t, v)
	expect.That(t, maps.Equal(got, want), "%s: got %d rows, want %d that are others", dir, len(got), len(want))
	if _, faults, total := checkAll(t, v); total > 0 {
		t.Errorf("%s: got %d faults:\n%s", dir, total, tell(faults))
	}
}

// memBackup returns a file system with a closed store that has rows of every kind and a backup of
// it, and the rows of both.
func memBackup(t testing.TB) (*vfs.MemFS, map[string]string) {
	t.Helper()
	mem := vfs.NewCrashableMem()
	s := openMem(t, mem)
	fillForCheck(t, s)
	v := s.Inspect()
	rows := allRows(t, v)
	closeInspection(t, v)
	backup(t, s, backupDir)
	closeStore(t, s)
	return mem, rows
}

func TestABackupIsWholeAndNotOpenedAsAStore(t *testing.T) {
	mem, rows := memBackup(t)
	wantWhole(t, backupDir, mem, rows)
	for _, create := range []bool{false, true} {
		_, err := Open(backupDir, Options{FS: mem, Create: create, Logger: quiet})
		expect.Error(t, err, disk.ErrBackup, "Open with Create %v", create)
	}
	v := inspect(t, backupDir, mem)
	defer closeInspection(t, v)
	expect.That(t, v.Backup(), "Backup() is false")
}

func TestABackupRefusesATargetInUse(t *testing.T) {
	home := t.TempDir()
	dir := filepath.Join(home, "store")
	s := open(t, dir, Options{})
	defer closeStore(t, s)
	full, link := filepath.Join(home, "full"), filepath.Join(t.TempDir(), "link")
	expect.OK(t, errors.Join(os.Mkdir(full, 0o700), os.WriteFile(filepath.Join(full, "letter"), nil, 0o600), os.Symlink(dir, link)))
	before := contents(t, home)
	for target, want := range map[string]error{
		full:                            disk.ErrNotEmpty,
		home:                            disk.ErrNotEmpty,
		dir:                             disk.ErrNotEmpty,
		filepath.Join(dir, "backup"):    disk.ErrInside,
		filepath.Join(dir, "a", "b"):    disk.ErrInside,
		filepath.Join(link, "backup"):   disk.ErrInside,
		filepath.Join(link, "db", "xy"): disk.ErrInside,
	} {
		_, err := s.Backup(t.Context(), target)
		expect.Error(t, err, want, "%s", target)
	}
	s.backups.Lock()
	_, err := s.Backup(t.Context(), filepath.Join(home, "second"))
	expect.Error(t, err, disk.ErrBackupRuns, "while another one runs")
	s.backups.Unlock()
	expect.That(t, maps.Equal(contents(t, home), before), "a refused backup has changed files")
}

func TestABackupThatFailsLeavesNothing(t *testing.T) {
	mem := vfs.NewMem()
	s := openMem(t, mem)
	defer closeStore(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Backup(ctx, backupDir)
	expect.Error(t, err, context.Canceled)
	names, err := mem.List(backupDir)
	expect.That(t, err == nil && len(names) == 0, "got %q, %v in the folder", names, err)
	backup(t, s, backupDir)
}

// TestACrashedBackupIsWholeOrRefused crashes before each write of a backup.
func TestACrashedBackupIsWholeOrRefused(t *testing.T) {
	for _, cfg := range []func() vfs.CrashCloneCfg{loseAll, loseNothing} {
		c, fs := newCrasher(cfg)
		s := open(t, storeDir, Options{FS: fs})
		fillForCheck(t, s)
		v := s.Inspect()
		rows := allRows(t, v)
		closeInspection(t, v)
		c.arm(true)
		backup(t, s, backupDir)
		c.arm(false)
		closeStore(t, s)
		clones, whole := c.taken(), 0
		for i, clone := range clones {
			v, err := Inspect(backupDir, Options{FS: clone, Logger: quiet})
			switch {
			case err == nil:
				whole++
				closeInspection(t, v)
				wantWhole(t, backupDir, clone, rows)
			case !errors.Is(err, disk.ErrUnfinishedBackup) && !errors.Is(err, disk.ErrNoStore):
				t.Errorf("crash %d: got %v", i, err)
			}
			if s, err := Open(backupDir, Options{FS: clone, Logger: quiet}); err == nil {
				closeStore(t, s)
				t.Errorf("crash %d: it was opened as a store", i)
			}
		}
		expect.That(t, whole != 0 && whole != len(clones) && len(clones) >= 20, "%d of %d backups are whole", whole, len(clones))
	}
}

func restoreTo(fs vfs.FS, dir string) error {
	_, err := Restore(context.Background(), backupDir, dir, RestoreOptions{FS: fs, Logger: quiet})
	return err
}

func TestARestoredStoreIsTheOriginalWithItsOwnJournal(t *testing.T) {
	mem, rows := memBackup(t)
	progress, last := 0, uint64(0)
	result, err := Restore(t.Context(), backupDir, otherDir, RestoreOptions{FS: mem, Logger: quiet, Progress: func(copied, all uint64) {
		if progress++; copied < last || copied > all {
			t.Errorf("%d of %d bytes after %d", copied, all, last)
		}
		last = copied
	}})
	expect.MustThat(t, err == nil && progress != 0 && result.Bytes != 0 && result.Bytes == last, "got %+v, %v, %d times progress", result, err, progress)
	wantWhole(t, otherDir, mem, rows)
	wantWhole(t, backupDir, mem, rows)

	original := open(t, storeDir, Options{FS: mem})
	restored := open(t, otherDir, Options{FS: mem})
	defer closeStore(t, original)
	defer closeStore(t, restored)
	expect.Equal(t, original.Identity(), restored.Identity(), "the identity has changed")
	was, _ := original.Positions()
	is, err := restored.Positions()
	expect.That(t, err == nil && len(is.Rings) == 0 && is.Epoch>>32 != was.Epoch>>32 && is.FlushSeq == was.FlushSeq && is.OpenHour == was.OpenHour,
		"got %+v, %v, after %+v", is, err, was)
}

func TestTwoRestoresOfOneBackupHaveTwoHistories(t *testing.T) {
	mem, _ := memBackup(t)
	seen := map[uint64]bool{}
	for i := range 4 {
		dir := fmt.Sprintf("/other/%d", i)
		expect.OK(t, restoreTo(mem, dir))
		v := inspect(t, dir, mem)
		p, err := v.Positions()
		closeInspection(t, v)
		expect.That(t, err == nil && !seen[p.Epoch], "got epoch %d, %v", p.Epoch, err)
		seen[p.Epoch] = true
	}
}

// TestACrashedRestoreIsRefusedUntilItIsRunAgain crashes before each write of a restore, and lets
// the second one run to its end.
func TestACrashedRestoreIsRefusedUntilItIsRunAgain(t *testing.T) {
	t.Parallel()
	for _, cfg := range []func() vfs.CrashCloneCfg{loseAll, loseNothing, loseSome(1)} {
		mem, rows := memBackup(t)
		c := &crasher{mem: mem, cfg: cfg}
		c.arm(true)
		expect.OK(t, restoreTo(errorfs.Wrap(mem, errorfs.InjectorFunc(c.before)), otherDir))
		c.arm(false)
		clones, unfinished := c.taken(), 0
		for i := 0; i < len(clones); i += stride {
			clone := clones[i]
			s, err := Open(otherDir, Options{FS: clone, Logger: quiet})
			switch {
			case err == nil:
				closeStore(t, s)
				expect.Error(t, restoreTo(clone, otherDir), disk.ErrNotEmpty, "crash %d of a restore into what is whole", i)
				continue
			case errors.Is(err, disk.ErrUnfinishedRestore):
				unfinished++
				_, err := Open(otherDir, Options{FS: clone, Logger: quiet, Create: true})
				expect.Error(t, err, disk.ErrUnfinishedRestore, "crash %d, with Create", i)
			case !errors.Is(err, disk.ErrNoStore):
				t.Errorf("crash %d: got %v", i, err)
			}
			if err := restoreTo(clone, otherDir); err != nil {
				t.Errorf("crash %d: the second restore: %v", i, err)
				continue
			}
			wantWhole(t, otherDir, clone, rows)
		}
		expect.That(t, unfinished >= 10/stride, "only %d of %d moments to crash at left a restore that did not finish", unfinished, len(clones))
	}
}

func TestARestoreRefusesWhatItShouldNotTouch(t *testing.T) {
	mem, _ := memBackup(t)
	touch := func(path string) {
		expect.OK(t, mem.MkdirAll(mem.PathDir(path), 0o700))
		f, err := mem.Create(path, vfs.WriteCategoryUnspecified)
		err = errors.Join(err, f.Close())
		expect.OK(t, err)
	}
	touch("/full/letter")
	touch("/strange/db/CURRENT")
	touch("/journal-only/journal/ring")
	for target, want := range map[string]error{
		storeDir: disk.ErrNotEmpty, "/full": disk.ErrNotEmpty, "/strange": disk.ErrNotEmpty, "/journal-only": disk.ErrNotEmpty,
		backupDir: disk.ErrInside, backupDir + "/new": disk.ErrInside, "/backups": disk.ErrInside,
	} {
		before := mem.String()
		expect.Error(t, restoreTo(mem, target), want, "to %s", target)
		expect.Error(t, Restorable(backupDir, target, mem), want, "Restorable, to %s", target)
		expect.Equal(t, mem.String(), before, "%s has changed", target)
	}
	for from, want := range map[string]error{"/nothing": disk.ErrNoStore, storeDir: disk.ErrNotAStore, "/full": disk.ErrNotAStore} {
		_, err := Restore(t.Context(), from, otherDir, RestoreOptions{FS: mem, Logger: quiet})
		expect.Error(t, err, want, "from %s", from)
	}
	expect.That(t, expect.Err(mem.Stat(otherDir)) != nil, "a refused restore has made its target")
}

func TestARestoreThatIsStoppedIsUnfinished(t *testing.T) {
	mem, rows := memBackup(t)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := Restore(ctx, backupDir, otherDir, RestoreOptions{FS: mem, Logger: quiet, Progress: func(uint64, uint64) { cancel() }})
	expect.Error(t, err, context.Canceled)
	_, err = Open(otherDir, Options{FS: mem, Logger: quiet})
	expect.Error(t, err, disk.ErrUnfinishedRestore)
	expect.OK(t, restoreTo(mem, otherDir))
	wantWhole(t, otherDir, mem, rows)
}

// TestABackupUnderLoadHasEveryEarlierAcknowledgedWrite runs an engine with writers and visitors,
// and makes a backup at the same time.
func TestABackupUnderLoadHasEveryEarlierAcknowledgedWrite(t *testing.T) {
	home := t.TempDir()
	s := open(t, filepath.Join(home, "store"), Options{})
	defer closeStore(t, s)
	defer start(t, s)()
	e, err := engine.Open(s, engine.Options{JournalDir: filepath.Join(home, "journal"), Rings: 2, RingRecords: 1 << 14})
	expect.OK(t, err)
	expect.OK(t, e.Load(t.Context(), nil))
	ctx, stop := context.WithCancel(t.Context())
	var loops, run sync.WaitGroup
	run.Go(func() { _ = e.Run(ctx) })
	l := newLoad(e)
	for i := range 3 {
		loops.Go(func() { l.write(t, i) })
	}
	loops.Go(func() { l.visit() })

	for i := range 5 {
		before := l.acknowledged(2_000 * (i + 1))
		dir := filepath.Join(home, fmt.Sprintf("backup-%d", i))
		expect.OK(t, e.FlushRecorded(t.Context()))
		backup(t, s, dir)
		l.compare(t, dir, before)
	}
	l.stop.Store(true)
	loops.Wait()
	stop()
	run.Wait()
	expect.OK(t, e.Close())
}

// TestABackupOfAJustOpenedStoreIsWhole opens a store whose log is empty, as a start that was killed
// at once leaves it.
func TestABackupOfAJustOpenedStoreIsWhole(t *testing.T) {
	mem := vfs.NewCrashableMem()
	s := openMem(t, mem)
	stop := start(t, s)
	apply(t, s, rowtest.Creation(rowtest.Link("kept", 1, 1)))
	stop()
	closeStore(t, s)
	for range 2 { // the first opening writes the log into a table, the second finds an empty log
		s = openMem(t, mem)
		mem = mem.CrashClone(loseNothing())
		closeStore(t, s)
	}
	s = openMem(t, mem)
	_, err := s.Backup(t.Context(), "/backup")
	expect.OK(t, err)
	closeStore(t, s)
	_, err = Restore(t.Context(), "/backup", "/restored", RestoreOptions{FS: mem, Logger: quiet})
	expect.OK(t, err)
	restored := open(t, "/restored", Options{FS: mem})
	expect.NoError(t, expect.Err(restored.ReadRecord(keyOf("kept"))))
	closeStore(t, restored)
}

// forgetful drops everything written to files whose names contain a string.
type forgetful struct {
	vfs.FS
	part string
}

type droppedFile struct{ vfs.File }

func (droppedFile) Write(b []byte) (int, error) { return len(b), nil }

func (f forgetful) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	file, err := f.FS.Create(name, category)
	if err == nil && strings.Contains(name, f.part) {
		return droppedFile{file}, nil
	}
	return file, err
}

func TestABrokenOrIncompleteCheckpointFailsTheBackup(t *testing.T) {
	for _, part := range []string{"/backup/db/MANIFEST", "/backup/db/0"} { // the manifest; the log
		mem := vfs.NewMem()
		s := open(t, "/data/store", Options{FS: forgetful{mem, part}})
		stop := start(t, s)
		apply(t, s, rowtest.Creation(rowtest.Link("kept", 1, 1)))
		expect.That(t, expect.Err(s.Backup(t.Context(), "/backup")) != nil, "%s is empty, and Backup returned no error", part)
		names, err := mem.List("/backup")
		expect.That(t, err != nil || len(names) == 0, "%s is empty: files %q are left", part, names)
		stop()
		closeStore(t, s)
	}
}

// A start may be killed after the old logs are removed and before the new one is made. The next
// start has nothing to write into a table, so Pebble writes no manifest: its checkpoints have an
// empty one, which cannot be opened.
func TestABackupOfAStoreWithoutTablesIsWhole(t *testing.T) {
	mem := vfs.NewCrashableMem()
	s := openMem(t, mem)
	fillForCheck(t, s)
	closeStore(t, s)
	closeStore(t, openMem(t, mem))
	for round := range 3 {
		names, err := mem.List(mem.PathJoin(storeDir, disk.DBName))
		expect.OK(t, err)
		for _, name := range names {
			if strings.HasSuffix(name, ".log") {
				expect.OK(t, mem.Remove(mem.PathJoin(storeDir, disk.DBName, name)))
			}
		}
		s = openMem(t, mem)
		v := s.Inspect()
		rows := allRows(t, v)
		closeInspection(t, v)
		dir := fmt.Sprintf("%s-%d", backupDir, round)
		backup(t, s, dir)
		closeStore(t, s)
		saved := inspect(t, dir, mem)
		got := allRows(t, saved)
		closeInspection(t, saved)
		for _, all := range []map[string]string{rows, got} {
			delete(all, string(row.MetaKey(row.MetaSequence))) // the backup's own write
		}
		expect.That(t, maps.Equal(got, rows), "got %d rows, want %d that are others", len(got), len(rows))
	}
}
