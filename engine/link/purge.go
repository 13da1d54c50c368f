package link

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"shunt/engine/index"
	"shunt/engine/internal/clock"
	"shunt/engine/internal/errs"
	"shunt/engine/internal/limits"
)

// A deleted code, and every code that differs from it only by case, stays taken until TombstoneDays
// after its deletion and not a millisecond longer, for everybody except its former owner (and, for
// a variant, an owner who had that variant until not long ago). These days must have passed by the wall
// clock and while the store ran (see package seen), so that a wrong clock gives no code away.
// Links.TombstoneHolds is the rule, for tombstones in memory and in the store alike. A purge deletes
// the rows of the link some time later, up to an hour as a rule; callers cannot see the difference.
//
// The flush goroutine purges, after flush and roll-up, in two stages. TrashDays after its deletion a link loses all
// that is its own, figures included, and leaves the trash if it is still there (trash.go): its tombstone is left.
// TombstoneDays after its deletion that goes, too. Once an hour the goroutine goes through the store's deletions of
// each stage that are old enough by the wall clock, the oldest first, and then through those of the future, which a
// clock that was ahead has left. It takes the code's lock like any writer: so it and a create have one order, and
// it reads what it deletes. A link whose figures were reset has left its former id behind, which is in the
// deletions too: to a purge, its code is another link's. The invariants:
//
//  1. A hot record is deleted only if it is the tombstone of the purged link and no longer holds.
//     If its code is another link's by now, that link's rows are not touched.
//  2. All rows of a stage are deleted in one batch, together with the row by which the link was found. A
//     crash leaves all rows or none.
//  3. Nothing makes rows of a purged link again. Its last hits were counted at once after it was deleted, or
//     are replayed before the first purge of a start. Purging waits until all hours before the open one are rolled
//     up; and rows of future hours, which
//     a clock that was ahead may have left, are deleted with the link.
//  4. Nothing is purged until the clock has run evenly for a while.

const (
	tombstoneMs = limits.TombstoneDays * clock.HoursPerDay * clock.MsPerHour

	// purgesABatch bounds the links purged between two flushes: some milliseconds, and one batch.
	purgesABatch = 256
)

// TombstoneHolds reports whether a code that was deleted at deletedAtMs is still taken.
func (ls *Links) TombstoneHolds(deletedAtMs int64) bool {
	return deletedAtMs >= 0 && !ls.clock.Kept(deletedAtMs, (tombstoneMs+1)*time.Millisecond) // before 1970: purged (index.HotView.Purged)
}

// purger is the progress of purging.
type purger struct {
	hour  uint32      // in which the passes began
	spans []deletedIn // to go through
	again bool        // something was left behind: go through all of them again
}

// cleaner is the progress of the goroutine that cleans up.
type cleaner struct {
	purge      purger
	auditSwept time.Time // when the last sweep of the audit log began
}

// deletedIn is deletions from one of an hour and id on: those with figures, or those without.
type deletedIn struct {
	figures      bool
	from, before uint32 // hours
	id           uint64
}

// begin makes p go through all deletions that may be due.
func (p *purger) begin(now time.Time) {
	leave, due := clock.HourOf(now.Add(-trashMs*time.Millisecond)), clock.HourOf(now.Add(-tombstoneMs*time.Millisecond))
	future := clock.HourOf(now) + 2
	*p = purger{hour: clock.HourOf(now), spans: []deletedIn{
		{figures: true, before: leave}, {figures: true, from: future, before: math.MaxUint32},
		{before: due}, {from: future, before: math.MaxUint32},
	}}
}

// purge purges some of the deletions that are due. now must be of a clock that runs evenly.
func (ls *Links) purge(now time.Time) error {
	p := &ls.cleaner.purge
	if p.hour != clock.HourOf(now) || len(p.spans) == 0 && p.again {
		p.begin(now)
	}
	if len(p.spans) == 0 || !ls.Ready() {
		return nil
	}
	b := purgeBatch{links: ls, held: make(map[index.Key]index.CodeLock)}
	defer b.unlock()
	for left := purgesABatch; len(p.spans) > 0; {
		in := &p.spans[0]
		due, err := ls.store.Deletions(in.figures, in.from, in.id, in.before, left)
		if err != nil {
			b.fail(err)
			break
		}
		for _, d := range due {
			in.from, in.id = d.Hour, d.ID+1
			b.prepare(d, in.figures)
		}
		if left -= len(due); left == 0 {
			break
		}
		p.spans = p.spans[1:]
	}
	b.commit()
	p.again = p.again || b.again
	return b.err
}

// purgeBatch is the links purged between two flushes. It holds the locks of all their codes until
// it is committed. It waits for no lock, so it cannot be in a circle of waiters.
type purgeBatch struct {
	links  *Links
	held   map[index.Key]index.CodeLock // by CodeLock.Folded
	purges []Purge
	again  bool  // something is left for the next batch
	err    error // the first
}

// prepare adds d, which is one of the deletions with figures or without, to the batch unless it is not due yet or its
// code is locked by another writer.
func (b *purgeBatch) prepare(d Deletion, figures bool) {
	holds := b.links.TombstoneHolds
	if figures {
		holds = b.links.inTrash
	}
	if d.Hour != 0 && holds(int64(d.Hour)*clock.MsPerHour) {
		return
	}
	if !b.lock(d.Key) {
		b.again = true
		return
	}
	rec, err := b.links.store.ReadRecord(d.Key)
	switch tombstone := rec.Hot.Flags&index.FlagTombstone != 0; {
	case errors.Is(err, errs.ErrNotFound), err == nil && rec.Hot.ID != d.ID:
		b.purges = append(b.purges, Purge{Deletion: d, Figures: figures})
	case err != nil:
		b.fail(fmt.Errorf("reading deleted link %q: %w", d.Code, err))
	case !tombstone && figures: // it was restored since it was found here
	case !tombstone:
		b.fail(fmt.Errorf("link %q, id %d, is live and listed as deleted", d.Code, d.ID))
	case holds(rec.Hot.DeletedAtMs): // at the next hour
	case figures:
		free := !b.links.TombstoneHolds(rec.Hot.DeletedAtMs) // it should have left the trash long ago
		b.purges = append(b.purges, Purge{Deletion: d, Figures: true, Left: &rec, FreesCode: free})
	default:
		b.purges = append(b.purges, Purge{Deletion: d, FreesCode: true})
	}
}

// lock takes the lock of k and reports whether the batch holds it. It fails if another writer
// has it.
func (b *purgeBatch) lock(k index.Key) bool {
	l := b.links.index.CodeLock(k)
	folded := l.Folded()
	if _, held := b.held[folded]; held {
		return true
	}
	if l.TryLock() != nil {
		return false
	}
	b.held[folded] = l
	return true
}

// commit has the store purge the prepared links, in one batch as a rule, and waits until it has
// answered. The store always answers; if it stalls, so does the next flush.
func (b *purgeBatch) commit() {
	outcomes := make([]error, len(b.purges))
	var committing sync.WaitGroup
	for i := range b.purges {
		committing.Add(1)
		b.links.store.Apply(Mutation{Purge: &b.purges[i]}, func(err error) {
			outcomes[i] = err
			committing.Done()
		})
	}
	committing.Wait()
	for i, err := range outcomes {
		switch p := &b.purges[i]; {
		case errors.Is(err, errs.ErrOverloaded), errors.Is(err, errs.ErrReadOnly), errors.Is(err, errs.ErrClosed), errors.Is(err, errs.ErrNotLeader):
			b.again = true
		case err != nil:
			b.fail(fmt.Errorf("purging link %q: %w", p.Code, err))
		default:
			b.links.caps.remove(p.ID)
			if p.FreesCode {
				b.links.index.Forget(p.Key, p.ID)
			}
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

// Purged links, old entries of the audit log and expired receipts are cleaned up in turns: without a cluster by
// the flush goroutine, after the roll-up; in one by a goroutine of its own, while this node leads.

// CleanUp purges links, unless rows are still to be rolled up, and sweeps the audit log and receipts.
// The caller has checked that the clock runs evenly.
func (ls *Links) CleanUp(ctx context.Context, now time.Time, rolledUp bool) (more bool, err error) {
	if rolledUp {
		if err := ls.purge(now); err != nil {
			return true, err
		}
	}
	return len(ls.cleaner.purge.spans) > 0, errors.Join(ls.sweepAudit(now), ls.sweepReceipts(ctx, now))
}

// cleanUpInterval is the time between two clean-ups in a cluster.
const cleanUpInterval = time.Second

// cleanUpLoop cleans up while this node leads its cluster, until ctx is done. Without a cluster the
// flush goroutine does that. In one it must not, because these writes wait for the cluster's log, and
// hits are flushed also while that does not answer.
func (ls *Links) cleanUpLoop(ctx context.Context) {
	tick := time.NewTicker(cleanUpInterval)
	defer tick.Stop()
	for fails := false; ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if !ls.clock.Trusts() || !ls.Ready() || ls.gate.enter() != nil {
			continue
		}
		_, err := ls.CleanUp(ctx, ls.now(), true)
		ls.gate.leave()
		if errors.Is(err, errs.ErrNotLeader) {
			err = nil // not any more
		}
		if err != nil && !fails {
			ls.log.Error("purging links or sweeping old entries failed; it is tried again until it succeeds", "error", err)
		}
		fails = err != nil
	}
}

// auditSweepInterval is the time between two sweeps of the audit log.
const auditSweepInterval = time.Hour

// sweepAudit has the store delete the entries that were kept long enough. The caller has checked that the
// clock runs evenly.
func (ls *Links) sweepAudit(now time.Time) error {
	c := &ls.cleaner
	if since := now.Sub(c.auditSwept); since >= 0 && since < auditSweepInterval {
		return nil
	}
	c.auditSwept = now
	oldest, err := ls.store.OldestAudit()
	if err != nil || oldest == 0 {
		return err
	}
	keep := time.Duration(ls.options.KeptAuditDays) * clock.HoursPerDay * time.Hour
	return ls.store.SweepAudit(AuditStamp(ls.clock.Cutoff(StampTime(oldest), keep).UnixMilli()))
}
