package engine

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"shunt/engine/index"
	"shunt/engine/internal/limits"
)

// A deleted code, and what differs from it only by case, stays taken until TombstoneDays after its deletion and not a
// millisecond longer, for everybody but its former owner (and, of a variant, whoever's own that was until not long ago):
// tombstoneHolds is the rule, for what is in memory and for what is read from the store alike. The rows
// of the deleted link go some time later, up to an hour as a rule, by a purge; nobody can tell the difference.
//
// Purging is the flush goroutine's, after flush and roll-up. It goes over the store's deletions, oldest first, and takes
// the code's lock like any writer: so it and a create have one order, and it reads what it deletes. The invariants:
//
//  1. A hot record is deleted only if it is the tombstone of the link that is purged, and over. If its code is another
//     link's by now, that one's rows are not touched.
//  2. All rows of a link go in one batch, with the row that it was found by. A crash leaves all of them or none.
//  3. Nothing makes rows of a purged link anew. A hit counts in an hour that begins less than an hour after the link was
//     deleted; purging waits until all hours before the open one are rolled up, also those of a journal that was replayed
//     after 90 days; and rows of hours to come, which a clock that was ahead may have left, are deleted with it.
//  4. Nothing is purged until the clock has run evenly for a while: what a wrong clock purges is gone for good. For the
//     same reason a tombstone stays in memory until it is purged, and is only ignored while the clock says that it is over.

const (
	tombstoneMs = limits.TombstoneDays * hoursPerDay * msPerHour

	// purgesABatch bounds what is purged between two flushes: some milliseconds, and one batch.
	purgesABatch = 256
)

// tombstoneHolds tells whether a code that was deleted then is still taken.
func tombstoneHolds(deletedAtMs, nowMs int64) bool { return nowMs-tombstoneMs <= deletedAtMs }

// purger is how far purging went.
type purger struct {
	before uint32 // deletions of hours before it are due
	more   bool   // some of them may be left
}

// purge purges some of what is due. now is of a clock that runs evenly.
func (e *Engine) purge(now time.Time) error {
	p := &e.flusher.purge
	if before := hourOf(now.Add(-tombstoneMs * time.Millisecond)); before != p.before {
		*p = purger{before: before, more: true}
	}
	if !p.more || !e.Ready() {
		return nil
	}
	due, err := e.store.Deletions(p.before, purgesABatch)
	if err != nil {
		return err
	}
	b := purgeBatch{engine: e, nowMs: now.UnixMilli(), held: make(map[string]index.CodeLock)}
	defer b.unlock()
	for _, d := range due {
		b.prepare(d)
	}
	b.commit()
	p.more = len(due) == purgesABatch || b.again
	return b.err
}

// purgeBatch is what is purged between two flushes. It holds the locks of all codes in it until it is committed; it waits for none,
// so it cannot be in a circle of waiters.
type purgeBatch struct {
	engine *Engine
	nowMs  int64
	held   map[string]index.CodeLock // by folded code
	purges []Purge
	again  bool  // something is left for the next batch
	err    error // the first
}

// prepare adds d to what is purged, if that is what d still is.
func (b *purgeBatch) prepare(d Deletion) {
	if !b.lock(d.Code) {
		b.again = true
		return
	}
	rec, err := b.engine.store.ReadRecord(d.Code)
	switch {
	case errors.Is(err, ErrNotFound), err == nil && rec.Hot.ID != d.ID:
		b.purges = append(b.purges, Purge{Deletion: d})
	case err != nil:
		b.fail(fmt.Errorf("reading deleted link %q: %w", d.Code, err))
	case rec.Hot.Flags&index.FlagTombstone == 0:
		b.fail(fmt.Errorf("link %q, id %d, is live and listed as deleted", d.Code, d.ID))
	case tombstoneHolds(rec.Hot.DeletedAtMs, b.nowMs): // at the next hour
	default:
		b.purges = append(b.purges, Purge{Deletion: d, FreesCode: true})
	}
}

// lock takes the lock of code, unless it is the batch's already or another writer's.
func (b *purgeBatch) lock(code string) bool {
	l := b.engine.index.CodeLock(code)
	if _, held := b.held[l.Folded()]; held {
		return true
	}
	if l.TryLock() != nil {
		return false
	}
	b.held[l.Folded()] = l
	return true
}

// commit has the store purge what was prepared, in one batch as a rule, and waits for it. The store answers in any case;
// if it stalls, so does the next flush.
func (b *purgeBatch) commit() {
	errs := make([]error, len(b.purges))
	var committing sync.WaitGroup
	for i := range b.purges {
		committing.Add(1)
		b.engine.store.Apply(Mutation{Purge: &b.purges[i]}, func(err error) {
			errs[i] = err
			committing.Done()
		})
	}
	committing.Wait()
	for i, err := range errs {
		switch p := &b.purges[i]; {
		case errors.Is(err, ErrOverloaded), errors.Is(err, ErrReadOnly), errors.Is(err, ErrClosed):
			b.again = true
		case err != nil:
			b.fail(fmt.Errorf("purging link %q: %w", p.Code, err))
		case p.FreesCode:
			b.engine.index.Forget(p.Code, p.ID)
		}
	}
}

func (b *purgeBatch) fail(err error) {
	b.again = true
	if b.err == nil {
		b.err = err
	}
}

func (b *purgeBatch) unlock() {
	for _, l := range b.held {
		l.Unlock()
	}
}
