package storage

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"shunt/engine/expect"
	"shunt/storage/disk"
	"shunt/storage/row"
	"shunt/storage/row/rowtest"
)

// replaceable returns a file system that crashes, with a folder at storeDir, in which a store that is to replace its
// own is made, and the rows of both. more is how many writes the store has more than that one.
func replaceable(t *testing.T, cfg func() vfs.CrashCloneCfg, more int) (c *crasher, f *disk.Folder, old, other map[string]string) {
	t.Helper()
	c, fs := newCrasher(cfg)
	rowsOf := func(dir string, writes int) map[string]string {
		s := open(t, dir, Options{FS: fs})
		stop := start(t, s)
		for i := range writes {
			apply(t, s, rowtest.Creation(rowtest.Link(fmt.Sprintf("%d-of-%s", i, dir[1:5]), uint64(i+1), 1)))
		}
		stop()
		if dir != storeDir {
			backup(t, s, backupDir)
		}
		v := s.Inspect()
		defer closeStore(t, s)
		defer closeInspection(t, v)
		return allRows(t, v)
	}
	old, other = rowsOf(storeDir, 10+more), rowsOf("/away/store", 10)
	f = &disk.Folder{FS: fs, Dir: storeDir}
	expect.OK(t, errors.Join(f.WriteSynced(disk.NodeName, "its name\n"), f.SyncDir(f.Dir)))
	inside, err := f.BeginReplacement()
	expect.OK(t, err)
	expect.OK(t, restoreTo(fs, inside))
	return c, f, old, other
}

// wantOneOf opens the store of a folder, and checks that it has the rows of one of two, and that nothing else is left.
func wantOneOf(t *testing.T, what string, fs vfs.FS, old, other map[string]string) (replaced bool) {
	t.Helper()
	s, err := Open(storeDir, Options{FS: fs, Logger: quiet})
	expect.MustThat(t, err == nil, "%s: %v", what, err)
	v := s.Inspect()
	rows := allRows(t, v)
	closeInspection(t, v)
	closeStore(t, s)
	replaced = sameLinks(rows, other)
	expect.That(t, replaced || sameLinks(rows, old), "%s: the store has the rows of neither", what)
	f := &disk.Folder{FS: fs, Dir: storeDir}
	names, err := f.List(f.Dir)
	expect.That(t, err == nil && !slices.Contains(names, disk.ReplacementName) && !slices.Contains(names, disk.ReplacementNewName), "%s: %q are left, %v", what, names, err)
	name, err := f.Read(disk.NodeName, 100)
	expect.That(t, err == nil && string(name) == "its name\n", "%s: the folder is that of the node %q, %v", what, name, err)
	return replaced
}

// sameLinks compares all rows but those of the store itself, to which a start adds.
func sameLinks(a, b map[string]string) bool {
	links := func(rows map[string]string) map[string]string {
		rows = maps.Clone(rows)
		maps.DeleteFunc(rows, func(key, _ string) bool { return key[0] == row.TableMeta })
		return rows
	}
	return maps.Equal(links(a), links(b))
}

// TestAStoreIsReplacedWholeOrNotAtAll crashes at each write while a store is replaced by another one, which has more
// acknowledged writes, as many, or fewer; and again at each write of the start after that.
func TestAStoreIsReplacedWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	for k, cfg := range []func() vfs.CrashCloneCfg{loseAll, loseNothing, loseSome(1), loseSome(2)} {
		more := []int{5, -5, 0, 5}[k]
		c, f, old, other := replaceable(t, cfg, more)
		c.arm(true)
		expect.OK(t, f.EndReplacement())
		expect.OK(t, f.Replace())
		c.arm(false)
		clones, found := c.taken(), map[bool]int{}
		for i, clone := range clones {
			what := fmt.Sprintf("losses %d, %d more writes, crash %d", k, more, i)
			for j, twice := range crashedStarts(t, clone, cfg) {
				wantOneOf(t, fmt.Sprintf("%s and then %d", what, j), twice, old, other)
			}
			replaced := wantOneOf(t, what, clone, old, other)
			expect.That(t, replaced || i < len(clones)-1, "%s: nothing was replaced", what)
			expect.Equal(t, wantOneOf(t, what+", and another start", clone, old, other), replaced, what)
			found[replaced]++
		}
		expect.That(t, found[false] >= 2 && found[true] >= 5, "%d crashes left the old store, %d the other", found[false], found[true])
	}
}

// crashedStarts crashes at each write of a start that replaces a store.
func crashedStarts(t *testing.T, left *vfs.MemFS, cfg func() vfs.CrashCloneCfg) []*vfs.MemFS {
	t.Helper()
	c := &crasher{mem: left.CrashClone(loseAll()), cfg: cfg}
	c.arm(true)
	f := &disk.Folder{FS: errorfs.Wrap(c.mem, errorfs.InjectorFunc(c.before)), Dir: storeDir}
	expect.OK(t, f.Replace())
	return c.taken()
}

// TestAReplacementThatIsNotWholeIsRemoved, and one that is is not opened by those who change nothing.
func TestAReplacementThatIsNotWholeIsRemoved(t *testing.T) {
	c, f, old, other := replaceable(t, loseNothing, 1)
	expect.That(t, !wantOneOf(t, "a store that was not to replace it yet", c.mem, old, other), "it was replaced")
	_, err := f.BeginReplacement()
	expect.OK(t, err)
	expect.Error(t, f.EndReplacement(), disk.ErrNoStore, "a replacement by nothing")
	expect.OK(t, c.mem.MkdirAll(f.Path(disk.ReplacementNewName), 0o700))
	expect.OK(t, f.FS.Rename(f.Path(disk.ReplacementNewName), f.Path(disk.ReplacementName)))
	for name, try := range map[string]func() error{
		"Inspect":  func() error { return expect.Err(Inspect(storeDir, Options{FS: c.mem, Logger: quiet})) },
		"ReadOnly": func() error { return expect.Err(Open(storeDir, Options{FS: c.mem, Logger: quiet, ReadOnly: true})) },
	} {
		expect.Error(t, try(), disk.ErrUnfinishedReplacement, name)
	}
	expect.That(t, !wantOneOf(t, "what is left of a replacement", c.mem, old, other), "it was replaced")
}

// TestAStoreInUseIsNotReplaced opens a store twice.
func TestAStoreInUseIsNotReplaced(t *testing.T) {
	c, f, old, other := replaceable(t, loseNothing, 0)
	s := open(t, storeDir, Options{FS: c.mem})
	_, err := f.BeginReplacement()
	expect.OK(t, err)
	expect.OK(t, restoreTo(f.FS, f.Path(disk.ReplacementNewName)))
	expect.OK(t, f.EndReplacement())
	expect.Error(t, expect.Err(Open(storeDir, Options{FS: c.mem, Logger: quiet})), disk.ErrLocked, "while it is open")
	closeStore(t, s)
	expect.That(t, wantOneOf(t, "after the store was closed", c.mem, old, other), "it was not replaced")
}
