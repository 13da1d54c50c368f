package hit

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
)

// Hits count while the hits of earlier runs are loaded, and are flushed. So LoadTotals must not add to
// the counters what a flush has committed since: the fold has added it already. It reads the totals from
// a view of the store that is older than the first flush: whatever flushes or loads first takes it. Hence
// a counter is the total of the view and everything that was folded since, whenever LoadTotals reads it,
// and a kill in between is a kill like any other, because nothing durable depends on it. The counter of a
// capped link must be whole before a hit is admitted, so its redirects wait for HitsLoaded.

// totals are the hits of earlier runs.
type totals struct {
	loaded atomic.Bool // they are all in the counters

	mu struct {
		sync.Mutex
		view View // older than the first flush; nil: not taken yet, or it is over
		over bool // nobody needs the view any more
	}
}

// TakeTotals takes the view whose totals are added to the counters, unless it was taken before. It is
// called before the first flush.
func (hs *Hits) TakeTotals() error {
	t := &hs.totals
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mu.over || t.mu.view != nil {
		return nil
	}
	view, err := hs.store.View()
	if err != nil {
		return fmt.Errorf("opening a view of all hits: %w", err)
	}
	t.mu.view = view
	return nil
}

// takeOver returns the view for the caller to close; nil: it is over.
func (t *totals) takeOver() View {
	t.mu.Lock()
	defer t.mu.Unlock()
	view := t.mu.view
	t.mu.view, t.mu.over = nil, true
	return view
}

// LoadTotals adds the hits of earlier runs to the counters. It is called once, after TakeTotals.
func (hs *Hits) LoadTotals(ctx context.Context) (err error) {
	view := hs.totals.takeOver()
	if view == nil { // tests load twice
		if view, err = hs.store.View(); err != nil {
			return fmt.Errorf("opening a view of all hits: %w", err)
		}
	}
	defer func() { err = errors.Join(err, view.Close()) }()
	if err := view.LoadHits(ctx, hs.index.AddHits); err != nil {
		return fmt.Errorf("loading hits: %w", err)
	}
	if err := hs.store.LoadCaps(ctx, hs.caps.Table.Put); err != nil {
		return fmt.Errorf("loading caps: %w", err)
	}
	hs.totals.loaded.Store(true)
	return nil
}

// dropTotals closes the view of totals if LoadTotals has not.
func (hs *Hits) dropTotals() error {
	view := hs.totals.takeOver()
	if view == nil {
		return nil
	}
	return view.Close()
}

// HitsLoaded reports whether the counters have the hits of earlier runs. Before that, Hit must not be
// called for a link with a cap.
func (hs *Hits) HitsLoaded() bool { return hs.totals.loaded.Load() }
