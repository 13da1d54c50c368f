package storage

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// Metrics is a snapshot of the store's figures for a scrape. They are plain numbers, so that the
// reader need not know Pebble. Counts begin at Open.
type Metrics struct {
	DiskBytes     uint64 // tables, logs (LogDiskBytes), and files that wait for removal
	LogDiskBytes  uint64 // the log of writes, with the room that Pebble reserves for it on most file systems
	BallastBytes  uint64 // the ballast file; 0 if there is none
	MemTableBytes uint64
	// MemTableReservedBytes includes memtables that Pebble keeps for reuse, or for readers of a
	// flushed one.
	MemTableReservedBytes uint64
	BlockCacheBytes       uint64
	CacheRoomBytes        uint64 // for blocks, at most: the room that memtables leave
	CacheHits             uint64 // reads of blocks that were in the cache
	CacheMisses           uint64
	WALBytes              uint64
	CompactionDebtBytes   uint64
	L0Files               uint64
	L0Sublevels           uint64 // read amplification of L0
	MemTableFlushes       uint64
	Compactions           uint64
	CompactedBytes        uint64 // written by compactions
	RunningCompactions    uint64
	RolledUpRows          uint64 // hour rows that went into day and life rows
	FreeBytes             uint64 // on the store's disk, including its ballast; 0 if unknown
	MinFreeBytes          uint64 // free space below which writes of links are refused; 0 if unknown or off
	CommitQueueLength     uint64 // mutations that wait for a commit
	CommitBatches         uint64
	Mutations             uint64        // committed; on average Mutations / CommitBatches share one fsync
	MutationsRefused      uint64        // because the queue was full or closed
	WriteStalls           uint64        // times at which Pebble held back all writes
	WriteStalled          bool          // it does so now
	CommitWait            time.Duration // time for which the disk has answered no commit, although some wait; 0 if none waits
	CommitSeconds         Histogram
	CommitMutations       Histogram

	// Of a store in a cluster.
	OutboxBytes             uint64    // of rows that other nodes have not pulled yet
	OutboxOldest            time.Time // when the oldest of them were made; zero if there are none
	OutboxFirst             uint64    // position of the oldest record that is kept
	OutboxNext              uint64    // position of the record that comes next
	OutboxWithoutBreakdowns uint64    // rows that other nodes will lack the breakdowns of, because the outbox was full
	OutboxWithoutVisitors   uint64    // rows that they will lack the visitors of
	PulledRows              uint64    // of other nodes, applied here
	PulledRowsDropped       uint64    // of them, those of links that were purged here

	// RollUpWaits is the end of the oldest hour that has rows which are not rolled up; zero if none
	// has. It is in the future for an hour that is not over.
	RollUpWaits time.Time
}

// Metrics returns the store's figures. It takes Pebble's mutex for some microseconds.
func (s *Store) Metrics() Metrics {
	p := s.db.Metrics()
	log := logDiskBytes(p, uint64(s.cache.memTableBytes))
	var compacted uint64
	for i := range p.Levels {
		compacted += p.Levels[i].TableBytesCompacted
	}
	m := Metrics{
		DiskBytes:             p.DiskSpaceUsage() - p.WAL.PhysicalSize + log,
		LogDiskBytes:          log,
		BallastBytes:          s.space.kept.Load(),
		MemTableBytes:         p.MemTable.Size,
		MemTableReservedBytes: uint64(reserved(p)),
		BlockCacheBytes:       uint64(p.BlockCache.Size),
		CacheRoomBytes:        uint64(s.cache.room(p)),
		CacheHits:             uint64(p.BlockCache.Hits),
		CacheMisses:           uint64(p.BlockCache.Misses),
		WALBytes:              p.WAL.Size,
		CompactionDebtBytes:   p.Compact.EstimatedDebt,
		L0Files:               uint64(p.Levels[0].TablesCount),
		L0Sublevels:           uint64(p.Levels[0].Sublevels),
		MemTableFlushes:       uint64(p.Flush.Count),
		Compactions:           uint64(p.Compact.Count),
		CompactedBytes:        compacted,
		RunningCompactions:    uint64(p.Compact.NumInProgress),
		RolledUpRows:          s.flusher.rolledUp.Load(),
		FreeBytes:             s.space.free.Load(),
		MinFreeBytes:          s.space.least.Load(),
		CommitQueueLength:     uint64(s.commits.queueLength()),
		CommitBatches:         s.commits.batches.Load(),
		Mutations:             s.commits.mutations.Load(),
		MutationsRefused:      s.commits.refused.Load(),
		WriteStalls:           s.stalls.count.Load(),
		WriteStalled:          s.stalls.now.Load(),
		CommitWait:            s.writer.Waits.Wait(time.Now()),
		CommitSeconds:         s.commits.seconds.snapshot(),
		CommitMutations:       s.commits.sizes.snapshot(),
		RollUpWaits:           s.rollUpWaits(),
	}
	s.outboxMetrics(&m)
	return m
}

func (s *Store) outboxMetrics(m *Metrics) {
	o := &s.outbox
	m.OutboxBytes, m.OutboxFirst, m.OutboxNext = o.bytes.Load(), o.first.Load(), o.next.Load()
	m.OutboxWithoutBreakdowns, m.OutboxWithoutVisitors = o.withoutBreakdowns.Load(), o.withoutVisitors.Load()
	m.PulledRows, m.PulledRowsDropped = s.pulls.rows.Load(), s.pulls.dropped.Load()
	if made := o.oldestMs.Load(); made != 0 {
		m.OutboxOldest = time.UnixMilli(made)
	}
}

// rollUpWaits returns Metrics.RollUpWaits.
func (s *Store) rollUpWaits() time.Time {
	hour, waits := s.hours.first(s.flusher.markHour.Load())
	if !waits {
		return time.Time{}
	}
	return time.Unix((int64(hour)+1)*int64(time.Hour/time.Second), 0)
}

// logDiskBytes returns the disk space of the log. WAL.PhysicalSize lacks the file that is being
// written, for which Pebble reserves 110 % of a memtable.
func logDiskBytes(p *pebble.Metrics, memTableBytes uint64) uint64 {
	reserved := memTableBytes/10 + memTableBytes
	older := p.WAL.PhysicalSize
	return older + max(reserved, p.WAL.Size-min(p.WAL.Size, older))
}

// Histogram is a snapshot of how often values were in each bucket since Open. Counts has one more
// element than Bounds: values above the last bound. It shares nothing with the store.
type Histogram struct {
	Bounds []float64 // upper ones, inclusive, ascending
	Counts []uint64  // of each bucket alone
	Sum    float64
}

// commitSeconds are from a commit on a device with its own write cache to one that hangs.
var commitSeconds = []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}

// commitMutations are the powers of two up to what may wait for a commit (commitQueueLimit).
var commitMutations = []float64{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096}

// histogram counts values in buckets. One goroutine observes, any number may read.
type histogram struct {
	bounds []float64
	counts []atomic.Uint64
	sum    atomic.Uint64 // in the unit of its values: nanoseconds, or mutations
	unit   float64       // of sum, in that of bounds
}

func newHistogram(bounds []float64, unit float64) histogram {
	return histogram{bounds: bounds, counts: make([]atomic.Uint64, len(bounds)+1), unit: unit}
}

func (h *histogram) observe(value uint64) {
	at, _ := slices.BinarySearch(h.bounds, float64(value)*h.unit)
	h.counts[at].Add(1)
	h.sum.Add(value)
}

func (h *histogram) observeSince(start time.Time) { h.observe(uint64(max(0, time.Since(start)))) }

func (h *histogram) snapshot() Histogram {
	s := Histogram{Bounds: h.bounds, Counts: make([]uint64, len(h.counts)), Sum: float64(h.sum.Load()) * h.unit}
	for i := range h.counts {
		s.Counts[i] = h.counts[i].Load()
	}
	return s
}
