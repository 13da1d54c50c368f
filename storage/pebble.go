package storage

import (
	"cmp"
	"fmt"
	"log/slog"
	"os"
	"shunt/storage/row"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"
)

const (
	// formatMajorVersion pins Pebble's own format, so that a newer Pebble does not upgrade it. This
	// version has WAL chunks that distinguish corruption from the end of the log, and checksums in
	// table footers; value separation came later.
	formatMajorVersion = pebble.FormatTableFormatV6

	// A flush of 200,000 rows is a batch of 6 MB, and 15 MB in a memtable. Its main cost is the
	// bytes that compaction writes. Measured with such a flush each half second for a minute, rows
	// of random links out of 10 million, in CPU seconds per flush, all included: 0.56 (memtable 64
	// MiB, L0 compaction at 2 sublevels, base level 64 MiB), 0.49 (64, 8, 64), 0.50 (64, 8, 256),
	// 0.29 (96, 4, 256), 0.28 (128, 4, 256), 0.26 (128, 8, 256). Memtables begin at 256 KiB and
	// double, so that a store with few writes has small ones.
	DefaultMemTableBytes = 128 << 20
	maxQueuedMemTables   = 3 // writes stall beyond: 384 MiB

	// Pebble begins to compact L0 at half of l0CompactionSublevels. Each compaction of L0 rewrites
	// what it meets in the base level, so the more sublevels it takes at once, the less is rewritten
	// for a row. In CPU seconds for a second of 200,000 hits over 10 million links (BenchmarkHour at
	// a fifth of the size): 0.94 (4, and before rows were merged in pairs), 0.70 (4), 0.59 (8), 0.60
	// (10, in other runs), 0.53 (12). A larger base level cost more; MinLZ instead of Snappy, and L0
	// not compressed (at 8), gained nothing that could be seen. The price is that a read of a row
	// that is not merged yet looks into up to five sublevels instead of two; Bloom filters answer
	// most of those.
	l0CompactionSublevels = 10
	l0Concurrency         = 8 // sublevels of L0 at which a second compaction begins

	// Writes stall late, because then commits of links stall too, while hits can wait in the
	// journal.
	l0StopSublevels = 40

	baseLevelBytes   = 256 << 20
	l0FileBytes      = 8 << 20
	blockBytes       = 16 << 10
	indexBlockBytes  = 128 << 10
	bloomBitsPerKey  = 10 // 1 % false positives
	maxCompactions   = 2  // the number of cores of the smallest machine that we measure on
	debtACompaction  = 1 << 30
	fileGrowthFactor = 2

	// damagePause delays the error of a damaged block to its reader. A compaction that fails begins
	// again at once, and without a pause would keep a processor busy.
	damagePause = 100 * time.Millisecond
)

func pebbleOptions(fs vfs.FS, s *Options, lock *pebble.Lock, create bool) *pebble.Options {
	o := &pebble.Options{
		FS: fs, Lock: lock, ErrorIfExists: create, ErrorIfNotExists: !create,
		FormatMajorVersion: formatMajorVersion,
		Merger:             newMerger(),
		Logger:             pebbleLogger{s.Logger},
		EventListener:      listen(s.Logger),
		MemTableSize:       uint64(cmp.Or(s.MemTableBytes, DefaultMemTableBytes)), MemTableStopWritesThreshold: maxQueuedMemTables,
		CacheSize:                  DefaultCacheBytes, // Store and Inspection have a blockCache instead
		MaxOpenFiles:               s.MaxOpenFiles,
		L0CompactionThreshold:      l0CompactionSublevels,
		L0StopWritesThreshold:      l0StopSublevels,
		LBaseMaxBytes:              baseLevelBytes,
		CompactionConcurrencyRange: func() (lower, upper int) { return 1, maxCompactions },
	}
	o.Experimental.L0CompactionConcurrency = l0Concurrency
	o.Experimental.CompactionDebtConcurrency = debtACompaction
	o.Experimental.CompactionScheduler = newCompactions()
	fileBytes := int64(l0FileBytes)
	for i := range o.Levels {
		o.Levels[i].FilterPolicy = bloom.FilterPolicy(bloomBitsPerKey)
		o.Levels[i].BlockSize = blockBytes
		o.Levels[i].IndexBlockSize = indexBlockBytes
		o.TargetFileSizes[i] = fileBytes
		fileBytes *= fileGrowthFactor
	}
	return o
}

// listen logs events of Pebble: damage always, and flushes of memtables and compactions at level
// debug.
func listen(log *slog.Logger) *pebble.EventListener {
	said := pebble.MakeLoggingEventListener(pebbleLogger{log})
	return &pebble.EventListener{
		DataCorruption: logDamage(log),
		FlushBegin:     said.FlushBegin, FlushEnd: said.FlushEnd,
		CompactionBegin: said.CompactionBegin, CompactionEnd: said.CompactionEnd,
	}
}

// writeStalls counts the times at which Pebble holds back all writes, until compactions or flushes
// of memtables have caught up. Pebble calls it, metrics read it.
type writeStalls struct {
	count atomic.Uint64
	now   atomic.Bool
}

func (w *writeStalls) watch(l *pebble.EventListener) {
	l.WriteStallBegin = func(pebble.WriteStallBeginInfo) {
		w.count.Add(1)
		w.now.Store(true)
	}
	l.WriteStallEnd = func() { w.now.Store(false) }
}

// logDamage logs that a file is damaged, once per file. By default Pebble then ends the process.
// Here the reader of the damaged block gets an error, and everything else continues: a request for
// one link's figures must not end the redirects of all.
func logDamage(log *slog.Logger) func(pebble.DataCorruptionInfo) {
	var logged sync.Map
	return func(info pebble.DataCorruptionInfo) {
		if _, known := logged.LoadOrStore(info.Path, true); !known {
			log.Error("a file of the store is damaged: restore a backup", "file", info.Path, "cause", info.Details)
		}
		time.Sleep(damagePause)
	}
}

// pebbleLogger forwards Pebble's messages to a slog.Logger.
type pebbleLogger struct{ log *slog.Logger }

// Infof implements pebble.Logger. Pebble logs a lot, so this is at level debug.
func (l pebbleLogger) Infof(format string, args ...any) {
	l.log.Debug("pebble: " + oneLine(format, args))
}

// Errorf implements pebble.Logger.
func (l pebbleLogger) Errorf(format string, args ...any) {
	l.log.Error("pebble: " + oneLine(format, args))
}

// Fatalf implements pebble.Logger. It ends the process: Pebble calls it when a commit has failed,
// and if it returned, the commit would look successful. Everything acknowledged is durable, and
// hits are in the journal.
func (l pebbleLogger) Fatalf(format string, args ...any) {
	l.log.Error("the store cannot go on; the process ends", "cause", oneLine(format, args))
	os.Exit(1)
}

func oneLine(format string, args []any) string {
	return strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " ")
}

func newMerger() *pebble.Merger {
	return &pebble.Merger{
		Name:  row.MergerName,
		Merge: func(key, operand []byte) (pebble.ValueMerger, error) { return row.NewMerge(key, operand) },
	}
}

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
