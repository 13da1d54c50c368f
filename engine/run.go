package engine

import (
	"context"
	"errors"
	"sync"
	"time"

	"shunt/engine/internal/errs"
)

// Run folds, flushes, rolls up and allocates ids until ctx is done. It joins all goroutines that it
// starts, unless the store hangs: then it waits for CloseTimeout and leaves the rest to Close.
// Close does the final fold and flush.
func (e *Engine) Run(ctx context.Context) error {
	if err := e.TakeTotals(); err != nil {
		return err
	}
	var loops sync.WaitGroup
	for _, loop := range e.hits.Loops() {
		loops.Go(func() { loop(ctx) })
	}
	if e.options.ReadOnly {
		loops.Wait()
		return nil
	}
	for _, loop := range e.links.Loops() {
		loops.Go(func() { loop(ctx) })
	}
	e.loopsEnded = make(chan struct{})
	go func() {
		loops.Wait()
		close(e.loopsEnded)
	}()
	keeperEnded := make(chan struct{}) // apart from loops: Close does not need the keeper to have ended
	go func() {
		e.Keeper().Run(ctx)
		close(keeperEnded)
	}()
	<-ctx.Done()
	timeout := time.After(e.closePatience())
	for _, ended := range []<-chan struct{}{e.loopsEnded, keeperEnded} {
		select {
		case <-ended:
		case <-timeout:
			return nil
		}
	}
	return nil
}

// Close folds and flushes all remaining records. Run must have returned, and redirects must have
// ended: a later hit is replayed at the next start, unless the journal's disk does not answer, which
// loses it. The store stays open.
//
// The store may hang. Then Close returns ErrStalled after CloseTimeout (or at once, if Run has
// already waited that long), and the error says what happens to the hits. A goroutine is then still
// in Store.Flush, Store.RollUp or Store.AllocateIDs. It reads deltas, names of referrers and the
// store. If the store still answers, that goroutine continues as it would have in time: its commit
// is whole and together with its positions, and the files that it closes have all records that were
// appended. So the caller must not close the store or anything that the store needs, but end the
// process.
func (e *Engine) Close() error {
	if e.options.ReadOnly {
		return e.Release()
	}
	closed := make(chan error, 1)
	go func() { closed <- e.close() }()
	select {
	case err := <-closed:
		return err
	case <-time.After(e.closeTimeout()):
		return e.Unflushed(errs.ErrStalled)
	}
}

// CloseBy makes the end of Run and Close wait for a store that hangs until that time, rather than for
// CloseTimeout each. It may be called while Run runs.
func (e *Engine) CloseBy(at time.Time) { e.closeBy.Store(&at) }

func (e *Engine) closePatience() time.Duration {
	if by := e.closeBy.Load(); by != nil {
		return max(0, time.Until(*by))
	}
	return e.options.CloseTimeout
}

func (e *Engine) closeTimeout() time.Duration {
	if e.loopsEnded == nil {
		return e.closePatience()
	}
	select {
	case <-e.loopsEnded:
		return e.closePatience()
	default:
		return 0 // Run has waited
	}
}

func (e *Engine) close() error {
	if e.loopsEnded != nil {
		<-e.loopsEnded
	}
	return errors.Join(e.FlushAll(), e.Release())
}
