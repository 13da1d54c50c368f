package hit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"shunt/engine/index"
	"shunt/engine/internal/errs"
	"shunt/engine/tally"
)

// Stats are the two figures of GET /stats/{code}, and the counts that are kept apart from hits.
type Stats struct {
	Hits       uint64
	Unique     uint64 // never greater than Hits
	Bots       uint64
	Prefetches uint64
	Heads      uint64
}

// Stats returns a link's figures over all time. They include every redirect that was answered
// before the call. It folds and reads the store; it does not wait for a flush. It returns
// ErrNotFound if k has no live link.
func (hs *Hits) Stats(ctx context.Context, k index.Key) (Stats, error) {
	if !hs.links.Ready() {
		return Stats{}, errs.ErrLoading
	}
	l, ok := hs.index.Resolve(k.View())
	if !ok {
		return Stats{}, errs.ErrNotFound
	}
	id := l.ID()
	l.Release()
	if err := hs.FoldNow(ctx); err != nil {
		return Stats{}, err
	}
	t, _, err := hs.life(ctx, id, tally.Visitors)
	if err != nil {
		return Stats{}, fmt.Errorf("reading the tally of %q: %w", k.Code, err)
	}
	hits := hs.index.Hits(id)
	return Stats{
		Hits: hits, Unique: min(t.Visitors.Count(), hits),
		Bots: t.Bots, Prefetches: t.Prefetches, Heads: t.Heads,
	}, nil
}

// Visitors returns the number of visitors of the link with an id, deleted or not, over all folded
// hits. It may be more than the hits that the caller has read before.
func (hs *Hits) Visitors(ctx context.Context, id uint64) (uint64, error) {
	t, _, err := hs.life(ctx, id, tally.Visitors)
	if err != nil {
		return 0, fmt.Errorf("reading the tally of link %d: %w", id, err)
	}
	return t.Visitors.Count(), nil
}

// life returns a link's tally over all time, and how many of its hits are durable.
func (hs *Hits) life(ctx context.Context, id uint64, wanted tally.Parts) (t tally.Tally, durableHits uint64, err error) {
	view, beyond, err := openView(ctx, hs, func(p *pair) (t tally.Tally) {
		p.links.AddTo(id, wanted, hs.journal.Referrers, &t)
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

// PendingSince returns the hour of the first folded hit that the store does not have, math.MaxUint32: there is none.
func (hs *Hits) PendingSince() (hour uint32) {
	first := func(p *pair) uint32 {
		if hours := p.links.Hours(); len(hours) > 0 {
			return slices.Min(hours)
		}
		return math.MaxUint32
	}
	gathering, flushing, _, _ := readPending(hs.pending, first)
	return min(gathering, flushing)
}

// openView returns a view of the store, and the results of read for the pending deltas that the
// view does not contain: each delta is in exactly one of the two.
//
// It reads the pending deltas at one moment, when flush number committed was the last durable one,
// and then takes a view of the store, which contains all flushes up to some number, the same or a
// later one. If that number is committed, the view does not contain the flush in flight. If it is
// the next one, the view contains it. If it is greater, the view also contains part of the deltas
// that were gathering at that moment, and we try again.
func openView[T any](ctx context.Context, hs *Hits, read func(*pair) T) (view View, beyond []T, err error) {
	for ctx.Err() == nil {
		gathering, flushing, committed, inFlight := readPending(hs.pending, read)
		if view, err = hs.store.View(); err != nil {
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
