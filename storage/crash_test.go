package storage

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"shunt/engine"
	"shunt/engine/daily"
	"shunt/engine/expect"
	"shunt/storage/disk"
	"shunt/storage/row"
	"shunt/storage/row/rowtest"
	"shunt/storage/storetest"
)

// crasher is a file system in memory that takes a clone, as a crash would leave it, before every
// operation on it.
type crasher struct {
	mem *vfs.MemFS
	cfg func() vfs.CrashCloneCfg

	mu struct {
		sync.Mutex
		armed  bool
		clones []*vfs.MemFS
	}
}

func newCrasher(cfg func() vfs.CrashCloneCfg) (*crasher, vfs.FS) {
	c := &crasher{mem: vfs.NewCrashableMem(), cfg: cfg}
	return c, errorfs.Wrap(c.mem, errorfs.InjectorFunc(c.before))
}

// before implements errorfs.Injector; it injects no error. Reading loses nothing.
func (c *crasher) before(op errorfs.Op) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.armed && op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
		c.mu.clones = append(c.mu.clones, c.mem.CrashClone(c.cfg()))
	}
	return nil
}

func (c *crasher) arm(armed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.armed = armed
}

// taken returns the clones and one of the current state.
func (c *crasher) taken() []*vfs.MemFS {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append(c.mu.clones, c.mem.CrashClone(c.cfg()))
}

// loseSome loses each block and each name with a probability of one half, even where a file system would preserve their
// order.
func loseSome(seed uint64) func() vfs.CrashCloneCfg {
	rng := rand.New(rand.NewPCG(seed, seed))
	return func() vfs.CrashCloneCfg { return vfs.CrashCloneCfg{UnsyncedDataPercent: 50, RNG: rng} }
}

func TestACrashedCreationBeginsAgain(t *testing.T) {
	t.Parallel()
	for _, cfg := range []func() vfs.CrashCloneCfg{loseAll, loseSome(1), loseSome(2)} {
		c, fs := newCrasher(cfg)
		c.arm(true)
		s := open(t, "/data/store", Options{FS: fs})
		c.arm(false)
		closeStore(t, s)
		clones := c.taken()
		expect.MustThat(t, len(clones) >= 20, "got %d points to crash at", len(clones))
		for i, clone := range clones {
			s, err := Open("/data/store", Options{FS: clone, Logger: quiet})
			if err == nil {
				closeStore(t, s)
			} else if !errors.Is(err, disk.ErrNoStore) {
				t.Errorf("crash %d, without Create: got %v, want ErrNoStore", i, err)
			}
			s = openMem(t, clone)
			first, err := s.AllocateIDs(1)
			expect.That(t, err == nil && first == 1, "crash %d: got id %d, %v", i, first, err)
			closeStore(t, s)
		}
	}
}

// TestATwiceCrashedCreationBeginsAgain also crashes the second attempt, for each crash of the
// first. (After the creation, Pebble opens the store, and it does not survive losses out of order.) Of
// the second crashes every third is tried by default, others for each first crash and each loss, and
// all of them in make faults.
func TestATwiceCrashedCreationBeginsAgain(t *testing.T) {
	expect.Long(t)
	t.Parallel()
	step := int(number(t, "SHUNTTEST_FAULT_STEP", 3*stride))
	first, fs := newCrasher(loseAll)
	first.arm(true)
	s := open(t, "/data/store", Options{FS: fs})
	first.arm(false)
	closeStore(t, s)
	for i, left := range first.taken() {
		if state, err := (&disk.Folder{FS: left, Dir: "/data/store"}).Inspect(); err != nil || state == disk.Stored {
			expect.Error(t, err, nil, "crash %d", i)
			continue
		}
		for k, cfg := range []func() vfs.CrashCloneCfg{loseAll, loseNothing, loseSome(1), loseSome(2)} {
			second := &crasher{mem: left.CrashClone(loseAll()), cfg: cfg}
			second.arm(true)
			s := open(t, "/data/store", Options{FS: errorfs.Wrap(second.mem, errorfs.InjectorFunc(second.before))})
			second.arm(false)
			closeStore(t, s)
			clones := second.taken()
			for j := (i + k) % step; j < len(clones); j += step {
				s, err := Open("/data/store", Options{FS: clones[j], Create: true, Logger: quiet})
				if err != nil {
					t.Errorf("crash %d and then %d: %v", i, j, err)
					continue
				}
				closeStore(t, s)
			}
		}
	}
}

func TestAcknowledgedMutationsSurviveACrashAtAnyMoment(t *testing.T) {
	mem := vfs.NewCrashableMem()
	s := openMem(t, mem)
	stop := start(t, s)
	for i := range 20 {
		rec := rowtest.Link(fmt.Sprintf("c%d", i), uint64(i+1), 1, "tag")
		apply(t, s, rowtest.Creation(rec))
		if i%5 == 4 {
			apply(t, s, rowtest.Deletion(rec))
		}
		after := openMem(t, mem.CrashClone(loseAll()))
		for j := range i + 1 {
			got, err := after.ReadRecord(keyOf(fmt.Sprintf("c%d", j)))
			deleted := got.Hot.Flags == engine.FlagTombstone
			expect.MustThat(t, err == nil && deleted == (j%5 == 4), "link %d after crash %d: got %+v, %v", j, i, got, err)
		}
		closeStore(t, after)
	}
	stop()
	closeStore(t, s)
}

// A link that an import brings along has all of its days, and its owner has them, or the link is not there.
func TestHitsByDayOfAnImportSurviveACrashWithTheirLinkOrNotAtAll(t *testing.T) {
	for name, cfg := range map[string]func() vfs.CrashCloneCfg{"nothing unsynced is left": loseAll, "some of it": loseSome(3), "all of it": loseNothing} {
		c, fs := newCrasher(cfg)
		s := open(t, "/data/store", Options{FS: fs})
		_, err := s.AllocateIDs(10)
		expect.OK(t, err)
		stop := start(t, s)
		days := make([]daily.Hits, 400)
		for i := range days {
			days[i] = daily.Hits{Day: uint32(1000 + i), Hits: uint64(1 + i)}
		}
		c.arm(true)
		for id := range uint64(3) {
			rec := rowtest.Link(fmt.Sprintf("c%d", id), id+1, 1)
			rec.Cold.ImportedHits, rec.Cold.ImportedAtMs, rec.Cold.DailyOwner, rec.Cold.Daily = 1<<20, 1<<40, 1, daily.Pack(days)
			apply(t, s, rowtest.Creation(rec))
		}
		c.arm(false)
		stop()
		closeStore(t, s)
		seen := map[int]bool{}
		for i, clone := range c.taken() {
			v := inspect(t, "/data/store", clone)
			links := len(storetest.Rows(t, v.Reader(), row.TableHot))
			seen[links] = true
			days, owners := len(storetest.Rows(t, v.Reader(), row.TableLinkDays)), len(storetest.Rows(t, v.Reader(), row.TableOwnerDays))
			expect.That(t, days == 400*links && owners == min(400, 400*links), "%s: crash %d: %d links have %d days, and their owner %d", name, i, links, days, owners)
			faults := new(engine.Faults)
			_, err := v.Check(t.Context(), CheckOptions{Faults: faults})
			first, total := faults.Found()
			expect.That(t, err == nil && total == 0, "%s: crash %d: %v, %v", name, i, err, first)
			closeInspection(t, v)
		}
		expect.That(t, seen[3] && (seen[0] || seen[1] || seen[2]), "%s: no crash came between the links: %v", name, seen)
	}
}

func TestAllocatedIDsSurviveACrash(t *testing.T) {
	mem := vfs.NewCrashableMem()
	s := openMem(t, mem)
	first, err := s.AllocateIDs(100)
	expect.MustThat(t, err == nil && first == 1, "got %d, %v", first, err)
	after := openMem(t, mem.CrashClone(loseAll()))
	next, err := after.AllocateIDs(1)
	expect.That(t, err == nil && next == 101, "after a crash: got %d, %v, want 101", next, err)
	closeStore(t, after)
	closeStore(t, s)
}

// crashFlush returns flush i of TestAFlushIsStoredWholeOrNotAtAll: it adds i hits to each of 40
// links.
func crashFlush(i uint64) *rowtest.Flush {
	f := rowtest.NewFlush()
	for id := range uint64(40) {
		m := &rowtest.Model{Hits: i, Visitors: map[uint64]bool{}}
		for v := range i {
			m.Visitors[rowtest.Visitor(i<<8|v)] = true
		}
		f.Add(100, id, 1, m)
	}
	return f
}

func TestAFlushIsStoredWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	const flushes = 8
	for _, cfg := range []func() vfs.CrashCloneCfg{loseAll, loseSome(3), loseSome(4)} {
		c, fs := newCrasher(cfg)
		s := open(t, "/data/store", Options{FS: fs})
		c.arm(true)
		for i := range uint64(flushes) {
			flush(t, s, i+1, crashFlush(i+1))
		}
		c.arm(false)
		closeStore(t, s)
		seen := map[uint64]bool{}
		for _, clone := range c.taken() {
			after := openMem(t, clone)
			seen[wantWholeFlushes(t, after)] = true
			closeStore(t, after)
		}
		expect.That(t, len(seen) >= flushes, "crashes left only %d different states", len(seen))
	}
}

// wantWholeFlushes checks that all links contain exactly the flushes that the positions cover, and
// returns their number.
func wantWholeFlushes(t *testing.T, s *Store) uint64 {
	t.Helper()
	p, err := s.Positions()
	expect.MustThat(t, err == nil && (p.FlushSeq <= 0 || p.Rings[0] == p.FlushSeq), "got positions %+v, %v", p, err)
	var want rowtest.Model
	for i := range p.FlushSeq {
		want.Add(crashFlush(i + 1).Links[rowtest.LinkHour{Hour: 100, ID: 0}])
	}
	for id := range uint64(40) {
		wantTally(t, s, id, &want)
	}
	return p.FlushSeq
}
