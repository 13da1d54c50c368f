package storage

import (
	"context"
	"encoding/binary"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"shunt/engine"
	"shunt/storage/disk"
	"shunt/storage/kv"
	"shunt/storage/row"
)

// unpackVersion1 unpacks folders that the last program of version 1 wrote: a data folder in store,
// without its journal and its ballast, and a backup of it in backup. Both have the links kept, with
// 3 hits, limited, with 1, and Gone, which is deleted; the users admin and ann@example.com, and a
// token of each.
func unpackVersion1(t *testing.T) (store, backup string) {
	t.Helper()
	dir := unpack(t, "testdata/version1.tar.gz")
	return filepath.Join(dir, "store"), filepath.Join(dir, "backup")
}

// wantVersion1 checks that s has the links of version 1, and was converted.
func wantVersion1(t *testing.T, s *Store) {
	t.Helper()
	all := uint64(0)
	for _, n := range hitsOf(t, s) {
		all += n
	}
	kept, err := s.ReadRecord("kept")
	if err != nil || kept.Hot.Target != "https://example.org/a" || len(kept.Cold.Tags) != 1 || all != 4 {
		t.Errorf("got %+v, %v, and %d hits, want 4", kept, err, all)
	}
	if gone, err := s.ReadRecord("Gone"); err != nil || gone.Hot.Flags&engine.FlagTombstone == 0 {
		t.Errorf("the deleted link: got %+v, %v", gone, err)
	}
	accounts := 0
	if err := s.Accounts().Scan(nil, func(_, _ []byte) (bool, error) { accounts++; return true, nil }); err != nil || accounts == 0 {
		t.Errorf("got %d rows of accounts, %v", accounts, err)
	}
	wantConverted(t, s)
}

func wantConverted(t *testing.T, s *Store) {
	t.Helper()
	version, _, err := s.folder.ReadFormat(disk.FormatName)
	layout, rowErr := s.writer.Get(row.MetaKey(row.MetaLayout))
	if err != nil || rowErr != nil || version != row.LayoutVersion || binary.BigEndian.Uint32(layout) != row.LayoutVersion {
		t.Errorf("got version %d, %v, and layout %x, %v, want %d", version, err, layout, rowErr, row.LayoutVersion)
	}
}

func wantNoFaults(t *testing.T, v *Inspection) {
	t.Helper()
	defer closeInspection(t, v)
	faults := new(engine.Faults)
	if _, err := v.Check(t.Context(), CheckOptions{Faults: faults}); err != nil {
		t.Fatal(err)
	}
	if first, total := faults.Found(); total > 0 {
		t.Errorf("got %d faults:\n%s", total, tell(first))
	}
}

func TestAStoreOfVersionOneIsConvertedAtTheFirstStart(t *testing.T) {
	dir, _ := unpackVersion1(t)
	for start := range 2 {
		s, err := Open(dir, Options{Logger: quiet})
		if err != nil {
			t.Fatal(err)
		}
		wantVersion1(t, s)
		if n := len(auditLog(t, s)); n != start {
			t.Errorf("start %d: the audit log has %d entries", start, n)
		}
		write := make(chan error, 1)
		s.Accounts().Write(nil, [][]byte{[]byte("none")}, &engine.AuditEntry{Action: engine.UserDeleted}, func(err error) { write <- err })
		if err := <-write; err != nil {
			t.Error(err)
		}
		wantNoFaults(t, s.Inspect())
		closeStore(t, s)
	}
	wantNoFaults(t, inspect(t, dir, nil))
}

func TestAStoreOfVersionOneIsCheckedAndLeftAsItIs(t *testing.T) {
	store, backup := unpackVersion1(t)
	before := contents(t, filepath.Dir(store))
	wantNoFaults(t, inspect(t, store, nil))
	wantNoFaults(t, inspect(t, backup, nil))
	if after := contents(t, filepath.Dir(store)); !maps.Equal(before, after) {
		t.Error("the folders have changed")
	}
}

func TestABackupOfVersionOneIsRestoredAndConverted(t *testing.T) {
	_, backup := unpackVersion1(t)
	dir := filepath.Join(t.TempDir(), "new")
	if _, err := Restore(context.Background(), backup, dir, RestoreOptions{Logger: quiet}); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, disk.FormatName)); err != nil || string(text) != "shunt data, version 1\n" {
		t.Errorf("the restored folder says %q, %v: the older program must be able to open it", text, err)
	}
	wantNoFaults(t, inspect(t, dir, nil))
	s := open(t, dir, Options{})
	wantVersion1(t, s)
	again := filepath.Join(t.TempDir(), "again")
	if _, err := s.Backup(context.Background(), again); err != nil {
		t.Error(err)
	}
	closeStore(t, s)
	want := fmt.Sprintf("shunt backup, version %d\n", row.LayoutVersion)
	if text, err := os.ReadFile(filepath.Join(again, disk.FormatName)); err != nil || string(text) != want {
		t.Errorf("a backup after it says %q, %v", text, err)
	}
	wantNoFaults(t, inspect(t, again, nil))
}

// memVersion1 returns a file system in memory with the store of version 1.
func memVersion1(t *testing.T) *vfs.MemFS {
	t.Helper()
	store, _ := unpackVersion1(t)
	mem := vfs.NewCrashableMem()
	err := filepath.WalkDir(store, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(store, path)
		name = mem.PathJoin("/data/store", filepath.ToSlash(name))
		if d.IsDir() {
			return mem.MkdirAll(name, 0o700)
		}
		text, err := os.ReadFile(path)
		if err == nil {
			writeMem(t, mem, name, text)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return mem.CrashClone(loseNothing()) // all of it is durable
}

// A crash leaves a store of version 1 or one that the older program refuses by its format file; and
// the next start converts it.
func TestACrashedConversionIsDoneAgain(t *testing.T) {
	t.Parallel()
	for _, cfg := range []func() vfs.CrashCloneCfg{loseAll, loseNothing, loseSome(1), loseSome(2)} {
		c := &crasher{mem: memVersion1(t), cfg: cfg}
		s, err := openCrashing(c)
		if err != nil {
			t.Fatal(err)
		}
		closeStore(t, s)
		seen := map[string]bool{}
		for i, clone := range c.taken() {
			seen[wantVersionTold(t, clone)] = true
			wantNoFaults(t, inspect(t, "/data/store", clone))
			s, err := Open("/data/store", Options{FS: clone, Logger: quiet})
			if err != nil {
				t.Errorf("crash %d: %v", i, err)
				continue
			}
			wantVersion1(t, s)
			closeStore(t, s)
		}
		for _, state := range []string{"1, 1", "3, 1", "3, 3"} {
			if !seen[state] {
				t.Errorf("no crash left file and row at %s: %v", state, seen)
			}
		}
	}
}

func openCrashing(c *crasher) (*Store, error) {
	c.arm(true)
	defer c.arm(false)
	return Open("/data/store", Options{FS: errorfs.Wrap(c.mem, errorfs.InjectorFunc(c.before)), Logger: quiet})
}

// wantVersionTold returns the version in the format file and the layout in the database. The file is
// never behind.
func wantVersionTold(t *testing.T, fs vfs.FS) string {
	t.Helper()
	v := inspect(t, "/data/store", fs)
	defer closeInspection(t, v)
	version, _, err := v.folder.ReadFormat(disk.FormatName)
	if err != nil {
		t.Fatal(err)
	}
	value, err := kv.Read(v.r, row.MetaKey(row.MetaLayout))
	if err != nil {
		t.Fatal(err)
	}
	layout := binary.BigEndian.Uint32(value)
	if version < layout {
		t.Errorf("the format file says %d, and the database has %d", version, layout)
	}
	return fmt.Sprintf("%d, %d", version, layout)
}

func TestAFormatFileBehindItsDatabaseIsAFaultAndIsMended(t *testing.T) {
	dir, _ := unpackVersion1(t)
	closeStore(t, open(t, dir, Options{}))
	write(t, filepath.Join(dir, disk.FormatName), "shunt data, version 1\n")
	v, want := inspect(t, dir, nil), "version 1, and the database has 3"
	if _, faults, _ := checkAll(t, v); !strings.Contains(tell(faults), want) {
		t.Errorf("got %s, want %s", tell(faults), want)
	}
	closeInspection(t, v)
	s := open(t, dir, Options{})
	wantConverted(t, s)
	closeStore(t, s)
}
