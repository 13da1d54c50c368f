package storage

import (
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"shunt/engine/expect"
	"shunt/storage/disk"
	"shunt/storage/row/rowtest"
)

// lastLogBytes returns the size of the newest log of a closed store. Older ones are kept for their
// room, and not read.
func lastLogBytes(t *testing.T, fs vfs.FS, dir string) int64 {
	t.Helper()
	names, err := fs.List(fs.PathJoin(dir, disk.DBName))
	expect.OK(t, err)
	names = slices.DeleteFunc(names, func(name string) bool { return !strings.HasSuffix(name, ".log") })
	expect.MustThat(t, len(names) != 0, "there is no log")
	info, err := fs.Stat(fs.PathJoin(dir, disk.DBName, slices.Max(names)))
	expect.OK(t, err)
	return info.Size()
}

func TestACleanStopLeavesNothingInTheLog(t *testing.T) {
	disk := &limited{FS: vfs.NewMem()}
	for name, c := range map[string]struct {
		free    uint64
		settled bool
	}{"with room": {10 << 30, true}, "on a full disk": {0, false}} {
		t.Run(name, func(t *testing.T) {
			disk.avail.Store(10 << 30)
			dir := "/" + strings.ReplaceAll(name, " ", "-")
			s := open(t, dir, Options{FS: disk})
			f := rowtest.NewFlush()
			for link := range uint64(1000) {
				f.Add(1, link+1, 1, rowtest.Hit(link))
			}
			flush(t, s, 1, f)
			disk.avail.Store(c.free)
			closeStore(t, s)
			size := lastLogBytes(t, disk, dir)
			expect.Equal(t, size < 100, c.settled, "the newest log has %d bytes", size)
			disk.avail.Store(10 << 30)
			s = open(t, dir, Options{FS: disk})
			expect.Equal(t, len(hitsOf(t, s)), 1000)
			closeStore(t, s)
		})
	}
}
