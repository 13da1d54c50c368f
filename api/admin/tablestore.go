package admin

import "strings"

// storeMetrics are the figures that the store reports. They are counters if their names end in
// _total, histograms if the store reports buckets, and gauges if not.
var storeMetrics = []metric{
	{
		name: "shunt_storage_disk_bytes", help: "Disk space that the database takes: its tables and its log of writes.",
		words: "Disk space of the tables and the log of writes", unit: Bytes,
	},
	{
		name: "shunt_storage_log_disk_bytes", help: "Disk space of the log of writes, with the room reserved for it. Included in shunt_storage_disk_bytes.",
		words: "Of this, the log of writes with the room reserved for it", unit: Bytes,
	},
	{
		name: "shunt_storage_ballast_bytes", help: "Size of the ballast file, which is removed when the disk is full; 0 if there is none.",
		words: "Reserve that is given up when the disk is full (ballast)", unit: Bytes,
	},
	{
		name: "shunt_storage_free_bytes", help: "Free space on the disk of the data folder, the ballast file included; 0 if unknown.",
		words: "Free space on its disk, with the reserve", unit: Bytes,
	},
	{
		name: "shunt_storage_min_free_bytes", help: "Free space below which links cannot be written (--min-free-space); 0 if off or unknown.",
		words: "Free space below which links cannot be written", unit: Bytes,
	},
	{
		name: "shunt_storage_wal_bytes", help: "Writes in the log that are not in tables yet. A start after a crash reads them.",
		words: "Log of writes that a restart would read", unit: Bytes,
	},
	{
		name: "shunt_storage_memtable_bytes", help: "Recent writes in memory that are not in tables yet.",
		words: "Recent writes in memory", unit: Bytes,
	},
	{
		name: "shunt_storage_memtable_reserved_bytes", help: "Memory reserved for recent writes, memtables kept for reuse included.",
		words: "Memory reserved for recent writes", unit: Bytes,
	},
	{
		name: "shunt_storage_block_cache_bytes", help: "Memory that the block cache takes now.",
		words: "Cache of what was read", unit: Bytes,
	},
	{
		name: "shunt_storage_cache_room_bytes", help: "Memory that the block cache may take: --cache-size less what memtables take.",
		words: "Room for this cache", unit: Bytes,
	},
	{name: "shunt_storage_cache_hits_total", help: "Reads of blocks that the cache answered.", words: "Reads that the cache answered"},
	{name: "shunt_storage_cache_misses_total", help: "Reads of blocks that were not in the cache.", words: "Reads that went to the disk"},
	{
		name: "shunt_storage_commit_duration_seconds", help: "Time to commit a batch of changes of links, fsync included.",
		words: "Time to write a batch of changes", unit: Seconds,
	},
	{
		name: "shunt_storage_commit_mutations", help: "Changes of links in a batch, which share one fsync.",
		words: "Batches, and changes in each",
	},
	{
		name: "shunt_storage_commit_queue_length", help: "Changes of links that wait to be committed, at most 4,096.",
		words: "Changes that wait to be written",
	},
	{name: "shunt_storage_mutations_total", help: "Changes of links that were committed.", words: "Changes written"},
	{
		name: "shunt_storage_commit_batches_total", help: "Batches of changes of links that were committed, each with one fsync.",
		words: "Batches in which they were written",
	},
	{
		name: "shunt_storage_mutations_refused_total", help: "Changes of links refused because too many waited or the disk was almost full.",
		words: "Changes refused because too many waited, or the disk was almost full",
	},
	{
		name: "shunt_storage_write_stalls_total", help: "Times that the database held back all writes until flushes or compactions caught up.",
		words: "Times that all writes had to wait for merges of files",
	},
	{
		name: "shunt_storage_write_stalled", help: "1 while the database holds back all writes until flushes or compactions catch up.",
		words: "All writes wait for merges of files", unit: YesNo,
	},
	{
		name: "shunt_storage_commit_wait_seconds", help: "Time for which the disk has answered no commit, although some wait; 0 if none waits.",
		words: "How long the disk has not answered a write that waits for it", unit: Seconds,
	},
	{
		name: "shunt_storage_memtable_flushes_total", help: "Times that recent writes in memory were written into tables.",
		words: "Times that recent writes went into files",
	},
	{name: "shunt_storage_compactions_total", help: "Compactions of tables that have ended.", words: "Merges of files"},
	{
		name: "shunt_storage_compactions_running", help: "Compactions of tables that run now, at most 2.",
		words: "Merges of files that run now",
	},
	{name: "shunt_storage_compacted_bytes_total", help: "Bytes written by compactions.", words: "Written by merges", unit: Bytes},
	{
		name: "shunt_storage_compaction_debt_bytes", help: "Estimate of the bytes that compactions have yet to write.",
		words: "Waiting to be merged", unit: Bytes,
	},
	{
		name: "shunt_storage_l0_files", help: "Tables of level 0, which are not compacted yet.",
		words: "New files that are not merged yet",
	},
	{
		name: "shunt_storage_l0_sublevels", help: "Layers of tables of level 0, each of which a read may have to search. Writes stall at 40.",
		words: "Layers of these, which slow down reads",
	},
	{
		name: "shunt_storage_rolled_up_rows_total", help: "Rows of hours that were added to rows of days.",
		words: "Hours of figures that went into days",
	},
	{
		name: "shunt_rollup_lag_seconds", help: "Time since the end of the oldest hour whose figures are not in days yet; 0 if none waits.",
		words: "How long hours of figures have waited to go into days", unit: Seconds,
		send: func(s *snapshot, out sender) {
			if s.store.RollUpWaits != nil {
				out.gauge(s.store.rollUpLag(s.now))
			}
		},
	},
}

// storePrefix is what the names of Storage lack.
const storePrefix = "shunt_storage_"

// StoreNames returns the names of the figures that a store has to report: the keys of Storage.
func StoreNames() (names []string) {
	for _, m := range storeMetrics {
		if short, of := strings.CutPrefix(m.name, storePrefix); of {
			names = append(names, short)
		}
	}
	return names
}
