package storage

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// backlog is a database whose compactions wait. It allows as many at once as allowed says.
type backlog struct{ allowed, waiting, asked int }

func (b *backlog) GetAllowedWithoutPermission() int {
	b.asked++
	return b.allowed
}

func (b *backlog) GetWaitingCompaction() (bool, pebble.WaitingCompaction) {
	return b.waiting > 0, pebble.WaitingCompaction{}
}

func (b *backlog) Schedule(pebble.CompactionGrantHandle) bool {
	b.waiting--
	return true
}

// TestCompactionsBeginWhenTheyMayAndNobodyLooksOtherwise lets the database allow more while one runs.
func TestCompactionsBeginWhenTheyMayAndNobodyLooksOtherwise(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, c := &backlog{allowed: 1}, newCompactions()
		c.Register(1, b)
		time.Sleep(time.Hour)
		if b.asked > 0 {
			t.Errorf("without a compaction it looked %d times", b.asked)
		}
		first, handle := c.TrySchedule()
		second, _ := c.TrySchedule()
		if !first || second {
			t.Fatalf("of two compactions where one is allowed: %v, %v", first, second)
		}
		b.waiting = 3
		time.Sleep(time.Second)
		if b.waiting != 3 {
			t.Error("more have begun than are allowed")
		}
		b.allowed = 2
		time.Sleep(grantInterval + time.Millisecond)
		if b.waiting != 2 {
			t.Errorf("%d wait after two were allowed, want 2", b.waiting)
		}
		handle.Done()
		handle.Done()
		if synctest.Wait(); b.waiting != 0 {
			t.Errorf("%d wait after two have ended", b.waiting)
		}
		handle.Done()
		handle.Done()
		time.Sleep(time.Second)
		asked := b.asked
		time.Sleep(time.Hour)
		if b.asked != asked {
			t.Errorf("after the last compaction it looked %d times", b.asked-asked)
		}
		c.UpdateGetAllowedWithoutPermission()
		time.Sleep(time.Hour)
		if n := b.asked - asked; n == 0 || n > 2 {
			t.Errorf("after a flush it looked %d times", n)
		}
		c.Unregister()
		if ok, _ := c.TrySchedule(); ok {
			t.Error("a compaction has begun after the end")
		}
	})
}
