package engine

import (
	"context"
	"errors"
	"io"
)

// DrawFrom lets codes be drawn from r.
func (e *Engine) DrawFrom(r io.Reader) { e.random = r }

// Abandon leaves the engine as a killed process would: nothing is folded or flushed, and the journal's files hold what
// was recorded.
func (e *Engine) Abandon() error { return errors.Join(e.journal.close(), e.referrers.close()) }

// RefillIDs reserves ids until ctx is done.
func (e *Engine) RefillIDs(ctx context.Context) { e.refillIDs(ctx) }

// CloseHours folds, and rolls up every hour that is over.
func (e *Engine) CloseHours(ctx context.Context) error {
	e.pending.fold()
	for e.flusher.rollUp = true; e.flusher.rollUp; {
		if err := e.rollUp(ctx); err != nil {
			return err
		}
	}
	return nil
}

// RollUp is one turn of the roll-up, with the clock that the engine has.
func (e *Engine) RollUp(ctx context.Context) error { return e.rollUp(ctx) }
