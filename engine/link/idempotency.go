package link

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"shunt/engine/internal/errs"
)

const (
	// ReceiptLife is how long a repeat of a request gets the answer of the first one.
	ReceiptLife = 24 * time.Hour

	// ReceiptSweepInterval is the time between two sweeps of expired receipts, and so the longest
	// time that an expired receipt is kept.
	ReceiptSweepInterval = 5 * time.Minute

	// sweepBudget bounds the time of a sweep between two flushes.
	sweepBudget = 100 * time.Millisecond
)

// receipts has the requests under way and the number of receipts of each sender. The receipts
// themselves are only in the store: 100,000 receipts a token are too many to keep in memory for the
// few that are ever read again.
type receipts struct {
	limit int                  // a sender
	locks keyLocks[RequestKey] // of requests under way: the right to answer them

	mu struct {
		sync.Mutex
		// kept counts rows of the store, including expired rows that are not swept yet, and rows
		// about to be written. A sender without rows is not in it.
		kept map[[32]byte]int
	}

	// The cleaner's.
	sweeping bool      // a sweep is under way
	swept    time.Time // when the last sweep began
}

func (r *receipts) init(limit int) {
	r.limit = limit
	r.locks.init()
	r.mu.kept = make(map[[32]byte]int)
}

// add counts a receipt that is about to be written. It returns ErrTooManyReceipts if the sender has
// no room for it.
func (r *receipts) add(sender [32]byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.kept[sender] >= r.limit {
		return errs.ErrTooManyReceipts
	}
	r.mu.kept[sender]++
	return nil
}

// loaded counts a receipt that the store has, also beyond the limit.
func (r *receipts) loaded(k RequestKey) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.kept[k.Sender]++
}

// remove uncounts a receipt that was deleted, or was not written.
func (r *receipts) remove(sender [32]byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.kept[sender]--; r.mu.kept[sender] <= 0 {
		delete(r.mu.kept, sender)
	}
}

// once is a request that is being answered for the first time. Its key is locked until settle, and it
// is inside the gate.
type once struct {
	receipts *receipts
	gate     *gate
	request  Request
	counted  bool // as one more receipt of its sender
	settling bool // the commit's callback will settle it
}

// count counts the receipt that is about to be written. It returns ErrTooManyReceipts if there is no room.
func (o *once) count() error {
	if err := o.receipts.add(o.request.Sender); err != nil {
		return err
	}
	o.counted = true
	return nil
}

// settle ends the request and unlocks its key. written says whether its receipt was written.
func (o *once) settle(written bool) {
	if o.counted && !written {
		o.receipts.remove(o.request.Sender)
	}
	o.receipts.locks.unlock(o.request.RequestKey)
	o.gate.leave()
}

// receipt returns the receipt to write. A nil once keeps no receipt.
func (o *once) receipt(existed bool, hits uint64, now time.Time) *Receipt {
	if o == nil {
		return nil
	}
	return &Receipt{Request: o.request, CreatedAtMs: now.UnixMilli(), Existed: existed, Hits: hits}
}

// CreateOnce is Create for a request that may be repeated: it calls draft only if the request has
// no receipt, and commits a receipt together with the link that is made or found to exist. draft
// must not call the engine. A repeat within ReceiptLife gets the answer of the first success, with
// the link's hits and state of that time, even if the link has changed since; concurrent repeats
// wait for the first. Failures leave no receipt. Errors: those of draft and of Create; ErrMismatch,
// ErrTooManyReceipts; also ErrOutcomeUnknown if another request of the same key did not end in
// time.
func (ls *Links) CreateOnce(ctx context.Context, q Request, draft func() (Draft, error)) (d Detail, existed bool, err error) {
	err = ls.answerOnce(ctx, q, func(ctx context.Context, o *once) (err error) {
		made, err := draft()
		if err == nil {
			d, existed, err = ls.create(ctx, &made, o)
		}
		return err
	}, func(_ context.Context, r *Receipt) (err error) {
		d, existed, err = repeat(r)
		return err
	})
	if err != nil {
		return Detail{}, false, err
	}
	return d, existed, nil
}

// answerOnce calls first if q has no receipt, and there is room for one, and again if it has one. An expired receipt
// counts as none.
func (ls *Links) answerOnce(
	ctx context.Context, q Request,
	first func(ctx context.Context, o *once) error, again func(ctx context.Context, r *Receipt) error,
) error {
	if !ls.Ready() {
		return errs.ErrLoading
	}
	ctx, cancel := ls.waits.within(ctx)
	defer cancel()
	if err := ls.gate.enter(); err != nil {
		return err
	}
	if !ls.receipts.locks.lock(ctx, q.RequestKey) {
		ls.gate.leave()
		return errs.ErrOutcomeUnknown // the write of the one who has it may succeed, and would count as this caller's
	}
	o := &once{receipts: &ls.receipts, gate: &ls.gate, request: q}
	defer func() {
		if !o.settling { // no write has begun, or first has panicked
			o.settle(false)
		}
	}()
	old, err := ls.store.ReadReceipt(q.RequestKey)
	switch {
	case errors.Is(err, errs.ErrNotFound):
		if err := o.count(); err != nil { // before first does costly work
			return err
		}
		return first(ctx, o)
	case err != nil:
		return fmt.Errorf("reading a receipt: %w", err)
	case ls.clock.Kept(old.CreatedAtMs, ReceiptLife):
		return first(ctx, o) // whose receipt replaces that one
	case old.Body != q.Body:
		return errs.ErrMismatch
	}
	return again(ctx, &old)
}

// repeat answers a request for one link that has a receipt.
func repeat(r *Receipt) (Detail, bool, error) {
	if r.Items != nil {
		return Detail{}, false, errs.ErrMismatch
	}
	return detailOf(&r.Link, r.Hits, time.UnixMilli(r.CreatedAtMs)), r.Existed, nil
}

// sweepReceipts has the store delete expired receipts, for as long as the budget lasts. The caller
// has checked that the clock runs evenly. Only the cleaner calls it (see flusher).
func (ls *Links) sweepReceipts(ctx context.Context, now time.Time) error {
	r := &ls.receipts
	if !r.sweeping {
		if since := now.Sub(r.swept); since >= 0 && since < ReceiptSweepInterval {
			return nil
		}
		r.swept, r.sweeping = now, true
	}
	old := func(createdAtMs int64) bool { return ls.clock.Kept(createdAtMs, ReceiptLife+time.Millisecond) }
	for start := time.Now(); ctx.Err() == nil && time.Since(start) < sweepBudget; {
		more, err := r.sweepChunk(ls.store, old)
		if err != nil {
			return err
		}
		if !more {
			r.sweeping = false
			return nil
		}
	}
	return nil
}

// sweepChunk has store delete one chunk of receipts. Their keys are locked meanwhile, so that no
// receipt is written again during the sweep.
func (r *receipts) sweepChunk(store Store, old func(createdAtMs int64) bool) (more bool, err error) {
	var held []RequestKey
	defer func() {
		for _, k := range held {
			r.locks.unlock(k)
		}
	}()
	return store.SweepReceipts(ReceiptSweep{
		Old: old,
		Lock: func(k RequestKey) bool {
			free := r.locks.tryLock(k) == nil
			if free {
				held = append(held, k)
			}
			return free
		},
		Gone: func(k RequestKey) { r.remove(k.Sender) },
	})
}
