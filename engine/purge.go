package engine

import (
	"errors"
	"fmt"
	"math"
	"shunt/engine/internal/invariants"
	"sync"
	"time"
)

// A deleted code, and what differs from it only by case, stays taken until TombstoneDays after its deletion and not a
// millisecond longer, for everybody but its former owner (and, of a variant, whoever's own that was until not long ago):
// tombstoneHolds is the rule, for what is in memory and for what is read from the store alike. The rows
// of the deleted link go some time later, up to an hour as a rule, by a purge; nobody can tell the difference.
//
// Purging is the flush goroutine's, after flush and roll-up. It goes over the store's deletions, oldest first, and takes
// the code's reservation like any writer: so it and a create have one order, and it reads what it deletes. The invariants:
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
	tombstoneMs = TombstoneDays * hoursPerDay * msPerHour

	// purgesATurn bounds what is purged between two flushes: some milliseconds, and one batch.
	purgesATurn = 256

	// purgedAtMs as the deletion of a tombstone in memory says that there is no such record in the store any more. The slot
	// stays, until its code is taken again or the shard is rewritten.
	purgedAtMs = math.MinInt64
)

// tombstoneHolds tells whether a code that was deleted then is still taken.
func tombstoneHolds(deletedAtMs, nowMs int64) bool { return nowMs-tombstoneMs <= deletedAtMs }

// purged tells whether the record stands for nothing.
func (v *HotView) purged() bool { return v.Flags&FlagTombstone != 0 && v.DeletedAtMs == purgedAtMs }

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
	due, err := e.store.Deletions(p.before, purgesATurn)
	if err != nil {
		return err
	}
	t := purgeTurn{engine: e, nowMs: now.UnixMilli(), held: make(map[string]reservation)}
	defer t.release()
	for _, d := range due {
		t.prepare(d)
	}
	t.commit()
	p.more = len(due) == purgesATurn || t.again
	return t.err
}

// purgeTurn is one turn of purging. It holds the reservations of all codes in it until it is committed; it waits for none,
// so it cannot be in a circle of waiters.
type purgeTurn struct {
	engine *Engine
	nowMs  int64
	held   map[string]reservation // by folded code
	purges []Purge
	again  bool  // something is left for the next turn
	err    error // the first
}

// prepare adds d to what is purged, if that is what d still is.
func (t *purgeTurn) prepare(d Deletion) {
	if !t.reserve(d.Code) {
		t.again = true
		return
	}
	rec, err := t.engine.store.ReadRecord(d.Code)
	switch {
	case errors.Is(err, ErrNotFound), err == nil && rec.Hot.ID != d.ID:
		t.purges = append(t.purges, Purge{Deletion: d})
	case err != nil:
		t.fail(fmt.Errorf("reading deleted link %q: %w", d.Code, err))
	case rec.Hot.Flags&FlagTombstone == 0:
		t.fail(fmt.Errorf("link %q, id %d, is live and listed as deleted", d.Code, d.ID))
	case tombstoneHolds(rec.Hot.DeletedAtMs, t.nowMs): // at the next hour
	default:
		t.purges = append(t.purges, Purge{Deletion: d, FreesCode: true})
	}
}

// reserve takes the reservation of code, unless it is the turn's already or another writer's.
func (t *purgeTurn) reserve(code string) bool {
	r := t.engine.reservationOf(code)
	if _, held := t.held[r.folded]; held {
		return true
	}
	if r.shard.tryReserve(r.folded) != nil {
		return false
	}
	t.held[r.folded] = r
	return true
}

// commit has the store purge what was prepared, in one batch as a rule, and waits for it. The store answers in any case;
// if it stalls, so does the next flush.
func (t *purgeTurn) commit() {
	errs := make([]error, len(t.purges))
	var committing sync.WaitGroup
	for i := range t.purges {
		committing.Add(1)
		t.engine.store.Apply(Mutation{Purge: &t.purges[i]}, func(err error) {
			errs[i] = err
			committing.Done()
		})
	}
	committing.Wait()
	for i, err := range errs {
		switch p := &t.purges[i]; {
		case errors.Is(err, ErrOverloaded), errors.Is(err, ErrReadOnly), errors.Is(err, ErrClosed):
			t.again = true
		case err != nil:
			t.fail(fmt.Errorf("purging link %q: %w", p.Code, err))
		case p.FreesCode:
			r := t.engine.reservationOf(p.Code)
			r.shard.forget(r.place.tag, p.Code, p.ID)
		}
	}
}

func (t *purgeTurn) fail(err error) {
	t.again = true
	if t.err == nil {
		t.err = err
	}
}

func (t *purgeTurn) release() {
	for _, r := range t.held {
		r.release()
	}
}

// forget makes nothing of the tombstone of id, if code has a slot: the tombstones of variants of a code share one. Its
// bytes are garbage from now on. A shard that is full forgets nothing, which costs memory only.
func (s *shard) forget(tag uint64, code string, id uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.current.Load()
	record, slot := t.find(tag, []byte(code))
	if record == nil {
		return
	}
	v := view(t.arena.record(*slot & offsetMask))
	if v.ID != id || v.Flags&FlagTombstone == 0 {
		if invariants.Enabled {
			panic(fmt.Sprintf("engine: code %q was purged as the tombstone of %d, and is %d with flags %#x", code, id, v.ID, v.Flags))
		}
		return
	}
	gone := HotView{Code: []byte(code), ID: v.ID, Owner: v.Owner, Flags: FlagTombstone, DeletedAtMs: purgedAtMs}
	_ = s.putLocked(tag, &gone)
}
