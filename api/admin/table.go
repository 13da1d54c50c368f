package admin

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"shunt/engine"
)

// A metric is a row of the table of metrics: what Prometheus and people read about a figure.
type metric struct {
	name   string   // with its prefix
	help   string   // for Prometheus; empty: a metric of others, which have their own
	labels []string // from closed sets
	send   func(s *snapshot, out sender)

	words  string    // for people
	unit   Unit      // of the value
	values []wording // of the last label, in the order in which people see them; others are shown as they are
}

// A wording is the value of a label, and the words for it.
type wording struct{ value, words string }

// A section is the part of the table that people see under one heading.
type section struct {
	title   string
	folded  bool // details that few people need
	metrics []metric
}

// A snapshot is what the metrics of a scrape are sent from.
type snapshot struct {
	front    Front
	engine   engine.Metrics
	readOnly bool
}

// A sender sends the values of one metric to Prometheus.
type sender struct {
	desc *prometheus.Desc
	ch   chan<- prometheus.Metric
}

func (o sender) counter(v uint64, labels ...string) {
	o.ch <- prometheus.MustNewConstMetric(o.desc, prometheus.CounterValue, float64(v), labels...)
}

func (o sender) counters(counts []Count) {
	for _, c := range counts {
		o.counter(c.N, c.Label)
	}
}

func (o sender) gauge(v float64, labels ...string) {
	o.ch <- prometheus.MustNewConstMetric(o.desc, prometheus.GaugeValue, v, labels...)
}

func (o sender) summary(n uint64, sum float64) {
	o.ch <- prometheus.MustNewConstSummary(o.desc, n, sum, nil)
}

func oneIf(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// table has every metric of this program in the order in which people see them. Metrics without
// send are counted by Metrics, by the store, or by the Prometheus library.
var table = []section{
	{title: "Links", metrics: linkMetrics},
	{title: "Redirects", metrics: redirectMetrics},
	{title: "Memory", metrics: memoryMetrics},
	{title: "Journal of hits", folded: true, metrics: journalMetrics},
	{title: "Writing figures to disk", folded: true, metrics: flushMetrics},
	{title: "Connections and limits", folded: true, metrics: connectionMetrics},
	{title: "Disk and store", folded: true, metrics: storeMetrics},
	{title: "Program", folded: true, metrics: programMetrics},
	{title: "Requests of programs and pages", folded: true, metrics: requestMetrics},
}

var linkMetrics = []metric{
	{
		name: "shunt_links", help: "Live links, including expired ones.", words: "Links, expired ones too",
		send: func(s *snapshot, out sender) { out.gauge(float64(s.engine.Links)) },
	},
	{
		name: "shunt_tombstones", help: "Deleted links whose codes are still taken or whose data is not purged yet.",
		words: "Deleted links whose codes are still kept",
		send:  func(s *snapshot, out sender) { out.gauge(float64(s.engine.Tombstones)) },
	},
	{
		name: "shunt_link_writes_total", help: "Writes of links, by result: ok, refused or failed.", labels: []string{"op", "result"},
		words: "Changes of links since the start",
	},
	{
		name: "shunt_read_only", help: "1 while links cannot be written because disk space is low.", unit: YesNo,
		words: "Read-only because the disk is almost full",
		send:  func(s *snapshot, out sender) { out.gauge(oneIf(s.readOnly)) },
	},
}

var redirectMetrics = []metric{
	{
		name: "shunt_hits_total", help: "Redirects counted, by kind of request.", labels: []string{"class"},
		words:  "Redirects since the start, by who asked",
		values: []wording{{"hit", "visitors (hits)"}, {"bot", "bots"}, {"prefetch", "prefetches of browsers"}, {"head", "HEAD requests"}},
		send: func(s *snapshot, out sender) {
			for class, n := range s.engine.Redirects {
				out.counter(n, hitClasses[class])
			}
		},
	},
	{
		name: "shunt_redirects_total", help: "Redirects answered, by HTTP status.", labels: []string{"status"},
		words: "Redirects since the start, by status",
		send:  func(s *snapshot, out sender) { out.counters(s.front.Redirects) },
	},
	{
		name: "shunt_redirect_misses_total", help: "Requests for codes that were not redirected, by reason.", labels: []string{"reason"},
		words: "Requests without a redirect since the start, by reason",
		values: []wording{
			{"not_found", "unknown code"}, {"disabled", "link disabled"}, {"expired", "link expired"}, {"exhausted", "limit of hits reached"},
			{"loading", "links were still loading"}, {"method", "wrong method"}, {"too_long", "address too long with its query"},
			{"blocked", "target blocked"},
		},
		send: func(s *snapshot, out sender) { out.counters(s.front.Misses) },
	},
}

// hitClasses are the labels of engine.Class.
var hitClasses = [4]string{"hit", "bot", "prefetch", "head"}

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
		name: "shunt_journal_standby", help: "1 while hits go to files in memory because the journal's disk does not answer.",
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

var connectionMetrics = []metric{
	{
		name: "shunt_connections", help: "Open public connections.", words: "Open connections",
		send: func(s *snapshot, out sender) { out.gauge(float64(s.front.Connections)) },
	},
	{
		name: "shunt_loop_connections", help: "Open public connections that an event loop owns, by loop; the others are fasthttp's.",
		labels: []string{"loop"}, words: "Connections of each event loop",
		send: func(s *snapshot, out sender) {
			for i, n := range s.front.Loops {
				out.gauge(float64(n), strconv.Itoa(i))
			}
		},
	},
	{
		name: "shunt_connections_ended_total", help: "Public connections closed or refused by the server, by reason.",
		labels: []string{"reason"}, words: "Connections that the server ended, by reason",
		values: []wording{
			{"late", "a request or an answer took too long"}, {"idle", "no request came"}, {"evicted", "idle, and others needed the place"},
			{"address", "too many from one address"}, {"plain_http", "HTTP on a port for HTTPS"},
		},
		send: func(s *snapshot, out sender) { out.counters(s.front.Ended) },
	},
	{
		name: "shunt_rate_limited_total", help: "Requests refused by a rate limit, by limit.", labels: []string{"scope"},
		words: "Requests refused by a rate limit, by limit",
		values: []wording{
			{"creates", "new links"}, {"calls", "other requests"}, {"logins", "attempts to sign in"}, {"misses", "unknown codes"},
		},
		send: func(s *snapshot, out sender) { out.counters(s.front.Limited) },
	},
	{
		name: "shunt_auth_failures_total", help: "API requests without a valid token, session or password.",
		words: "Requests without a valid token, session or password",
	},
}
