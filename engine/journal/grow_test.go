package journal

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"shunt/engine/expect"
)

// growing returns a journal that can grow, and how many bytes its disk has room for.
func growing(t *testing.T) (j *Journal, in Folder, room *atomic.Int64) {
	t.Helper()
	in = NewFolder([16]byte{1}, t.TempDir())
	room = new(atomic.Int64)
	room.Store(1 << 40)
	write := func(f *os.File, b []byte) error {
		if room.Add(-int64(len(b))) < 0 {
			return syscall.ENOSPC
		}
		_, err := f.Write(b)
		return err
	}
	j, err := Create(in, Spec{
		Epoch: 1, Rings: 2, Records: 2 * startRecords, Now: time.Now, Disk: Disk{Write: write},
	})
	expect.OK(t, err)
	t.Cleanup(func() { _ = j.Close() })
	return j, in, room
}

// onDisk returns the bytes that the files in the folder take.
func onDisk(t *testing.T, in Folder) (bytes int64) {
	t.Helper()
	paths, _ := filepath.Glob(filepath.Join(in.path, "*"))
	for _, path := range paths {
		var s unix.Stat_t
		expect.OK(t, unix.Stat(path, &s))
		bytes += s.Blocks * 512
	}
	return bytes
}

// appendTo appends records to the ring that link 1 has now.
func appendTo(t *testing.T, j *Journal, records int) *Ring {
	t.Helper()
	r := j.RingOf(1)
	for range records {
		w := (&Visit{}).Words(1, 1)
		expect.MustThat(t, r.Append(&w), "the ring is full")
	}
	return r
}

// TestAJournalGrowsWhenHitsNeedIt frees more than a quarter of a ring by one flush, and expects that hits go on to a
// larger one and that a replay finds all of them. A ring that is full because no flush ends does not grow.
func TestAJournalGrowsWhenHitsNeedIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j, in, _ := growing(t)
		small := onDisk(t, in)
		want := FileBytes(2, 2*startRecords)
		expect.That(t, small <= want+want/50 && j.SizeBytes() <= uint64(small), "a new journal takes %d bytes, want %d", small, want)
		ctx, cancel := context.WithCancel(t.Context())
		k := NewKeeper(j, slog.New(slog.DiscardHandler), func() {})
		ended := make(chan struct{})
		go func() {
			k.Run(ctx)
			close(ended)
		}()
		const few, more = startRecords / growShare, 10
		first := appendTo(t, j, few)
		first.Commit(few)
		appendTo(t, j, few+1) // no flush ends
		k.Watch()
		time.Sleep(time.Second)
		expect.That(t, j.RingOf(1) == first && onDisk(t, in) == small, "it has grown too early")
		first.Commit(2*few + 1)
		time.Sleep(time.Second)
		k.Watch()
		expect.That(t, appendTo(t, j, more) != first && j.RingOf(1).Size() == 2*startRecords, "it has not grown")
		got := onDisk(t, in)
		expect.That(t, got >= small+2*2*startRecords*slotBytes && j.SizeBytes() >= uint64(2*3*startRecords*slotBytes), "the larger rings are not filled: %d bytes", got)
		j.Rest()
		j.EndRest()
		if j.UseStandby(true); !j.OnStandby() {
			t.Error("it is not on standby")
		}
		if j.UseStandby(false); j.RingOf(1).Size() != 2*startRecords {
			t.Error("it has shrunk")
		}
		cancel()
		<-ended
		expect.OK(t, j.Close())
		p := Positions{Epoch: 1, Rings: make([]uint64, RingCount(2, 2*startRecords))}
		res, err := in.Replay(p, func([]uint64, *Record) error { return nil })
		expect.That(t, err == nil && res.Records == 2*few+1+more && len(res.Faults) == 0, "replayed: %+v, %v", res, err)
	})
}

// TestAJournalThatCannotGrowStaysSmall gives the room back, and tries again later.
func TestAJournalThatCannotGrowStaysSmall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j, in, room := growing(t)
		small := onDisk(t, in)
		room.Store(3 << 20)
		k := NewKeeper(j, slog.New(slog.DiscardHandler), func() {})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			k.Run(ctx)
			close(ended)
		}()
		first := appendTo(t, j, startRecords/2)
		first.Commit(startRecords / 2)
		time.Sleep(growPause / 2)
		synctest.Wait()
		if room.Load() >= 0 || appendTo(t, j, 1) != first || onDisk(t, in) != small {
			t.Errorf("room for %d, %d bytes, were %d", room.Load(), onDisk(t, in), small)
		}
		room.Store(1 << 40)
		time.Sleep(growPause)
		synctest.Wait()
		expect.Equal(t, j.RingOf(1).Size(), 2*startRecords, "it has not grown when there was room")
		cancel()
		<-ended
	})
}

func TestAJournalIsMadeWholeOrNotAtAll(t *testing.T) {
	in := NewFolder([16]byte{1}, t.TempDir())
	for fail := range 5 { // headers and slots of the first rings, and those of the larger ones
		writes := 0
		_, err := Create(in, Spec{Epoch: 1, Rings: 1, Records: 2 * startRecords, Now: time.Now, Disk: Disk{Write: func(f *os.File, b []byte) error {
			if writes++; writes > fail {
				return syscall.ENOSPC
			}
			_, err := f.Write(b)
			return err
		}}})
		left, _ := os.ReadDir(in.path)
		expect.That(t, errors.Is(err, syscall.ENOSPC) && len(left) == 0, "write %d failed: %v, %d files are left", fail, err, len(left))
	}
}
