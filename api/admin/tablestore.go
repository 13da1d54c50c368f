package admin

// storeMetrics are the figures that the store reports, as long as it reports them. It may report
// others, too; those are shown by their names.
var storeMetrics = []metric{
	{name: "shunt_storage_disk_bytes", words: "Disk space of the tables and the log of writes", unit: Bytes},
	{name: "shunt_storage_log_disk_bytes", words: "Of this, the log of writes with the room reserved for it", unit: Bytes},
	{name: "shunt_storage_ballast_bytes", words: "Reserve that is given up when the disk is full (ballast)", unit: Bytes},
	{name: "shunt_storage_free_bytes", words: "Free space on its disk, with the reserve", unit: Bytes},
	{name: "shunt_storage_wal_bytes", words: "Log of writes that a restart would read", unit: Bytes},
	{name: "shunt_storage_memtable_bytes", words: "Recent writes in memory", unit: Bytes},
	{name: "shunt_storage_memtable_reserved_bytes", words: "Memory reserved for recent writes", unit: Bytes},
	{name: "shunt_storage_block_cache_bytes", words: "Cache of what was read", unit: Bytes},
	{name: "shunt_storage_cache_room_bytes", words: "Room for this cache", unit: Bytes},
	{name: "shunt_storage_cache_hits_total", words: "Reads that the cache answered"},
	{name: "shunt_storage_cache_misses_total", words: "Reads that went to the disk"},
	{name: "shunt_storage_commit_queue_length", words: "Changes that wait to be written"},
	{name: "shunt_storage_mutations_total", words: "Changes written"},
	{name: "shunt_storage_commit_batches_total", words: "Batches in which they were written"},
	{name: "shunt_storage_mutations_refused_total", words: "Changes refused because too many waited"},
	{name: "shunt_storage_memtable_flushes_total", words: "Times that recent writes went into files"},
	{name: "shunt_storage_compactions_total", words: "Merges of files"},
	{name: "shunt_storage_compacted_bytes_total", words: "Written by merges", unit: Bytes},
	{name: "shunt_storage_compaction_debt_bytes", words: "Waiting to be merged", unit: Bytes},
	{name: "shunt_storage_l0_files", words: "New files that are not merged yet"},
	{name: "shunt_storage_l0_sublevels", words: "Layers of these, which slow down reads"},
	{name: "shunt_storage_rolled_up_rows_total", words: "Hours of figures that went into days"},
}

// programMetrics are about the process. Those of Go and of the operating system come from the
// Prometheus library.
var programMetrics = []metric{
	{
		name: "shunt_build_info", help: "Always 1; the labels are the version of the program and of Go.",
		words: "Version", unit: Info,
		values: []wording{{"version", "shunt"}, {"goversion", "Go"}},
	},
	{name: "process_start_time_seconds", words: "Started", unit: Moment},
	{name: "process_cpu_seconds_total", words: "Processor time used", unit: Seconds},
	{name: "process_open_fds", words: "Open files and connections"},
	{name: "process_max_fds", words: "Limit of open files and connections"},
	{name: "go_goroutines", words: "Tasks at work or waiting (goroutines)"},
	{name: "go_gc_duration_seconds", words: "Collections of unused memory", unit: Seconds},
}

var requestMetrics = []metric{
	{
		name: "shunt_request_duration_seconds", help: "Time to handle an API request.", labels: []string{"route"},
		words: "How long requests took on average", unit: Seconds,
		values: []wording{{"none", "unknown addresses"}, {"malformed", "requests that could not be read"}},
	},
	{
		name: "shunt_http_requests_total", help: "API requests answered.", labels: []string{"route", "method", "code"},
		words: "Requests answered",
	},
}
