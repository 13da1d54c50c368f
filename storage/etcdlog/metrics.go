package etcdlog

import (
	"slices"
	"sync/atomic"
	"time"
)

// AppendBounds are the upper bounds of the buckets of Metrics.AppendCounts, in seconds.
var AppendBounds = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}

// Metrics are counts since New.
type Metrics struct {
	Appends       uint64 // entries known to be committed
	AppendBytes   uint64 // of their payloads
	AppendSeconds float64
	AppendCounts  []uint64 // by AppendBounds, and above the last; each bucket alone
	Retries       uint64   // requests that were made again
	Ambiguous     uint64   // appends whose outcome one answer did not settle
	Unknown       uint64   // appends that returned ErrUnknownOutcome
	Elections     uint64   // won
	RenewFailures uint64   // renewals of the lease that failed
	CorruptReads  uint64   // answers with a wrong entry, or without one that must be there
	EntriesRead   uint64
	WatchRestarts uint64
	Trims         uint64
	Compactions   uint64
}

type metrics struct {
	appends, appendBytes, appendNanos              atomic.Uint64
	appendCounts                                   []atomic.Uint64
	retries, ambiguous, unknown                    atomic.Uint64
	elections, renewFailures, corruptReads         atomic.Uint64
	entriesRead, watchRestarts, trims, compactions atomic.Uint64
}

func newMetrics() metrics { return metrics{appendCounts: make([]atomic.Uint64, len(AppendBounds)+1)} }

// observeAppend counts an entry that was committed.
func (m *metrics) observeAppend(payloadBytes int, took time.Duration) {
	m.appends.Add(1)
	m.appendBytes.Add(uint64(payloadBytes))
	m.appendNanos.Add(uint64(max(0, took)))
	at, _ := slices.BinarySearch(AppendBounds, took.Seconds())
	m.appendCounts[at].Add(1)
}

// Metrics returns the counts. Each is exact; two of them may be of different moments.
func (l *Log) Metrics() Metrics {
	m := &l.metrics
	counts := make([]uint64, len(m.appendCounts))
	for i := range counts {
		counts[i] = m.appendCounts[i].Load()
	}
	return Metrics{
		Appends:       m.appends.Load(),
		AppendBytes:   m.appendBytes.Load(),
		AppendSeconds: time.Duration(m.appendNanos.Load()).Seconds(),
		AppendCounts:  counts,
		Retries:       m.retries.Load(),
		Ambiguous:     m.ambiguous.Load(),
		Unknown:       m.unknown.Load(),
		Elections:     m.elections.Load(),
		RenewFailures: m.renewFailures.Load(),
		CorruptReads:  m.corruptReads.Load(),
		EntriesRead:   m.entriesRead.Load(),
		WatchRestarts: m.watchRestarts.Load(),
		Trims:         m.trims.Load(),
		Compactions:   m.compactions.Load(),
	}
}
