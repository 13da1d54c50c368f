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
	Unlocks     []Count // attempts to open a link with a password, by result
	Ended       []Count // public connections, by reason
	Connections int     // open public ones
	Loops       []int   // of those, each event loop's
	Domains     []DomainCounts
}

// DomainCounts are what a domain has counted since the start. They are absent while there is one domain only.
type DomainCounts struct {
	Host         string
	Hits, Misses uint64
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
			send := m.send
			if send == nil && strings.HasPrefix(m.name, storePrefix) {
				send = sendStored(m.name)
			}
			if send != nil {
				c.senders = append(c.senders, tableSender{prometheus.NewDesc(m.name, m.help, m.labels, nil), send})
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
	now := newSnapshot(&c.sources)
	for _, s := range c.senders {
		s.send(now, sender{s.desc, ch})
	}
}

// sendStored returns how a figure of the store is sent, if the store reports it.
func sendStored(name string) func(*snapshot, sender) {
	short := strings.TrimPrefix(name, storePrefix)
	counts := strings.HasSuffix(name, "_total")
	return func(s *snapshot, out sender) {
		v, reported := s.store.Values[short]
		b, bucketed := s.store.Histograms[short]
		switch {
		case bucketed:
			out.histogram(b)
		case reported && counts:
			out.ch <- prometheus.MustNewConstMetric(out.desc, prometheus.CounterValue, v)
		case reported:
			out.gauge(v)
		}
	}
}
