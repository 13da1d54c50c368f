package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"shunt/engine/index"
	"shunt/engine/internal/limits"
)

// While Load runs, redirects need not wait for it: Fetch reads the link of one code from the store
// and puts it into the index, where Resolve finds it. So until Ready, a code that Resolve does not
// find is not missing: only the store can say that.
//
// Nobody writes links before Ready, so what Fetch and LoadLinks put is the same record, in any order.
// Fetch holds the code's lock from before it reads until after it has put: otherwise an edit that
// begins as soon as Load ends could be overwritten by the record that Fetch has read before it.
//
// Hits count meanwhile, and are flushed. So Load must not add to the counters what a flush has
// committed since: the fold has added it already. Load reads the totals from a view of the store that
// is older than the first flush: Run and Load take it, whichever comes first. Hence a counter is the
// total of the view and everything that was folded since, whenever Load reads it, and a kill in
// between is a kill like any other, because nothing durable depends on Load. The counter of a capped
// link must be whole before a hit is admitted, so its redirects wait for HitsLoaded.

// loading is how far Load is.
type loading struct {
	stage     atomic.Int32 // of stages
	links     atomic.Uint64
	begun     atomic.Pointer[time.Time] // nil: not yet
	hasTotals atomic.Bool               // all totals are in the counters

	mu struct {
		sync.Mutex
		totals View // older than the first flush; nil: not taken yet, or Load has taken it over
		over   bool // Load has taken totals over
	}
}

// Stages of Load, with the part of its time that each takes.
const (
	stageLinks = iota
	stageHits
	stageReceipts
)

// stages are the shares of Load's time after which each stage begins.
var stages = [...]float64{stageLinks: 0, stageHits: 0.8, stageReceipts: 0.99}

// takeTotals takes the view whose totals Load adds to the counters, unless it was taken before. It is
// called before the first flush.
func (l *loading) takeTotals(store Store) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.over {
		return nil
	}
	return l.takeLocked(store)
}

func (l *loading) takeLocked(store Store) error {
	if l.mu.totals != nil {
		return nil
	}
	view, err := store.View()
	if err != nil {
		return fmt.Errorf("opening a view of all hits: %w", err)
	}
	l.mu.totals = view
	return nil
}

// takeOver returns the view that takeTotals has taken, for the caller to close.
func (l *loading) takeOver(store Store) (View, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.takeLocked(store); err != nil {
		return nil, err
	}
	totals := l.mu.totals
	l.mu.totals, l.mu.over = nil, true
	return totals, nil
}

// drop closes the view of totals if Load has not taken it over.
func (l *loading) drop() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	totals := l.mu.totals
	l.mu.totals, l.mu.over = nil, true
	if totals == nil {
		return nil
	}
	return totals.Close()
}

// Load loads every link with its hits. progress, if not nil, is called about every 65,536 records,
// from several goroutines, with the number of records loaded so far. Run may run meanwhile. Until Load
// is done, Ready is false and writes fail with ErrLoading; Resolve finds the links that were loaded or
// fetched so far. It is called once.
func (e *Engine) Load(ctx context.Context, progress func(loaded uint64)) (err error) {
	now := time.Now()
	e.loading.begun.Store(&now)
	totals, err := e.loading.takeOver(e.store)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, totals.Close()) }()
	if err := e.loadAllLinks(ctx, progress); err != nil {
		return fmt.Errorf("loading links: %w", err)
	}
	e.loading.stage.Store(stageHits)
	if err := totals.LoadHits(ctx, e.index.AddHits); err != nil {
		return fmt.Errorf("loading hits: %w", err)
	}
	if err := e.store.LoadCaps(ctx, e.caps.table.Put); err != nil {
		return fmt.Errorf("loading caps: %w", err)
	}
	e.loading.hasTotals.Store(true)
	e.loading.stage.Store(stageReceipts)
	if err := e.store.LoadReceipts(ctx, e.receipts.loaded); err != nil {
		return fmt.Errorf("counting receipts: %w", err)
	}
	e.ready.Store(true)
	return nil
}

func (e *Engine) loadAllLinks(ctx context.Context, progress func(loaded uint64)) error {
	const progressEvery, collectEvery = 1 << 16, 1 << 17
	defer e.index.Expect(0)
	return e.store.LoadLinks(ctx, func(links []index.HotView) error {
		n := e.loading.links.Add(uint64(len(links)))
		if before := n - uint64(len(links)); n/progressEvery > before/progressEvery {
			e.expectLinks()
			if n/collectEvery > before/collectEvery {
				e.index.CollectLoad()
			}
			if progress != nil {
				progress(n)
			}
		}
		return e.loadLinks(links)
	})
}

// expectLinks tells the index how many links there will be, as soon as that is known well enough.
func (e *Engine) expectLinks() {
	const wellEnough = 0.1 // share that is done
	if share, records := e.store.Scanned(); share > wellEnough {
		e.index.Expect(uint64(float64(records) / share))
	}
}

func (e *Engine) loadLinks(links []index.HotView) error {
	for i := range links {
		if err := e.checkStored(&links[i]); err != nil {
			return err
		}
	}
	return e.index.PutAll(links)
}

// checkStored checks a link of the store before it is put.
func (e *Engine) checkStored(h *index.HotView) error {
	if !index.ValidCode(h.Code) || len(h.Target) > limits.MaxTargetBytes {
		return fmt.Errorf("link %q: no valid code, or a target of %d bytes", h.Code, len(h.Target))
	}
	return e.checkNode(h)
}

// Ready reports whether Load is done.
func (e *Engine) Ready() bool { return e.ready.Load() }

// HitsLoaded reports whether the counters have the hits of earlier runs. Before that, Hit must not be
// called for a link with a cap.
func (e *Engine) HitsLoaded() bool { return e.loading.hasTotals.Load() }

// Fetch makes sure that Resolve finds the link of code if there is one, while Load runs. found is what
// Resolve would have said if everything were loaded. It reads the store and may wait for the disk, so
// it must not be called where others wait. Errors: ErrOverloaded if ctx ends while another caller
// fetches the same code; those of Store.ReadHot.
func (e *Engine) Fetch(ctx context.Context, code []byte) (found bool, err error) {
	if !index.ValidCode(code) {
		return false, nil
	}
	lock, err := e.lockCode(ctx, string(code))
	if err != nil {
		return false, err
	}
	defer lock.unlock()
	ready := e.Ready() // before Resolve: then that is the last word
	if e.knows(code) || ready {
		return e.knows(code), nil
	}
	hot, err := e.store.ReadHot(string(code))
	switch {
	case errors.Is(err, ErrNotFound):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("reading link %q: %w", code, err)
	case hot.Flags&index.FlagTombstone != 0:
		return false, nil
	}
	v := hot.view()
	if err := e.checkStored(&v); err != nil {
		return false, err
	}
	return true, e.index.Put(&v)
}

// knows reports whether Resolve finds code.
func (e *Engine) knows(code []byte) bool {
	l, ok := e.Resolve(code)
	if ok {
		l.Release()
	}
	return ok
}

// Progress is how far Load is.
type Progress struct {
	Links uint64        // loaded so far
	Share float64       // of the time that it takes, from 0 to 1; 1 only with Ready
	Left  time.Duration // an estimate; 0: unknown as yet, or done
}

// estimateFrom is the share from which on the time that is left is estimated.
const estimateFrom = 0.02

// LoadProgress returns how far Load is. It takes no lock.
func (e *Engine) LoadProgress() Progress {
	p := Progress{Links: e.loading.links.Load()}
	begun := e.loading.begun.Load()
	switch stage := e.loading.stage.Load(); {
	case e.Ready():
		p.Share = 1
	case begun == nil:
	case stage == stageReceipts:
		p.Share = stages[stage]
	default:
		share, _ := e.store.Scanned()
		p.Share = stages[stage] + (stages[stage+1]-stages[stage])*share
	}
	if p.Share >= estimateFrom && p.Share < 1 {
		p.Left = time.Duration(float64(time.Since(*begun)) * (1 - p.Share) / p.Share)
	}
	return p
}
