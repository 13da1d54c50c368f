package api

import (
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"shunt/api/redirect"
)

// collector reads the engine's and the front end's own atomics when Prometheus asks, so that the hot path pays
// nothing for it.
type collector struct{ s *Server }

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("shunt_"+name, help, labels, nil)
}

var (
	descRedirects    = desc("redirects_total", "Redirects answered, by HTTP status.", "status")
	descMisses       = desc("redirect_misses_total", "Requests for codes that got no redirect.", "reason")
	descHits         = desc("hits_total", "Redirects counted, by who made the request.", "class")
	descTombstones   = desc("tombstones", "Deleted links whose codes are still taken, or not purged yet.")
	descReadOnly     = desc("read_only", "1 if links cannot be written at present, since there is too little space.")
	descConnections  = desc("connections", "Open public connections.")
	descEnded        = desc("connections_ended_total", "Public connections that were closed or refused, by why.", "reason")
	descRateLimited  = desc("rate_limited_total", "Requests refused because there were too many, by what is limited.", "scope")
	descLinks        = desc("links", "Live links, expired ones included.")
	descEngineBytes  = desc("engine_bytes", "Memory of the engine. garbage is a part of arena.", "part")
	descJournalFill  = desc("journal_fill_ratio", "How full the fullest ring of the hit journal is.")
	descReplayed     = desc("journal_replayed_records", "Hits found in the journal at start.")
	descMissing      = desc("journal_missing_files", "Files of the journal that could not be replayed at start, or not whole.")
	descUnprotected  = desc("journal_unprotected_records", "Hits that a crash would lose now, since the store stalls, or the journal's disk.")
	descStandby      = desc("journal_standby", "1 while hits go to files in memory, since the journal's disk does not answer.")
	descFlushSeconds = desc("flush_duration_seconds", "Flushes of counters and sketches to the store.")
	descFlushErrors  = desc("flush_errors_total", "Flushes that failed. They are tried again.")
	descReduced      = desc("flushes_reduced_total", "Flushes that were too large, and left out what hits are made of.")
	descLost         = desc("hit_parts_lost_total", "What is not kept of hits, for want of room. count: they are in live counters, until the next start.", "part")
	descLastFlush    = desc("last_flush_timestamp_seconds", "When the last flush ended, in Unix time.")
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
	counts := c.s.redirects.Counts()
	for i, n := range counts.Redirects {
		counter(ch, descRedirects, float64(n), strconv.Itoa(redirect.Statuses[i]))
	}
	for o, n := range counts.Misses {
		if reason := redirect.Outcome(o).Reason(); reason != "" {
			counter(ch, descMisses, float64(n), reason)
		}
	}
	for scope, name := range ruleScopes {
		counter(ch, descRateLimited, float64(c.s.rules.refused[scope].Load()), name)
	}
	gauge(ch, descConnections, float64(c.s.public.open()))
	ended := &c.s.connections
	counter(ch, descEnded, float64(ended.late.Load()), "late")
	counter(ch, descEnded, float64(ended.idle.Load()), "idle")
	counter(ch, descEnded, float64(ended.evicted.Load()), "evicted")
	counter(ch, descEnded, float64(ended.address.Load()), "address")
	counter(ch, descEnded, float64(ended.plain.Load()), "plain_http")
}

func (c *collector) collectEngine(ch chan<- prometheus.Metric) {
	m := c.s.engine.Metrics()
	for class, n := range m.Redirects {
		counter(ch, descHits, float64(n), hitClasses[class])
	}
	gauge(ch, descLinks, float64(m.Links))
	gauge(ch, descTombstones, float64(m.Tombstones))
	gauge(ch, descReadOnly, oneIf(c.s.engine.ReadOnly()))
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

func counter(ch chan<- prometheus.Metric, d *prometheus.Desc, v float64, labels ...string) {
	ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, labels...)
}

func gauge(ch chan<- prometheus.Metric, d *prometheus.Desc, v float64, labels ...string) {
	ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}

// storageCollector shows what the store says of itself. Its names are the store's, so it describes nothing in advance.
type storageCollector struct{ read func() map[string]float64 }

func (storageCollector) Describe(chan<- *prometheus.Desc) {}

func (c storageCollector) Collect(ch chan<- prometheus.Metric) {
	if c.read == nil {
		return
	}
	for name, v := range c.read() {
		d := desc("storage_"+name, "Of the store: "+strings.ReplaceAll(name, "_", " ")+".")
		if strings.HasSuffix(name, "_total") {
			counter(ch, d, v)
		} else {
			gauge(ch, d, v)
		}
	}
}
