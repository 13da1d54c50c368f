package hit

import (
	"log/slog"
	"sync"
	"time"
)

// A stall begins when a flush fails, or takes longer than stallAfter, and ends with the next one
// that is durable. Meanwhile redirects continue: records are folded, deltas wait in memory, and
// slots of the journal are freed before their records are durable. stallLog logs a stall three
// times: when it begins, when hits or parts of them are first dropped, and when it ends.
type stallLog struct {
	mu struct {
		sync.Mutex
		since   time.Time // when the stall began; zero: there is none
		before  dropped   // the counts when it began
		dropped bool      // it was logged that parts are dropped
	}
}

// dropped counts hits, visitors and values left out since start because memory was full.
type dropped struct{ hits, visitors, values uint64 }

// begin logs that a stall begins, unless that was logged. err is the error of the flush, nil if the
// flush takes long.
func (s *stallLog) begin(log *slog.Logger, now dropped, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.mu.since.IsZero() {
		return
	}
	s.mu.since, s.mu.before, s.mu.dropped = time.Now(), now, false
	const waits = "redirects continue, and their hits wait in the journal and in memory until the store accepts them"
	if err != nil {
		log.Error("a flush failed and is tried again until it succeeds; "+waits, "error", err)
		return
	}
	log.Warn("a flush takes long; "+waits, "longer_than", stallAfter)
}

// watch logs that parts are dropped in a stall, unless that was logged.
func (s *stallLog) watch(log *slog.Logger, now dropped) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.since.IsZero() || s.mu.dropped || now == s.mu.before {
		return
	}
	s.mu.dropped = true
	log.Error("the store still stalls and memory for hits is used up: from now on parts of hits are lost "+
		"(values and visitors first; counts only of links that had no hit since the stall began)", s.attrsLocked(now)...)
}

// end logs that a stall is over, if there was one.
func (s *stallLog) end(log *slog.Logger, now dropped) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.since.IsZero() {
		return
	}
	log.Info("the store takes hits again", append(s.attrsLocked(now), "stalled", time.Since(s.mu.since))...)
	s.mu.since = time.Time{}
}

func (s *stallLog) attrsLocked(now dropped) []any {
	b := &s.mu.before
	return []any{
		"hits_lost", now.hits - b.hits, "visitors_lost", now.visitors - b.visitors, "values_lost", now.values - b.values,
	}
}

// dropped returns the counts of dropped parts since start.
func (p *pending) dropped() dropped {
	_, visitors, values := p.size()
	return dropped{p.missing.Load(), visitors, values}
}

// watchStall logs the beginning of a stall that is a flush that takes long, and dropped parts.
func (hs *Hits) watchStall() {
	if hs.pending.stalled() {
		hs.stall.begin(hs.log, hs.pending.dropped(), nil)
		hs.stall.watch(hs.log, hs.pending.dropped())
	}
}
