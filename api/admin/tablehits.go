package admin

var memoryMetrics = []metric{
	{
		name: "shunt_engine_bytes", help: "Memory used by the engine, by part. garbage is included in arena.", labels: []string{"part"},
		words: "Memory by part", unit: Bytes,
		values: []wording{
			{"index", "index of codes"}, {"arena", "links"}, {"garbage", "of this, room of deleted and changed links"},
			{"counters", "counters of hits"}, {"journal", "journal of hits"}, {"pending", "figures not on disk yet"},
		},
		send: func(s *snapshot, out sender) {
			out.gauge(float64(s.engine.IndexBytes), "index")
			out.gauge(float64(s.engine.ArenaBytes), "arena")
			out.gauge(float64(s.engine.GarbageBytes), "garbage")
			out.gauge(float64(s.engine.CounterBytes), "counters")
			out.gauge(float64(s.engine.JournalBytes), "journal")
			out.gauge(float64(s.engine.PendingBytes), "pending")
		},
	},
	{
		name: "shunt_sketches", help: "Visitor sets that are not on disk yet, by kind: lists of hashes, and dense sketches of 16 KiB each.",
		labels: []string{"kind"}, words: "Sets of visitors not on disk yet",
		values: []wording{{"list", "small ones"}, {"dense", "large ones"}},
		send: func(s *snapshot, out sender) {
			out.gauge(float64(s.engine.SketchLists), "list")
			out.gauge(float64(s.engine.SketchesDense), "dense")
		},
	},
	{
		name: "shunt_memory_limit_bytes", help: "Memory that the process may use (--memory-limit).", words: "Limit of memory", unit: Bytes,
		send: memorySender(func(m Memory, out sender) { out.gauge(float64(m.Limit)) }),
	},
	{
		name: "shunt_memory_used_bytes", help: "Memory that counts towards shunt_memory_limit_bytes, by part.", labels: []string{"part"},
		words: "Used of it, by part", unit: Bytes,
		send: memorySender(func(m Memory, out sender) { out.gauges(m.Used) }),
	},
	{
		name: "shunt_memory_full", help: "1 while new links are refused because the memory limit is reached.",
		words: "New links are refused because memory is full", unit: YesNo,
		send: memorySender(func(m Memory, out sender) { out.gauge(oneIf(m.Full)) }),
	},
	{name: "process_resident_memory_bytes", words: "Memory of the program in all", unit: Bytes},
	{name: "go_memstats_heap_inuse_bytes", words: "Memory that its own data takes, mapped files apart", unit: Bytes},
}

var journalMetrics = []metric{
	{
		name: "shunt_journal_fill_ratio", help: "Fill level of the fullest ring of the hit journal.",
		words: "How full it is (the fullest part)", unit: Ratio,
		send: func(s *snapshot, out sender) { out.gauge(s.engine.JournalFillRatio) },
	},
	{
		name: "shunt_journal_standby", help: "1 while hits go to memory because the journal's disk does not answer.",
		words: "Hits go to memory because the disk does not answer", unit: YesNo,
		send: func(s *snapshot, out sender) { out.gauge(oneIf(s.engine.JournalStandby)) },
	},
	{
		name: "shunt_journal_unprotected_records", help: "Hits that a crash would lose now because the store or the journal's disk stalls.",
		words: "Hits that a crash would lose now",
		send:  func(s *snapshot, out sender) { out.gauge(float64(s.engine.JournalUnprotected)) },
	},
	{
		name: "shunt_journal_replayed_records", help: "Hits replayed from the journal at start.", words: "Hits recovered at the start",
		send: func(s *snapshot, out sender) { out.gauge(float64(s.engine.JournalReplayed)) },
	},
	{
		name: "shunt_journal_missing_files", help: "Journal files that could not be replayed completely at start.",
		words: "Files that could not be recovered whole at the start",
		send:  func(s *snapshot, out sender) { out.gauge(float64(s.engine.JournalMissing)) },
	},
	{
		name: "shunt_journal_invalid_records", help: "Places of the journal that were skipped at start because they were torn, or of an earlier run.",
		words: "Places without a whole hit at the start",
		send:  func(s *snapshot, out sender) { out.gauge(float64(s.engine.JournalInvalid)) },
	},
	{
		name: "shunt_journal_nameless_records", help: "Hits replayed at start whose referrer is shown as other because its name was damaged.",
		words: "Of the recovered hits, those whose referrer was lost",
		send:  func(s *snapshot, out sender) { out.gauge(float64(s.engine.JournalNameless)) },
	},
	{
		name: "shunt_journal_waits_total", help: "Redirects that found a full ring of the hit journal and waited.",
		words: "Redirects that waited because it was full",
		send:  func(s *snapshot, out sender) { out.counter(s.engine.JournalWaits) },
	},
}

var flushMetrics = []metric{
	{
		name: "shunt_last_flush_timestamp_seconds", help: "Time of the end of the last flush, in Unix seconds.",
		words: "Everything up to this time is on disk", unit: Moment,
		send: func(s *snapshot, out sender) { out.gauge(float64(s.engine.LastFlush.UnixMilli()) / 1000) },
	},
	{
		name: "shunt_flush_interval_seconds", help: "Time between two flushes of counters and sketches to the store (--flush-interval).",
		words: "Time between two writes", unit: Seconds,
		send: func(s *snapshot, out sender) { out.gauge(s.engine.FlushInterval.Seconds()) },
	},
	{
		name: "shunt_clock_trusted", help: "1 while the clock has run evenly for 10 minutes. Nothing is rolled up or deleted otherwise.",
		words: "The clock has run evenly for 10 minutes", unit: YesNo,
		send: func(s *snapshot, out sender) { out.gauge(oneIf(s.engine.ClockTrusted)) },
	},
	{
		name: "shunt_clock_jumps_total", help: "Jumps of the computer's clock by more than a minute, either way, and starts at a time before the last stop.",
		words: "Jumps of the clock since the start",
		send:  func(s *snapshot, out sender) { out.counter(s.engine.ClockJumps) },
	},
	{
		name: "shunt_last_flush_duration_seconds", help: "Duration of the last flush of counters and sketches to the store.",
		words: "How long the last write took", unit: Seconds,
		send: func(s *snapshot, out sender) { out.gauge(s.engine.LastFlushTook.Seconds()) },
	},
	{
		name: "shunt_flush_duration_seconds", help: "Duration of flushes of counters and sketches to the store.",
		words: "Writes since the start", unit: Seconds,
		send: func(s *snapshot, out sender) { out.summary(s.engine.Flushes, s.engine.FlushSeconds) },
	},
	{
		name: "shunt_flush_errors_total", help: "Flushes that failed. They are retried.", words: "Failed writes, which are tried again",
		send: func(s *snapshot, out sender) { out.counter(s.engine.FlushErrors) },
	},
	{
		name: "shunt_flushes_reduced_total", help: "Flushes that were too large and left out breakdowns, or visitors too.",
		words: "Writes that were too large and left out breakdowns or visitors",
		send:  func(s *snapshot, out sender) { out.counter(s.engine.FlushesReduced) },
	},
	{
		name:   "shunt_hit_parts_lost_total",
		help:   "Parts of hits dropped because memory was full. A lost count stays in the live counter until the next start.",
		labels: []string{"part"}, words: "Parts of hits dropped because memory was full",
		values: []wording{
			{"count", "counts, which are lost at the next start"}, {"visitor", "visitors"}, {"value", "countries, devices, browsers, referrers"},
			{"referrer", "names of referrers"},
		},
		send: func(s *snapshot, out sender) {
			out.counter(s.engine.HitsMissing, "count")
			out.counter(s.engine.VisitorsDropped, "visitor")
			out.counter(s.engine.ValuesDropped, "value")
			out.counter(s.engine.ReferrersRefused, "referrer")
		},
	},
}
