package engine

import (
	"context"
	"fmt"
)

// Stats returns a link's figures over all time. Every redirect that was answered before the call is in them. It folds,
// and reads the store; it waits for no flush. ErrNotFound if code is no live link.
func (e *Engine) Stats(ctx context.Context, code string) (Stats, error) {
	if !e.Ready() {
		return Stats{}, ErrLoading
	}
	l, ok := e.Resolve([]byte(code))
	if !ok {
		return Stats{}, ErrNotFound
	}
	id := l.ID()
	l.Release()
	if err := e.foldNow(ctx); err != nil {
		return Stats{}, err
	}
	t, err := e.tally(ctx, id)
	if err != nil {
		return Stats{}, fmt.Errorf("reading the tally of %q: %w", code, err)
	}
	hits := e.hits(id)
	return Stats{
		Hits: hits, Unique: min(t.Visitors.Count(), hits),
		Bots: t.Bots, Prefetches: t.Prefetches, Heads: t.Heads,
	}, nil
}

// tally returns a link's tally over all time: what the store has and what is pending, each delta exactly once.
//
// It takes what is pending at one moment, when flush number committed was the last durable one, and then a snapshot of
// the store that contains all flushes up to some later number. If that is committed, the flush in flight is missing in
// the snapshot; if it is the next one, it is contained; if it is beyond, then also part of what was gathering at that
// moment is contained, and we look again.
func (e *Engine) tally(ctx context.Context, linkID uint64) (Tally, error) {
	for ctx.Err() == nil {
		gathering, flushing, committed, inFlight := e.pending.tally(linkID)
		t, flushSeq, err := e.store.ReadTally(linkID)
		if err != nil {
			return Tally{}, err
		}
		switch {
		case flushSeq == committed:
			t.Add(&gathering)
			t.Add(&flushing)
			return t, nil
		case flushSeq == committed+1 && inFlight:
			t.Add(&gathering)
			return t, nil
		}
	}
	return Tally{}, ctx.Err()
}
