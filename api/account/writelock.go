package account

import (
	"context"

	"shunt/engine"
)

// A writeLock is the right to write. One goroutine at a time has it: from before it reads the table
// until its write has ended there, however long after its caller has given up. A mutex that the
// caller unlocks would not do: the next writer would read rows that the write under way is about to
// change, and would undo the change or give its number twice.
type writeLock struct {
	accounts *Accounts
	ctx      context.Context // done CommitTimeout after lockWrites was called
	cancel   context.CancelFunc
	begun    bool               // a write, which unlocks when it has ended
	entry    *engine.AuditEntry // of the write; nil: it is no change that anybody asks about
}

// lockWrites waits for the right to write. It returns engine.ErrOverloaded if others have it for
// engine.CommitTimeout. The caller must call unlock.
func (a *Accounts) lockWrites() (*writeLock, error) {
	ctx, cancel := context.WithTimeout(context.Background(), engine.CommitTimeout)
	select {
	case a.writes <- struct{}{}:
		return &writeLock{accounts: a, ctx: ctx, cancel: cancel}, nil
	case <-ctx.Done():
		cancel()
		return nil, engine.ErrOverloaded
	}
}

// unlock gives up the right to write. If a write was begun, the end of the write does that instead.
func (l *writeLock) unlock() {
	l.cancel()
	if !l.begun {
		l.accounts.unlockWrites()
	}
}

func (a *Accounts) unlockWrites() { <-a.writes }

// note says who makes the write, and what it does to a user, for the audit log.
func (l *writeLock) note(by Caller, action engine.AuditAction, user uint32, changes ...engine.AuditChange) *engine.AuditEntry {
	l.entry = &engine.AuditEntry{Action: action, By: by.By(l.accounts.now()), User: user, Changes: changes}
	return l.entry
}

// write is writeThen without a function to call at its end.
func (l *writeLock) write(sets [][2][]byte, deletes [][]byte) error {
	return l.writeThen(sets, deletes, func(bool) {})
}

// writeThen writes rows, once for each lock, and waits for the write until engine.CommitTimeout
// after the lock was asked for. It calls ended once, when the write has ended and before another
// goroutine gets the lock, and reports to it whether the rows were written. It does so even if the
// caller has given up by then, or no write was begun. Errors: those of the table;
// engine.ErrOverloaded if it was too late to begin; engine.ErrOutcomeUnknown.
func (l *writeLock) writeThen(sets [][2][]byte, deletes [][]byte, ended func(written bool)) error {
	if l.ctx.Err() != nil {
		ended(false)
		return engine.ErrOverloaded
	}
	l.begun = true
	done := make(chan error, 1)
	forgotten := l.accounts.callers.writing(sets, deletes)
	l.accounts.table.Write(sets, deletes, l.entry, func(err error) {
		forgotten()
		if err == nil {
			l.accounts.countWritten(sets, deletes)
		}
		ended(err == nil)
		l.accounts.unlockWrites()
		done <- err
	})
	select {
	case err := <-done:
		return err
	case <-l.ctx.Done():
		return engine.ErrOutcomeUnknown
	}
}

// Lead calls begin, from which on this node leads its cluster, while no write is under way: one of an
// earlier leadership has read rows that others may have changed since. It waits for that until ctx is
// done.
func (a *Accounts) Lead(ctx context.Context, begin func() error) error {
	select {
	case a.writes <- struct{}{}:
		defer a.unlockWrites()
		return begin()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Changed says that another node has changed rows: callers are read again.
func (a *Accounts) Changed() { a.callers.forgetAll() }
