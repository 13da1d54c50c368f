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
	Loops       []int   // of those, each event loop's
}

// A Count is a number of things with one label.
type Count struct {
	Label string
	N     uint64
}

// collector reads the atomics of the engine and the front end when Prometheus asks, so that the hot
// path does no extra work. It sends the metrics of the table that have send.
type collector struct {
	sources Sources
	senders []tableSender
}

type tableSender struct {
	desc *prometheus.Desc
	send func(*snapshot, sender)
}

func newCollector(sources Sources) *collector {
	c := &collector{sources: sources}
	for _, s := range table {
		for _, m := range s.metrics {
			if m.send != nil {
				c.senders = append(c.senders, tableSender{prometheus.NewDesc(m.name, m.help, m.labels, nil), m.send})
			}
		}
	}
	return c
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	for _, s := range c.senders {
		ch <- s.desc
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	now := &snapshot{front: c.sources.Front(), engine: c.sources.Engine.Metrics(), readOnly: c.sources.Engine.ReadOnly()}
	for _, s := range c.senders {
		s.send(now, sender{s.desc, ch})
	}
}

// storeCollector collects the store's own figures. The store chooses their names, so it describes
// nothing in advance.
type storeCollector struct{ read func() Storage }

func (storeCollector) Describe(chan<- *prometheus.Desc) {}

func (c storeCollector) Collect(ch chan<- prometheus.Metric) {
	if c.read == nil {
		return
	}
	for name, v := range c.read().Values {
		kind := prometheus.GaugeValue
		if strings.HasSuffix(name, "_total") {
			kind = prometheus.CounterValue
		}
		d := prometheus.NewDesc("shunt_storage_"+name, "From the store: "+strings.ReplaceAll(name, "_", " ")+".", nil, nil)
		ch <- prometheus.MustNewConstMetric(d, kind, v)
	}
}
