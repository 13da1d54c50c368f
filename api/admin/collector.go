package admin

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// Front has the counters of the front end since its start.
type Front struct {
	Redirects   []Count // by status
	Misses      []Count // by reason
	Limited     []Count // by scope
	Ended       []Count // public connections, by reason
	Connections int     // open public ones
}

// A Count is a number of things with one label.
type Count struct {
	Label string
	N     uint64
}

// collector reads the atomics of the engine and the front end when Prometheus asks, so that the hot
// path does no extra work.
type collector struct{ sources Sources }

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("shunt_"+name, help, labels, nil)
}

var (
	descRedirects    = desc("redirects_total", "Redirects answered, by HTTP status.", "status")
	descMisses       = desc("redirect_misses_total", "Requests for codes that were not redirected, by reason.", "reason")
	descHits         = desc("hits_total", "Redirects counted, by kind of request.", "class")
	descTombstones   = desc("tombstones", "Deleted links whose codes are still taken or whose data is not purged yet.")
	descReadOnly     = desc("read_only", "1 while links cannot be written because disk space is low.")
	descConnections  = desc("connections", "Open public connections.")
	descEnded        = desc("connections_ended_total", "Public connections closed or refused by the server, by reason.", "reason")
	descRateLimited  = desc("rate_limited_total", "Requests refused by a rate limit, by limit.", "scope")
	descLinks        = desc("links", "Live links, including expired ones.")
	descEngineBytes  = desc("engine_bytes", "Memory used by the engine, by part. garbage is included in arena.", "part")
	descJournalFill  = desc("journal_fill_ratio", "Fill level of the fullest ring of the hit journal.")
	descReplayed     = desc("journal_replayed_records", "Hits replayed from the journal at start.")
	descMissing      = desc("journal_missing_files", "Journal files that could not be replayed completely at start.")
	descUnprotected  = desc("journal_unprotected_records", "Hits that a crash would lose now because the store or the journal's disk stalls.")
	descStandby      = desc("journal_standby", "1 while hits go to files in memory because the journal's disk does not answer.")
	descFlushSeconds = desc("flush_duration_seconds", "Duration of flushes of counters and sketches to the store.")
	descFlushErrors  = desc("flush_errors_total", "Flushes that failed. They are retried.")
	descReduced      = desc("flushes_reduced_total", "Flushes that were too large and left out breakdowns, or visitors too.")
	descLost         = desc("hit_parts_lost_total", "Parts of hits dropped because memory was full. A lost count stays in the live counter until the next start.", "part")
	descLastFlush    = desc("last_flush_timestamp_seconds", "Time of the end of the last flush, in Unix seconds.")
)

// hitClasses are the labels of engine.Class.
var hitClasses = [4]string{"hit", "bot", "prefetch", "head"}

func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		descRedirects, descMisses, descHits, descConnections, descEnded, descRateLimited, descLinks, descEngineBytes, descJournalFill,
		descTombstones, descReplayed, descMissing, descUnprotected, descStandby, descReadOnly, descFlushSeconds, descFlushErrors, descReduced,
		descLost, descLastFlush,
	} {
		ch <- d
	}
}

func (c *collector) Collect(ch chan<- prometheus.Metric) {
	c.collectFront(ch)
	c.collectEngine(ch)
}

func (c *collector) collectFront(ch chan<- prometheus.Metric) {
	front := c.sources.Front()
	counters(ch, descRedirects, front.Redirects)
	counters(ch, descMisses, front.Misses)
	counters(ch, descRateLimited, front.Limited)
	gauge(ch, descConnections, float64(front.Connections))
	counters(ch, descEnded, front.Ended)
}

func (c *collector) collectEngine(ch chan<- prometheus.Metric) {
	m := c.sources.Engine.Metrics()
	for class, n := range m.Redirects {
		counter(ch, descHits, float64(n), hitClasses[class])
	}
	gauge(ch, descLinks, float64(m.Links))
	gauge(ch, descTombstones, float64(m.Tombstones))
	gauge(ch, descReadOnly, oneIf(c.sources.Engine.ReadOnly()))
	gauge(ch, descEngineBytes, float64(m.IndexBytes), "index")
	gauge(ch, descEngineBytes, float64(m.ArenaBytes), "arena")
	gauge(ch, descEngineBytes, float64(m.GarbageBytes), "garbage")
	gauge(ch, descEngineBytes, float64(m.CounterBytes), "counters")
	gauge(ch, descEngineBytes, float64(m.JournalBytes), "journal")
	gauge(ch, descEngineBytes, float64(m.PendingBytes), "pending")
	gauge(ch, descJournalFill, m.JournalFillRatio)
	gauge(ch, descReplayed, float64(m.JournalReplayed))
	gauge(ch, descMissing, float64(m.JournalMissing))
	gauge(ch, descUnprotected, float64(m.JournalUnprotected))
	gauge(ch, descStandby, oneIf(m.JournalStandby))
	ch <- prometheus.MustNewConstSummary(descFlushSeconds, m.Flushes, m.FlushSeconds, nil)
	counter(ch, descFlushErrors, float64(m.FlushErrors))
	counter(ch, descReduced, float64(m.FlushesReduced))
	counter(ch, descLost, float64(m.HitsMissing), "count")
	counter(ch, descLost, float64(m.VisitorsDropped), "visitor")
	counter(ch, descLost, float64(m.ValuesDropped), "value")
	counter(ch, descLost, float64(m.ReferrersRefused), "referrer")
	gauge(ch, descLastFlush, float64(m.LastFlush.UnixMilli())/1000)
}

func oneIf(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func counters(ch chan<- prometheus.Metric, d *prometheus.Desc, counts []Count) {
	for _, count := range counts {
		counter(ch, d, float64(count.N), count.Label)
	}
}

func counter(ch chan<- prometheus.Metric, d *prometheus.Desc, v float64, labels ...string) {
	ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, labels...)
}

func gauge(ch chan<- prometheus.Metric, d *prometheus.Desc, v float64, labels ...string) {
	ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}

// storeCollector collects the store's own figures. The store chooses their names, so it describes
// nothing in advance.
type storeCollector struct{ read func() map[string]float64 }

func (storeCollector) Describe(chan<- *prometheus.Desc) {}

func (c storeCollector) Collect(ch chan<- prometheus.Metric) {
	if c.read == nil {
		return
	}
	for name, v := range c.read() {
		d := desc("storage_"+name, "From the store: "+strings.ReplaceAll(name, "_", " ")+".")
		if strings.HasSuffix(name, "_total") {
			counter(ch, d, v)
		} else {
			gauge(ch, d, v)
		}
	}
}
