package admin

import (
	"time"

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
	now      time.Time
	front    Front
	engine   engine.Metrics
	readOnly bool
	ready    bool
	loaded   float64
	latency  Exponential
	store    Storage

	// nil: absent
	certificate   *Certificate
	domains       *[]DomainCertificate
	blocks        *Blocks
	countries     *CountryFile
	sessions      *uint64
	memory        *Memory
	accessDropped *uint64
	shed          []Count
	backup        *Backup
	offsite       *Offsite
	reloads       *Reloads
	cluster       *Cluster
	edges         []Edge
}

// newSnapshot asks all sources.
func newSnapshot(from *Sources) *snapshot {
	s := &snapshot{
		now: time.Now(), front: from.Front(), engine: from.Engine.Metrics(), readOnly: from.Engine.ReadOnly(), ready: from.Engine.Ready(),
		latency: from.Latency(), certificate: asked(from.Certificate), domains: asked(from.Domains), blocks: asked(from.Blocks), sessions: asked(from.Sessions), memory: asked(from.Memory),
		countries:     asked(from.Countries),
		accessDropped: asked(from.AccessDropped), backup: asked(from.Backup), offsite: asked(from.Offsite), reloads: asked(from.Reloads), cluster: asked(from.Cluster),
	}
	if from.Ready != nil {
		s.ready = from.Ready()
	}
	if s.loaded = oneIf(from.Engine.Ready()); from.Loaded != nil {
		s.loaded = from.Loaded()
	}
	if from.Store != nil {
		s.store = from.Store()
	}
	if from.Shed != nil {
		s.shed = from.Shed()
	}
	if from.Edges != nil {
		s.edges = from.Edges()
	}
	return s
}

// asked returns what source returns, or nil if it is nil.
func asked[T any](source func() T) *T {
	if source == nil {
		return nil
	}
	answer := source()
	return &answer
}

// The senders of what may be absent.
var (
	certificateSender = sentIfThere(func(s *snapshot) *Certificate { return s.certificate })
	domainsSender     = sentIfThere(func(s *snapshot) *[]DomainCertificate { return s.domains })
	blocksSender      = sentIfThere(func(s *snapshot) *Blocks { return s.blocks })
	countriesSender   = sentIfThere(func(s *snapshot) *CountryFile { return s.countries })
	sessionsSender    = sentIfThere(func(s *snapshot) *uint64 { return s.sessions })
	memorySender      = sentIfThere(func(s *snapshot) *Memory { return s.memory })
	droppedSender     = sentIfThere(func(s *snapshot) *uint64 { return s.accessDropped })
	backupSender      = sentIfThere(func(s *snapshot) *Backup { return s.backup })
	offsiteSender     = sentIfThere(func(s *snapshot) *Offsite { return s.offsite })
	reloadSender      = sentIfThere(func(s *snapshot) *Reloads { return s.reloads })
	clusterSender     = sentIfThere(func(s *snapshot) *Cluster { return s.cluster })
)

// sentIfThere returns a function that makes sends for a part of the snapshot. They send nothing while it is absent.
func sentIfThere[T any](part func(*snapshot) *T) func(send func(T, sender)) func(*snapshot, sender) {
	return func(send func(T, sender)) func(*snapshot, sender) {
		return func(s *snapshot, out sender) {
			if p := part(s); p != nil {
				send(*p, out)
			}
		}
	}
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

func (o sender) gauges(counts []Count) {
	for _, c := range counts {
		o.gauge(float64(c.N), c.Label)
	}
}

func (o sender) summary(n uint64, sum float64) {
	o.ch <- prometheus.MustNewConstSummary(o.desc, n, sum, nil)
}

// histogram sends b with cumulative buckets, as Prometheus has them.
func (o sender) histogram(b Buckets) {
	cumulative := make(map[float64]uint64, len(b.Bounds))
	n := uint64(0)
	for i, bound := range b.Bounds {
		n += b.Counts[i]
		cumulative[bound] = n
	}
	n += b.Counts[len(b.Bounds)]
	o.ch <- prometheus.MustNewConstHistogram(o.desc, n, b.Sum, cumulative)
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
	{title: "Certificate", metrics: certificateMetrics},
	{title: "Backups, block list and settings", metrics: upkeepMetrics},
	{title: "Journal of hits", folded: true, metrics: journalMetrics},
	{title: "Writing figures to disk", folded: true, metrics: flushMetrics},
	{title: "Cluster", folded: true, metrics: clusterMetrics},
	{title: "Edges", folded: true, metrics: edgeMetrics},
	{title: "Connections and limits", folded: true, metrics: connectionMetrics},
	{title: "Disk and store", folded: true, metrics: storeMetrics},
	{title: "Program", folded: true, metrics: programMetrics},
	{title: "Requests of programs and pages", folded: true, metrics: requestMetrics},
}
