package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"shunt/engine/plural"
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
func (e *Engine) watchStall() {
	if e.pending.stalled() {
		e.stall.begin(e.log, e.pending.dropped(), nil)
		e.stall.watch(e.log, e.pending.dropped())
	}
}

// Close folds and flushes all remaining records. Run must have returned, and redirects must have
// ended: a later hit is replayed at the next start. The store stays open.
//
// The store may hang. Then Close returns ErrStalled after CloseTimeout (or at once, if Run has
// already waited that long), and the error says what happens to the hits. A goroutine is then still
// in Store.Flush, Store.RollUp or Store.AllocateIDs. It reads deltas, names of referrers and the
// store. If the store still answers, that goroutine continues as it would have in time: its commit
// is whole and together with its positions, and the files that it closes have all records that were
// appended. So the caller must not close the store or anything that the store needs, but end the
// process.
func (e *Engine) Close() error {
	if e.options.ReadOnly {
		return errors.Join(e.loading.drop(), e.journal.Close())
	}
	closed := make(chan error, 1)
	go func() { closed <- e.close() }()
	select {
	case err := <-closed:
		return err
	case <-time.After(e.closeTimeout()):
		return e.unflushed(ErrStalled)
	}
}

// CloseBy makes the end of Run and Close wait for a store that hangs until that time, rather than for
// CloseTimeout each. It may be called while Run runs.
func (e *Engine) CloseBy(at time.Time) { e.closeBy.Store(&at) }

func (e *Engine) closePatience() time.Duration {
	if by := e.closeBy.Load(); by != nil {
		return max(0, time.Until(*by))
	}
	return e.options.CloseTimeout
}

func (e *Engine) closeTimeout() time.Duration {
	if e.loopsEnded == nil {
		return e.closePatience()
	}
	select {
	case <-e.loopsEnded:
		return e.closePatience()
	default:
		return 0 // Run has waited
	}
}

func (e *Engine) close() error {
	if e.loopsEnded != nil {
		<-e.loopsEnded
	}
	err := e.pending.foldTo(context.Background(), e.journal.Heads())
	for clock := true; err == nil && (clock || e.pending.waits()); clock = false { // twice if a failed flush is still in flight
		if err = e.flush(clock); err != nil {
			err = e.unflushed(err)
		}
	}
	gone := err == nil && !e.journal.OnStandby() // a late hit goes to the same rings as the last ones
	if err = errors.Join(err, e.loading.drop(), e.journal.Close()); gone {
		_ = e.folders.RemoveStandby(e.flusher.positions.Epoch) // it is not needed any more; the next start tries again
	}
	return err
}

// unflushed wraps err and says what happens to the hits that could not be flushed because of it.
func (e *Engine) unflushed(err error) error {
	inJournal, lost := e.journal.AtRisk()
	return fmt.Errorf("the last flush: %w; in the journal alone: %s, for the next start to count; lost: %s",
		err, plural.Of(inJournal, "redirect", "redirects"), plural.Of(lost, "redirect", "redirects"))
}
