package storage

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"shunt/engine/expect"
)

// backlog is a database whose compactions wait. It allows as many at once as allowed says.
type backlog struct{ allowed, waiting, asked atomic.Int64 }

func (b *backlog) GetAllowedWithoutPermission() int {
	b.asked.Add(1)
	return int(b.allowed.Load())
}

func (b *backlog) GetWaitingCompaction() (bool, pebble.WaitingCompaction) {
	return b.waiting.Load() > 0, pebble.WaitingCompaction{}
}

func (b *backlog) Schedule(pebble.CompactionGrantHandle) bool {
	b.waiting.Add(-1)
	return true
}

// after waits until d is over, and whatever begins then is done.
func after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// TestCompactionsBeginWhenTheyMayAndNobodyLooksOtherwise lets the database allow more while one runs.
func TestCompactionsBeginWhenTheyMayAndNobodyLooksOtherwise(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, c := new(backlog), newCompactions()
		b.allowed.Store(1)
		c.Register(1, b)
		time.Sleep(time.Hour)
		expect.That(t, b.asked.Load() <= 0, "without a compaction it looked %d times", b.asked.Load())
		first, handle := c.TrySchedule()
		second, _ := c.TrySchedule()
		expect.MustThat(t, first && !second, "of two compactions where one is allowed: %v, %v", first, second)
		b.waiting.Store(3)
		after(time.Second)
		expect.Equal(t, b.waiting.Load(), 3, "more have begun than are allowed")
		b.allowed.Store(2)
		after(grantInterval + time.Millisecond)
		expect.Equal(t, b.waiting.Load(), 2, "wait after two were allowed")
		handle.Done()
		handle.Done()
		if synctest.Wait(); b.waiting.Load() != 0 {
			t.Errorf("%d wait after two have ended", b.waiting.Load())
		}
		handle.Done()
		handle.Done()
		after(time.Second)
		asked := b.asked.Load()
		after(time.Hour)
		expect.Equal(t, b.asked.Load(), asked, "after the last compaction it looked %d times", b.asked.Load()-asked)
		c.UpdateGetAllowedWithoutPermission()
		after(time.Hour)
		n := b.asked.Load() - asked
		expect.That(t, n != 0 && n <= 2, "after a flush it looked %d times", n)
		c.Unregister()
		ok, _ := c.TrySchedule()
		expect.That(t, !ok, "a compaction has begun after the end")
	})
}
