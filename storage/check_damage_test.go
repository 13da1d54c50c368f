package storage

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"shunt/engine"
	"shunt/engine/expect"
	"shunt/storage/disk"
	"shunt/storage/row/rowtest"
)

// A damaged block of a table file makes many rows unreadable. The file is reported first, its
// consequences are grouped, and no row is called missing that is only unreadable.
func TestADamagedFileIsReportedBeforeItsConsequences(t *testing.T) {
	expect.Long(t)
	t.Parallel()
	mem := vfs.NewMem()
	s := openMem(t, mem)
	stop := start(t, s)
	_, err := s.AllocateIDs(5000)
	expect.OK(t, err)
	for id := uint64(1); id <= 3000; id++ {
		apply(t, s, rowtest.Creation(rowtest.Link(fmt.Sprintf("code%04d", id), id, checkedOwner, "spring")))
	}
	stop()
	expect.OK(t, s.db.Flush())
	closeStore(t, s)
	path := damageLargestTable(t, mem, "/data/store/"+disk.DBName)

	v := inspect(t, "/data/store", mem)
	defer closeInspection(t, v)
	faults := new(engine.Faults)
	_, err = v.Check(t.Context(), CheckOptions{Faults: faults})
	expect.OK(t, err)
	first, total := faults.Found()
	expect.MustThat(t, len(first) >= 2 && first[0].Where == path && !first[0].Follows && strings.HasPrefix(first[0].What, "it is damaged: block "),
		"got %+v, want the file first", first)
	followed := uint64(0)
	for _, g := range faults.Groups() {
		followed += g.Count
	}
	expect.That(t, followed == total-1, "got groups of %d faults, want the other %d", followed, total-1)
	for _, f := range first[1:] {
		expect.That(t, f.Follows && !strings.Contains(f.What, "missing") && strings.Contains(f.What, filepath.Base(path)+" is damaged"),
			"got %+v, want that the row cannot be read", f)
	}
	for _, f := range first {
		expect.That(t, !strings.Contains(f.What, "pebble") && !strings.Contains(f.What, "\n"), "got %q, want plain words in one line", f.What)
	}
}

// damageLargestTable flips a bit in the middle of the largest table file, and returns its path.
func damageLargestTable(t *testing.T, mem vfs.FS, dir string) (path string) {
	t.Helper()
	names, err := mem.List(dir)
	expect.OK(t, err)
	size := int64(0)
	for _, name := range names {
		info, err := mem.Stat(mem.PathJoin(dir, name))
		expect.OK(t, err)
		if strings.HasSuffix(name, ".sst") && info.Size() > size {
			path, size = mem.PathJoin(dir, name), info.Size()
		}
	}
	f, err := mem.OpenReadWrite(path, vfs.WriteCategoryUnspecified)
	expect.OK(t, err)
	defer f.Close()
	b := make([]byte, 1)
	_, err = f.ReadAt(b, size/4)
	expect.OK(t, err)
	b[0] ^= 0x40
	_, err = f.WriteAt(b, size/4)
	expect.OK(t, err)
	return path
}
