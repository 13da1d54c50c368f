package account

import (
	"context"

	"shunt/engine"
)

// turn is the right to write, which one at a time has: from before it looks until what it wrote has ended in the table, be
// that long after its caller has gone. A mutex that the caller gives back would not do: who comes next would look at rows
// that the write under way is about to change, and undo it or give its number twice.
type turn struct {
	accounts *Accounts
	ctx      context.Context // done CommitTimeout after the turn was asked for
	cancel   context.CancelFunc
	writing  bool // then the table gives the turn back
}

// takeTurn waits for the right to write; engine.ErrOverloaded if it is not free within engine.CommitTimeout. To be ended.
func (a *Accounts) takeTurn() (*turn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), engine.CommitTimeout)
	select {
	case a.turns <- struct{}{}:
		return &turn{accounts: a, ctx: ctx, cancel: cancel}, nil
	case <-ctx.Done():
		cancel()
		return nil, engine.ErrOverloaded
	}
}

// end gives the turn back, unless a write was begun: that does it when it has ended.
func (t *turn) end() {
	t.cancel()
	if !t.writing {
		t.accounts.giveBack()
	}
}

func (a *Accounts) giveBack() { <-a.turns }

// write is writeThen with nothing to be done then.
func (t *turn) write(sets [][2][]byte, deletes [][]byte) error {
	return t.writeThen(sets, deletes, func(bool) {})
}

// writeThen writes rows, once in a turn, and waits for that until engine.CommitTimeout after the turn was asked for. When the
// write has ended, ended is called once, with whether the rows were written, before anybody else has the turn; also if
// the caller has gone by then, or nothing was begun.
// Errors: those of the table; engine.ErrOverloaded if it was too late to begin; engine.ErrOutcomeUnknown.
func (t *turn) writeThen(sets [][2][]byte, deletes [][]byte, ended func(written bool)) error {
	if t.ctx.Err() != nil {
		ended(false)
		return engine.ErrOverloaded
	}
	t.writing = true
	done := make(chan error, 1)
	t.accounts.table.Write(sets, deletes, func(err error) {
		ended(err == nil)
		t.accounts.giveBack()
		done <- err
	})
	select {
	case err := <-done:
		return err
	case <-t.ctx.Done():
		return engine.ErrOutcomeUnknown
	}
}
