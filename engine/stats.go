package engine

import (
	"context"
	"errors"
	"fmt"

	"shunt/engine/tally"
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
	t, _, err := e.life(ctx, id, tally.Visitors)
	if err != nil {
		return Stats{}, fmt.Errorf("reading the tally of %q: %w", code, err)
	}
	hits := e.index.Hits(id)
	return Stats{
		Hits: hits, Unique: min(t.Visitors.Count(), hits),
		Bots: t.Bots, Prefetches: t.Prefetches, Heads: t.Heads,
	}, nil
}

// Visitors returns how many visitors the link of an id has had, deleted or not: those of hits that are folded. It may be more
// than the hits that were read before.
func (e *Engine) Visitors(ctx context.Context, id uint64) (uint64, error) {
	t, _, err := e.life(ctx, id, tally.Visitors)
	if err != nil {
		return 0, fmt.Errorf("reading the tally of link %d: %w", id, err)
	}
	return t.Visitors.Count(), nil
}

// life returns a link's tally over all time, and how many of its hits are durable.
func (e *Engine) life(ctx context.Context, id uint64, wanted tally.Parts) (t tally.Tally, durableHits uint64, err error) {
	view, beyond, err := openView(ctx, e, func(p *pair) (t tally.Tally) {
		p.links.AddTo(id, wanted, e.journal.Referrers, &t)
		return t
	})
	if err != nil {
		return tally.Tally{}, 0, err
	}
	defer func() { err = errors.Join(err, view.Close()) }()
	if t, err = view.ReadLife(id, wanted); err != nil {
		return tally.Tally{}, 0, err
	}
	durableHits = t.Hits
	for i := range beyond {
		t.Add(&beyond[i])
	}
	return t, durableHits, nil
}

// openView returns a view of the store, and what read finds in the pending deltas that the view does not contain: each
// delta is in exactly one of the two.
//
// It reads what is pending at one moment, when flush number committed was the last durable one, and then takes a view of
// the store, which contains all flushes up to some later number. If that is committed, the flush in flight is missing in
// the view; if it is the next one, it is contained; if it is beyond, then also part of what was gathering at that
// moment is contained, and we look again.
func openView[T any](ctx context.Context, e *Engine, read func(*pair) T) (view View, beyond []T, err error) {
	for ctx.Err() == nil {
		gathering, flushing, committed, inFlight := readPending(e.pending, read)
		if view, err = e.store.View(); err != nil {
			return nil, nil, err
		}
		switch seq := view.FlushSeq(); {
		case seq == committed:
			return view, []T{flushing, gathering}, nil
		case seq == committed+1 && inFlight:
			return view, []T{gathering}, nil
		}
		if err := view.Close(); err != nil {
			return nil, nil, err
		}
	}
	return nil, nil, ctx.Err()
}
