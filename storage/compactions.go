package storage

import (
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// grantInterval is the time between two looks whether a compaction that was refused may begin.
const grantInterval = 100 * time.Millisecond

// compactions grants Pebble as many compactions at once as it allows itself. It does what Pebble's own
// scheduler (ConcurrencyLimitScheduler) does, which looks ten times a second for compactions that may
// begin, also while there are none. This one looks while a compaction runs, since only then is one refused,
// and after each flush of a memtable.
//
// Its lock comes after those of the database, and is not held while the database is called, but for
// GetAllowedWithoutPermission, which takes none.
type compactions struct {
	db    pebble.DBForCompaction // set by Register, before anything else is called
	ended chan struct{}          // closed by Unregister

	mu struct {
		sync.Mutex
		running  int
		looking  bool // the goroutine of look exists
		granting bool // somebody is in grant
		ended    bool
		changed  *sync.Cond // looking or granting was cleared
	}
}

func newCompactions() *compactions {
	c := &compactions{ended: make(chan struct{})}
	c.mu.changed = sync.NewCond(&c.mu.Mutex)
	return c
}

// Register implements pebble.CompactionScheduler.
func (c *compactions) Register(_ int, db pebble.DBForCompaction) { c.db = db }

// Unregister implements pebble.CompactionScheduler. It waits until nothing calls the database any more.
func (c *compactions) Unregister() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.ended = true
	close(c.ended)
	for c.mu.granting || c.mu.looking {
		c.mu.changed.Wait()
	}
}

// TrySchedule implements pebble.CompactionScheduler.
func (c *compactions) TrySchedule() (bool, pebble.CompactionGrantHandle) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.ended {
		return false, nil
	}
	if c.mu.running >= c.db.GetAllowedWithoutPermission() {
		return false, nil
	}
	c.beginLocked()
	return true, c
}

// beginLocked counts a compaction that runs, and begins to look for others.
func (c *compactions) beginLocked() {
	c.mu.running++
	c.lookLocked()
}

func (c *compactions) lookLocked() {
	if !c.mu.looking && !c.mu.ended {
		c.mu.looking = true
		go c.look()
	}
}

// look grants what may begin, as long as a compaction runs or waits.
func (c *compactions) look() {
	tick := time.NewTicker(grantInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-c.ended:
		}
		waits := c.grant()
		c.mu.Lock()
		if c.mu.ended || c.mu.running == 0 && !waits {
			c.mu.looking = false
			c.mu.changed.Broadcast()
			c.mu.Unlock()
			return
		}
		c.mu.Unlock()
	}
}

// grant begins the compactions that wait and that the database allows. It reports whether one waits that did not begin.
func (c *compactions) grant() (waits bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.mu.granting {
		c.mu.changed.Wait()
	}
	c.mu.granting = true
	for !c.mu.ended && c.mu.running < c.db.GetAllowedWithoutPermission() {
		c.mu.Unlock()
		waits, _ = c.db.GetWaitingCompaction()
		begun := waits && c.db.Schedule(c)
		c.mu.Lock()
		if !begun {
			break
		}
		c.beginLocked()
	}
	c.mu.granting = false
	c.mu.changed.Broadcast()
	return waits
}

// UpdateGetAllowedWithoutPermission implements pebble.CompactionScheduler.
func (c *compactions) UpdateGetAllowedWithoutPermission() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lookLocked()
}

// Started implements pebble.CompactionGrantHandle.
func (c *compactions) Started() {}

// MeasureCPU implements pebble.CompactionGrantHandle.
func (c *compactions) MeasureCPU(pebble.CompactionGoroutineKind) {}

// CumulativeStats implements pebble.CompactionGrantHandle.
func (c *compactions) CumulativeStats(pebble.CompactionGrantHandleStats) {}

// Done implements pebble.CompactionGrantHandle.
func (c *compactions) Done() {
	c.mu.Lock()
	c.mu.running--
	c.mu.Unlock()
	c.grant()
}
