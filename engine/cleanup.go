package engine

import (
	"context"
	"errors"
	"time"
)

// Purged links, old entries of the audit log and expired receipts are cleaned up in turns: without a cluster by
// the flush goroutine, after the roll-up; in one by a goroutine of its own, while this node leads.

// cleanUp purges links, unless rows are still to be rolled up, and sweeps the audit log and receipts.
// The caller has checked that the clock runs evenly.
func (e *Engine) cleanUp(ctx context.Context, now time.Time, rolledUp bool) error {
	if rolledUp {
		if err := e.purge(now); err != nil {
			return err
		}
	}
	return errors.Join(e.sweepAudit(now), e.sweepReceipts(ctx, now))
}

// cleanUpInterval is the time between two clean-ups in a cluster.
const cleanUpInterval = time.Second

// cleanUpLoop cleans up while this node leads its cluster, until ctx is done. Without a cluster the
// flush goroutine does that. In one it must not, because these writes wait for the cluster's log, and
// hits are flushed also while that does not answer.
func (e *Engine) cleanUpLoop(ctx context.Context) {
	tick := time.NewTicker(cleanUpInterval)
	defer tick.Stop()
	for fails := false; ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if !e.flusher.trusted.Load() || !e.Ready() || e.gate.enter() != nil {
			continue
		}
		err := e.cleanUp(ctx, e.now(), true)
		e.gate.leave()
		if errors.Is(err, ErrNotLeader) {
			err = nil // not any more
		}
		if err != nil && !fails {
			e.log.Error("purging links or sweeping old entries failed; it is tried again until it succeeds", "error", err)
		}
		fails = err != nil
	}
}

// auditSweepInterval is the time between two sweeps of the audit log.
const auditSweepInterval = time.Hour

// sweepAudit has the store delete the entries that were kept long enough. The caller has checked that the
// clock runs evenly.
func (e *Engine) sweepAudit(now time.Time) error {
	f := &e.flusher
	if since := now.Sub(f.auditSwept); since >= 0 && since < auditSweepInterval {
		return nil
	}
	f.auditSwept = now
	oldest, err := e.store.OldestAudit()
	if err != nil || oldest == 0 {
		return err
	}
	keep := time.Duration(e.options.KeptAuditDays) * hoursPerDay * time.Hour
	return e.store.SweepAudit(AuditStamp(e.clock.cutoff(StampTime(oldest), keep).UnixMilli()))
}
