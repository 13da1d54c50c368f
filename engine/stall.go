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

// A stall begins when a flush fails, or takes longer than stallAfter, and ends with the next one that is durable.
// Meanwhile redirects go on: records are folded, deltas wait in memory, and slots of the journal are freed before they
// are durable. stallLog says so once at the beginning, once when something is dropped, and once at the end.
type stallLog struct {
	mu struct {
		sync.Mutex
		since   time.Time // of the stall; zero: there is none
		before  dropped   // when it began
		dropped bool      // it was said that something is
	}
}

// dropped is what was left out since start for want of room.
type dropped struct{ hits, visitors, values uint64 }

// begin says that a stall begins, unless it was said. err is why the flush failed, nil if it takes long.
func (s *stallLog) begin(log *slog.Logger, now dropped, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.mu.since.IsZero() {
		return
	}
	s.mu.since, s.mu.before, s.mu.dropped = time.Now(), now, false
	const waits = "redirects go on, and their hits wait in the journal and in memory until the store takes them"
	if err != nil {
		log.Error("a flush failed, it is tried again until it succeeds; "+waits, "error", err)
		return
	}
	log.Warn("a flush takes long; "+waits, "longer_than", stallAfter)
}

// watch says that something is dropped in a stall, unless it was said.
func (s *stallLog) watch(log *slog.Logger, now dropped) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.since.IsZero() || s.mu.dropped || now == s.mu.before {
		return
	}
	s.mu.dropped = true
	log.Error("the store stalls for so long that memory for hits is used up: from now on parts of them are lost "+
		"(values and visitors first; counts only of links that had no hit since the stall began)", s.attrsLocked(now)...)
}

// end says that a stall is over, if there was one.
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

// dropped returns what was left out since start.
func (p *pending) dropped() dropped {
	_, visitors, values := p.size()
	return dropped{p.missing.Load(), visitors, values}
}

// watchStall says what there is to say of a stall.
func (e *Engine) watchStall() {
	if e.pending.stalled() {
		e.stall.begin(e.log, e.pending.dropped(), nil)
		e.stall.watch(e.log, e.pending.dropped())
	}
}

// Close folds and flushes what is left. Run must have returned, and redirects must have ended: a hit after that is
// replayed at the next start. The store stays open.
//
// The store may hang. Then Close returns ErrStalled after CloseTimeout (or at once, if Run has waited that long already),
// and says what becomes of the hits. A goroutine is then still in Store.Flush, Store.RollUp or Store.AllocateIDs. It reads
// deltas, names of referrers and the store, and if the store answers yet, it goes on as it would have in time: what it
// commits is whole and together with its positions, and the files that it closes hold all that was appended. So neither
// the store nor anything that it needs may be closed: the caller ends the process.
func (e *Engine) Close() error {
	closed := make(chan error, 1)
	go func() { closed <- e.close() }()
	select {
	case err := <-closed:
		return err
	case <-time.After(e.closeTimeout()):
		return e.unflushed(ErrStalled)
	}
}

func (e *Engine) closeTimeout() time.Duration {
	if e.loopsEnded == nil {
		return e.options.CloseTimeout
	}
	select {
	case <-e.loopsEnded:
		return e.options.CloseTimeout
	default:
		return 0 // Run has waited
	}
}

func (e *Engine) close() error {
	if e.loopsEnded != nil {
		<-e.loopsEnded
	}
	err := e.pending.foldTo(context.Background(), e.journal.Heads())
	for err == nil && e.pending.waits() { // twice if a failed flush is still in flight
		if err = e.Flush(); err != nil {
			err = e.unflushed(err)
		}
	}
	gone := err == nil && !e.journal.OnStandby() // a late hit goes where the last ones went
	if err = errors.Join(err, e.journal.Close()); gone {
		_ = e.folders.RemoveStandby(e.flusher.positions.Epoch) // it is of no use; the next start tries again
	}
	return err
}

// unflushed says what becomes of the hits that could not be flushed because of err.
func (e *Engine) unflushed(err error) error {
	inJournal, lost := e.journal.AtRisk()
	return fmt.Errorf("the last flush: %w; in the journal alone: %s, for the next start to count; lost: %s",
		err, plural.Of(inJournal, "redirect", "redirects"), plural.Of(lost, "redirect", "redirects"))
}
