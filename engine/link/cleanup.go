package link

import (
	"context"
	"errors"
	"time"

	"shunt/engine/internal/clock"
	"shunt/engine/internal/errs"
)

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
