package table

import (
	"context"

	"shunt/engine"
)

// A Writer is the only one that writes to a table.
type Writer struct {
	Table
	turn chan struct{} // one may write
}

// NewWriter returns the writer of a table. Nothing else may write to it.
func NewWriter(t Table) *Writer { return &Writer{t, make(chan struct{}, 1)} }

// A Lock is the right to write. One goroutine at a time has it: from before it reads the table
// until its write has ended there, however long after its caller has given up. A mutex that the
// caller unlocks would not do: the next writer would read rows that the write under way is about to
// change, and would undo the change or give its number twice.
type Lock struct {
	Entry *engine.AuditEntry // of the write; nil: it is no change that anybody asks about

	w      *Writer
	ctx    context.Context // done CommitTimeout after the lock was asked for
	cancel context.CancelFunc
	begun  bool // a write, which unlocks when it has ended
}

// Lock waits for the right to write. It returns engine.ErrOverloaded if others have it for
// engine.CommitTimeout. The caller must call Unlock.
func (w *Writer) Lock() (*Lock, error) {
	ctx, cancel := context.WithTimeout(context.Background(), engine.CommitTimeout)
	select {
	case w.turn <- struct{}{}:
		return &Lock{w: w, ctx: ctx, cancel: cancel}, nil
	case <-ctx.Done():
		cancel()
		return nil, engine.ErrOverloaded
	}
}

// Context is done when it is too late to begin a write.
func (l *Lock) Context() context.Context { return l.ctx }

// Unlock gives up the right to write. If a write was begun, the end of the write does that instead.
func (l *Lock) Unlock() {
	l.cancel()
	if !l.begun {
		<-l.w.turn
	}
}

// Write writes rows, once for each lock, and waits for the write until engine.CommitTimeout
// after the lock was asked for. It calls ended once, when the write has ended and before another
// goroutine gets the lock, and reports to it whether the rows were written. It does so even if the
// caller has given up by then, or no write was begun. Errors: those of the table;
// engine.ErrOverloaded if it was too late to begin; engine.ErrOutcomeUnknown.
func (l *Lock) Write(sets [][2][]byte, deletes [][]byte, ended func(written bool)) error {
	if l.ctx.Err() != nil {
		ended(false)
		return engine.ErrOverloaded
	}
	l.begun = true
	done := make(chan error, 1)
	l.w.Table.Write(sets, deletes, l.Entry, func(err error) {
		ended(err == nil)
		<-l.w.turn
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
func (w *Writer) Lead(ctx context.Context, begin func() error) error {
	select {
	case w.turn <- struct{}{}:
		defer func() { <-w.turn }()
		return begin()
	case <-ctx.Done():
		return ctx.Err()
	}
}
