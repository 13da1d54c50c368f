package link

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"shunt/engine/index"
	"shunt/engine/internal/errs"
	"shunt/engine/internal/limits"
)

// While Load runs, redirects need not wait for it: Fetch reads the link of one code from the store
// and puts it into the index, where Resolve finds it. So until Ready, a code that Resolve does not
// find is not missing: only the store can say that.
//
// Nobody writes links before Ready, so what Fetch and LoadLinks put is the same record, in any order.
// Fetch holds the code's lock from before it reads until after it has put: otherwise an edit that
// begins as soon as Load ends could be overwritten by the record that Fetch has read before it.

// loading is how far Load is.
type loading struct {
	stage atomic.Int32 // of stages
	links atomic.Uint64
	begun atomic.Pointer[time.Time] // nil: not yet
}

// Stages of Load, with the part of its time that each takes.
const (
	stageLinks = iota
	stageHits
	stageReceipts
)

// stages are the shares of Load's time after which each stage begins.
var stages = [...]float64{stageLinks: 0, stageHits: 0.8, stageReceipts: 0.99}

// Load loads every link with its hits. progress, if not nil, is called about every 65,536 records,
// from several goroutines, with the number of records loaded so far. Run may run meanwhile. Until Load
// is done, Ready is false and writes fail with ErrLoading; Resolve finds the links that were loaded or
// fetched so far. It is called once.
func (ls *Links) Load(ctx context.Context, progress func(loaded uint64)) error {
	now := time.Now()
	ls.loading.begun.Store(&now)
	if err := ls.hits.TakeTotals(); err != nil {
		return err
	}
	if err := ls.loadAllLinks(ctx, progress); err != nil {
		return fmt.Errorf("loading links: %w", err)
	}
	ls.loading.stage.Store(stageHits)
	if err := ls.hits.LoadTotals(ctx); err != nil {
		return err
	}
	ls.loading.stage.Store(stageReceipts)
	if err := ls.store.LoadReceipts(ctx, ls.receipts.loaded); err != nil {
		return fmt.Errorf("counting receipts: %w", err)
	}
	ls.ready.Store(true)
	return nil
}

func (ls *Links) loadAllLinks(ctx context.Context, progress func(loaded uint64)) error {
	const progressEvery, collectEvery = 1 << 16, 1 << 17
	defer ls.index.Expect(0)
	return ls.store.LoadLinks(ctx, func(links []index.HotView) error {
		n := ls.loading.links.Add(uint64(len(links)))
		if before := n - uint64(len(links)); n/progressEvery > before/progressEvery {
			ls.expectLinks()
			if n/collectEvery > before/collectEvery {
				ls.index.CollectLoad()
			}
			if progress != nil {
				progress(n)
			}
		}
		return ls.loadLinks(links)
	})
}

// expectLinks tells the index how many links there will be, as soon as that is known well enough.
func (ls *Links) expectLinks() {
	const wellEnough = 0.1 // share that is done
	if share, records := ls.store.Scanned(); share > wellEnough {
		ls.index.Expect(uint64(float64(records) / share))
	}
}

func (ls *Links) loadLinks(links []index.HotView) error {
	for i := range links {
		if err := ls.checkStored(&links[i]); err != nil {
			return err
		}
	}
	return ls.index.PutAll(links)
}

// checkStored checks a link of the store before it is put.
func (ls *Links) checkStored(h *index.HotView) error {
	if !h.Valid() || len(h.Target) > limits.MaxTargetBytes {
		return fmt.Errorf("link %q: no valid code, or a target of %d bytes", h.Code, len(h.Target))
	}
	return nil
}

// Ready reports whether Load is done.
func (ls *Links) Ready() bool { return ls.ready.Load() }

// Fetch makes sure that Resolve finds the link of k if there is one, while Load runs. found is what
// Resolve would have said if everything were loaded. It reads the store and may wait for the disk, so
// it must not be called where others wait. Errors: ErrOverloaded if ctx ends while another caller
// fetches the same code; those of Store.ReadHot.
func (ls *Links) Fetch(ctx context.Context, k index.KeyView) (found bool, err error) {
	if !k.Valid() {
		return false, nil
	}
	key := k.Own()
	lock, err := ls.lockCode(ctx, key)
	if err != nil {
		return false, err
	}
	defer lock.unlock()
	ready := ls.Ready() // before Resolve: then that is the last word
	if ls.knows(k) || ready {
		return ls.knows(k), nil
	}
	hot, err := ls.store.ReadHot(key)
	switch {
	case errors.Is(err, errs.ErrNotFound):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("reading link %q: %w", k.Code, err)
	case hot.Flags&index.FlagTombstone != 0:
		return false, nil
	}
	v := hot.view()
	if err := ls.checkStored(&v); err != nil {
		return false, err
	}
	return true, ls.index.Put(&v)
}

// knows reports whether Resolve finds k.
func (ls *Links) knows(k index.KeyView) bool {
	l, ok := ls.Resolve(k)
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
func (ls *Links) LoadProgress() Progress {
	p := Progress{Links: ls.loading.links.Load()}
	begun := ls.loading.begun.Load()
	switch stage := ls.loading.stage.Load(); {
	case ls.Ready():
		p.Share = 1
	case begun == nil:
	case stage == stageReceipts:
		p.Share = stages[stage]
	default:
		share, _ := ls.store.Scanned()
		p.Share = stages[stage] + (stages[stage+1]-stages[stage])*share
	}
	if p.Share >= estimateFrom && p.Share < 1 {
		p.Left = time.Duration(float64(time.Since(*begun)) * (1 - p.Share) / p.Share)
	}
	return p
}
