package offsite

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// sweepEvery is how often a Keeper looks for objects that no backup needs, and has all of a backup read again.
	sweepEvery = 24 * time.Hour
	// leastRetry is the least time between two attempts after an error.
	leastRetry = time.Minute
)

// A Keeper makes backups at a place again and again. The fields are set before Run.
type Keeper struct {
	Order Order // Sums, Sweep, Say and Sent are the Keeper's
	Every time.Duration
	Store [16]byte
	// Make makes a backup, hands it to take, and removes it. verify asks that all of its records are read before.
	Make func(ctx context.Context, verify bool, take func(context.Context, Made) error) error
	Log  *slog.Logger

	sentBytes, failures atomic.Uint64
	mu                  sync.Mutex
	figures             Figures
}

// Figures are about the backups that a Keeper made.
type Figures struct {
	LastAt    time.Time     // of the state that the last good backup has; zero: none is known
	Took      time.Duration // of the last one; 0: none since the start
	Every     time.Duration
	SentBytes uint64 // since the start, also of backups that failed
	Failures  uint64 // since the start
}

// Figures returns the state of the backups. Any goroutine may call it.
func (k *Keeper) Figures() Figures {
	k.mu.Lock()
	defer k.mu.Unlock()
	f := k.figures
	f.Every, f.SentBytes, f.Failures = k.Every, k.sentBytes.Load(), k.failures.Load()
	return f
}

// Run makes backups until ctx ends, the first one when the last one at the place is Every old. A failure is logged, and
// tried again.
func (k *Keeper) Run(ctx context.Context) error {
	k.Order.Sums, k.Order.Say = new(Sums), func(string) {}
	k.Order.Sent = func(bytes uint64) { k.sentBytes.Add(bytes) }
	due, swept := k.firstDue(ctx), time.Time{}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Until(due)):
		}
		began := time.Now()
		sweep := swept.IsZero() || began.Sub(swept) >= sweepEvery
		switch err := k.one(ctx, sweep); {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			k.failures.Add(1)
			due = time.Now().Add(min(k.Every, leastRetry))
			k.Log.Error("the backup off this machine failed; it is tried again", "place", k.Order.Place.String(), "cause", err, "at", due.Format(time.TimeOnly))
		default:
			if due = began.Add(k.Every); sweep {
				swept = began
			}
		}
	}
}

// firstDue returns when the first backup is due.
func (k *Keeper) firstDue(ctx context.Context) time.Time {
	now := time.Now()
	at, err := Newest(ctx, k.Order.Place, k.Order.Settings, k.Store)
	if err != nil {
		return now // which logs what is wrong
	}
	k.mu.Lock()
	k.figures.LastAt = at
	k.mu.Unlock()
	if age := now.Sub(at); age > 0 && age < k.Every {
		return at.Add(k.Every)
	}
	return now
}

// one makes a backup.
func (k *Keeper) one(ctx context.Context, sweep bool) error {
	began, o, sent := time.Now(), k.Order, Sent{}
	o.Sweep = sweep
	err := k.Make(ctx, sweep, func(ctx context.Context, made Made) (err error) {
		sent, err = Push(ctx, made, o)
		return err
	})
	if err != nil {
		return err
	}
	k.mu.Lock()
	k.figures.LastAt, k.figures.Took = sent.At, time.Since(began)
	k.mu.Unlock()
	k.Log.Debug("backed up off this machine", "place", sent.Place, "files", sent.Files, "sent_files", sent.SentFiles, "sent_bytes", sent.SentBytes,
		"removed", len(sent.Removed), "took", time.Since(began))
	if sent.Warning != "" {
		k.Log.Warn(sent.Warning, "place", sent.Place)
	}
	return nil
}
