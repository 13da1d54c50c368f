package storage

import (
	"time"

	"github.com/cockroachdb/pebble/v2"

	"shunt/storage/disk"
	"shunt/storage/kv"
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

	// RollUpWaits is the end of the oldest hour that has rows which are not rolled up; zero if none
	// has. It is in the future for an hour that is not over.
	RollUpWaits time.Time
}

// Metrics returns the store's figures. It takes Pebble's mutex for some microseconds.
func (s *Store) Metrics() Metrics {
	p, commits := s.db.Metrics(), s.Commits()
	log := logDiskBytes(p)
	var compacted uint64
	for i := range p.Levels {
		compacted += p.Levels[i].TableBytesCompacted
	}
	return Metrics{
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
		RolledUpRows:          s.RolledUp(),
		FreeBytes:             s.space.free.Load(),
		MinFreeBytes:          s.space.least.Load(),
		CommitQueueLength:     commits.QueueLength,
		CommitBatches:         commits.Batches,
		Mutations:             commits.Mutations,
		MutationsRefused:      commits.Refused,
		WriteStalls:           s.stalls.count.Load(),
		WriteStalled:          s.stalls.now.Load(),
		CommitWait:            s.writer.Waits.Wait(time.Now()),
		CommitSeconds:         commits.Seconds,
		CommitMutations:       commits.Sizes,
		RollUpWaits:           s.hitRows.RollUpWaits(),
	}
}

// logDiskBytes returns the disk space of the log. WAL.PhysicalSize lacks the file that is being
// written, which grows by steps (package disk).
func logDiskBytes(p *pebble.Metrics) uint64 {
	older := p.WAL.PhysicalSize
	newest := p.WAL.Size - min(p.WAL.Size, older)
	return older + max(1, (newest+disk.LogStepBytes-1)/disk.LogStepBytes)*disk.LogStepBytes
}

// Roll-up can wait, and hits and commits of links cannot. So a chunk runs only if what Pebble has
// not done yet is far from the points at which it stalls all writes: l0StopSublevels sublevels of
// L0, and maxQueuedMemTables memtables. Without these bounds, the roll-up of one hour of
// 200,000 hits/s over 10 million links raised L0 from 4 sublevels to 36.
const (
	rollUpL0Sublevels = 12 // compaction begins at half of l0CompactionSublevels
	rollUpMemTables   = 2  // the one that is written to, and one that is being flushed
)

// busy reports whether what can wait must wait: the roll-up, and hits of other nodes.
func (s *Store) busy() bool {
	return behind(s.db.Metrics(), s.cache.memTableBytes) || s.space.readOnly.Load()
}

// behind reports whether Pebble has so much to do that a roll-up must wait.
func behind(m *pebble.Metrics, memTableBytes int64) bool {
	return m.Levels[0].Sublevels > rollUpL0Sublevels || m.MemTable.Size > rollUpMemTables*uint64(memTableBytes)
}

// Histogram is a snapshot of how often values were in each bucket since Open.
type Histogram = kv.Histogram
