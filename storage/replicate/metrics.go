package replicate

import (
	"time"

	"shunt/storage/kv"
)

// appendSeconds are the bounds of the buckets of Metrics.Append.
var appendSeconds = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}

// Metrics is a snapshot of the figures of a store in a cluster.
type Metrics struct {
	OutboxBytes             uint64       // of rows that other nodes have not pulled yet
	OutboxOldest            time.Time    // when the oldest of them were made; zero if there are none
	OutboxFirst             uint64       // position of the oldest record that is kept
	OutboxNext              uint64       // position of the record that comes next
	OutboxWithoutBreakdowns uint64       // rows that other nodes will lack the breakdowns of, because the outbox was full
	OutboxWithoutVisitors   uint64       // rows that they will lack the visitors of
	Append                  kv.Histogram // seconds until an entry of this node was in the log
	PulledRows              uint64       // of other nodes, applied here
	PulledRowsDropped       uint64       // of them, those of links purged here, and of targets that a link never had
}

// Metrics returns the figures.
func (s *Rows) Metrics() Metrics {
	o := &s.outbox
	m := Metrics{
		OutboxBytes: o.bytes.Load(), OutboxFirst: o.first.Load(), OutboxNext: o.next.Load(),
		OutboxWithoutBreakdowns: o.withoutBreakdowns.Load(), OutboxWithoutVisitors: o.withoutVisitors.Load(),
		Append: s.shared.appends.Snapshot(), PulledRows: s.pulls.rows.Load(), PulledRowsDropped: s.pulls.dropped.Load(),
	}
	if made := o.oldestMs.Load(); made != 0 {
		m.OutboxOldest = time.UnixMilli(made)
	}
	return m
}
