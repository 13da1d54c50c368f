package storage

import (
	"errors"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"shunt/engine"
	"shunt/engine/expect"
	"shunt/storage/disk"
	"shunt/storage/row/rowtest"
)

// limited is a file system in memory with avail bytes of free space.
type limited struct {
	vfs.FS
	avail atomic.Uint64
}

const limitedTotal = 100 << 30

func (l *limited) GetDiskUsage(string) (vfs.DiskUsage, error) {
	return vfs.DiskUsage{AvailBytes: l.avail.Load(), TotalBytes: limitedTotal}, nil
}

func TestTheFloorIsTheSmallerOfItsLimits(t *testing.T) {
	for _, c := range []struct {
		floor       Floor
		total, want uint64
	}{
		{Floor{}, 100 << 30, 512 << 20},
		{Floor{}, 1 << 30, 1 << 30 / 20},
		{Floor{Bytes: 7}, 100, 7},
		{Floor{Percent: 10}, 100, 10},
		{Floor{Bytes: 7, Percent: 5}, 100, 5},
		{Floor{Off: true}, 100, 0},
	} {
		expect.Equal(t, c.floor.of(c.total), c.want, "%+v of %d", c.floor, c.total)
	}
}

// TestBelowTheFloorLinksAreRefusedAndHitsAreFlushed lowers the free space and raises it again; the
// default floor is 512 MiB here.
func TestBelowTheFloorLinksAreRefusedAndHitsAreFlushed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := &limited{FS: vfs.NewMem()}
		disk.avail.Store(10 << 30)
		s := open(t, "/data/store", Options{FS: disk})
		stop := start(t, s)
		for i, step := range []struct {
			free     uint64
			readOnly bool
		}{{512 << 20, false}, {512<<20 - 1, true}, {0, true}, {300 << 20, true}, {10 << 30, false}} {
			disk.avail.Store(step.free - min(step.free, ballastOf(s)))
			time.Sleep(2 * spaceInterval)
			expect.Equal(t, s.ReadOnly(), step.readOnly, "step %d: read only", i)
			f := rowtest.NewFlush()
			f.Add(1, 1, 1, rowtest.Hit(uint64(i)))
			flush(t, s, uint64(i+1), f)
			wantWritable(t, s, uint64(i+1), !step.readOnly)
		}
		stop()
		closeStore(t, s)
	})
}

func ballastOf(s *Store) uint64 {
	s.space.mu.Lock()
	defer s.space.mu.Unlock()
	return s.space.mu.ballast
}

// wantWritable tries to create a link and to write accounts.
func wantWritable(t *testing.T, s *Store, id uint64, want bool) {
	t.Helper()
	done := make(chan error, 1)
	s.Apply(rowtest.Creation(rowtest.Link(string(rune('a'+id)), id, 1)), func(err error) { done <- err })
	for what, err := range map[string]error{
		"create":   <-done,
		"accounts": writeAccounts(s.Accounts(), [][2][]byte{{{1}, nil}}, nil),
	} {
		expect.That(t, (want || errors.Is(err, engine.ErrReadOnly)) && (!want || err == nil), "link %d, %s: got %v, want it done: %v", id, what, err, want)
	}
	if err := writeAccounts(s.Accounts(), nil, [][]byte{{1}}); err != nil { // a token can always be revoked
		t.Errorf("link %d, deletes of accounts alone: got %v", id, err)
	}
}

func TestAFullDiskGivesUpItsBallastAndRecovers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := &limited{FS: vfs.NewMem()}
		disk.avail.Store(10 << 30)
		s := open(t, "/data/store", Options{FS: disk})
		stop := start(t, s)
		path := "/data/store/ballast"
		info, err := disk.Stat(path)
		expect.MustThat(t, err == nil && info.Size() == ballastBytes, "ballast: got %v, %v", info, err)
		disk.avail.Store(0)
		s.space.full()
		expect.That(t, s.ReadOnly(), "a full disk is not read-only")
		expect.That(t, expect.Err(disk.Stat(path)) != nil, "the ballast is still there")
		disk.avail.Store(10 << 30) // more than a quota allows, maybe
		time.Sleep(fullFor - spaceInterval)
		expect.That(t, s.ReadOnly(), "it is writable although an operation has just found no space")
		time.Sleep(3 * spaceInterval)
		expect.That(t, !s.ReadOnly(), "it has not recovered")
		if info, err := disk.Stat(path); err != nil || info.Size() != ballastBytes {
			t.Errorf("ballast: got %v, %v", info, err)
		}
		wantWritable(t, s, 1, true)
		stop()
		closeStore(t, s)

		disk.avail.Store(2 * startBytes) // a ballast of an earlier run is known
		s = openMem(t, disk)
		if got := ballastOf(s); got != ballastBytes || !s.ReadOnly() {
			t.Errorf("opened again: got a ballast of %d bytes, read only is %v", got, s.ReadOnly())
		}
		closeStore(t, s)

		disk.avail.Store(0) // removing the ballast frees enough
		s = openMem(t, disk)
		if _, err := disk.Stat(path); err == nil || !s.ReadOnly() {
			t.Errorf("the ballast is still there; read only is %v", s.ReadOnly())
		}
		closeStore(t, s)

		if s, err := Open("/data/store", Options{FS: disk, Logger: quiet}); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("without a ballast: got %v, %v, want ENOSPC", s, err)
		}
	})
}

func TestAStoreWithoutSpaceDoesNotOpenAndLosesNothing(t *testing.T) {
	mem := vfs.NewMem()
	s := openMem(t, mem)
	stop := start(t, s)
	apply(t, s, rowtest.Creation(rowtest.Link("kept", 1, 1)))
	stop()
	closeStore(t, s)
	full := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() == errorfs.OpIsWrite && op.Kind != errorfs.OpRemove {
			return syscall.ENOSPC
		}
		return nil
	}))
	s, err := Open("/data/store", Options{FS: full, Logger: quiet})
	expect.Error(t, err, syscall.ENOSPC, "got %v", s)
	s = openMem(t, mem)
	expect.NoError(t, expect.Err(s.ReadRecord(keyOf("kept"))))
	closeStore(t, s)
}

func TestMetricsCountTheLogAndTheBallast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := &limited{FS: vfs.NewMem()}
		mem.avail.Store(10 << 30)
		s := open(t, "/data/store", Options{FS: mem})
		stop := start(t, s)
		time.Sleep(idleInterval)
		m := s.Metrics()
		expect.That(t, m.LogDiskBytes == disk.LogStepBytes && m.DiskBytes > m.LogDiskBytes && m.BallastBytes == ballastBytes,
			"got %d bytes of which %d are the log, and a ballast of %d", m.DiskBytes, m.LogDiskBytes, m.BallastBytes)
		stop()
		closeStore(t, s)
	})
}

// TestAStoreClosedOnAFullDiskKeepsItsData closes the store while a table that is being written
// finds no space.
func TestAStoreClosedOnAFullDiskKeepsItsData(t *testing.T) { synctest.Test(t, closeOnAFullDisk) }

func closeOnAFullDisk(t *testing.T) {
	mem := vfs.NewMem()
	var full atomic.Bool
	disk := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if full.Load() && op.Kind == errorfs.OpFileWrite && strings.HasSuffix(op.Path, ".sst") {
			return syscall.ENOSPC
		}
		return nil
	}))
	s := open(t, "/data/store", Options{FS: disk})
	stop := start(t, s)
	apply(t, s, rowtest.Creation(rowtest.Link("kept", 1, 1)))
	stop()
	full.Store(true)
	_, err := s.db.AsyncFlush()
	expect.OK(t, err)
	synctest.Wait() // until the writing of the table waits for space
	expect.That(t, s.ReadOnly(), "the table was written without space")
	closeStore(t, s)
	full.Store(false)
	s = openMem(t, mem)
	expect.NoError(t, expect.Err(s.ReadRecord(keyOf("kept"))))
	closeStore(t, s)
}
