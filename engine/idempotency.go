package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	// ReceiptLife is how long a repeat of a request is answered as the first one was.
	ReceiptLife = 24 * time.Hour

	// DefaultMaxReceipts is how many receipts one sender may have at a time.
	DefaultMaxReceipts = 100_000

	// ReceiptSweepInterval is how often expired receipts are looked for, and so how long one may outlive its time.
	ReceiptSweepInterval = 5 * time.Minute

	// sweepBudget bounds the time of a sweep between two flushes.
	sweepBudget = 100 * time.Millisecond
)

// RequestKey names a request that its sender may repeat: SHA-256 of who sends it, and of the key that they gave it.
type RequestKey struct{ Sender, Key [32]byte }

// Request is a request that its sender may repeat. Body is the start of a SHA-256 of what is asked: whoever makes two of
// the same start (2^64 attempts) deceives nobody but themselves.
type Request struct {
	RequestKey
	Body [16]byte
}

// Receipt is what is kept of a request that made a link, durable together with it, so that a repeat gets the same answer
// whatever has become of the link or of the rules that it was checked by. One for several links has Items instead.
type Receipt struct {
	Request
	CreatedAtMs int64  // when the request succeeded
	Existed     bool   // the link was there already
	Hits        uint64 // that the link had then; Link.Cold.ImportedHits is the same when it is read
	Link        Record
	Items       []ReceiptItem // of a request for several links, at most MaxBulk; nil: it was for one
}

// receipts knows which requests are under way, and how many receipts each sender has. The receipts themselves are in the
// store only: 100,000 of them a token are too many to keep in memory for the few that are ever asked for again.
type receipts struct {
	limit int // a sender

	mu struct {
		sync.Mutex
		held map[RequestKey]chan struct{} // closed on unlock
		// kept counts rows of the store, expired ones that are not swept yet too, and those about to be written. A sender
		// without any is not in it.
		kept map[[32]byte]int
	}

	// The flush goroutine's.
	sweepBefore int64     // Unix ms; a sweep of the receipts before it is under way; 0: none is
	swept       time.Time // when the last sweep began
}

func (r *receipts) init(limit int) {
	r.limit = limit
	r.mu.held = make(map[RequestKey]chan struct{})
	r.mu.kept = make(map[[32]byte]int)
}

// lock takes the right to answer the request of that key. It waits for whoever has it until ctx is done. Then what
// that one writes may yet happen, also in this caller's name: ErrOutcomeUnknown.
func (r *receipts) lock(ctx context.Context, k RequestKey) error {
	for {
		held := r.tryLock(k)
		if held == nil {
			return nil
		}
		select {
		case <-held:
		case <-ctx.Done():
			return ErrOutcomeUnknown
		}
	}
}

// tryLock takes the right and returns nil, or what is closed when its holder unlocks it.
func (r *receipts) tryLock(k RequestKey) (held <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if held, taken := r.mu.held[k]; taken {
		return held
	}
	r.mu.held[k] = make(chan struct{})
	return nil
}

func (r *receipts) unlock(k RequestKey) {
	r.mu.Lock()
	defer r.mu.Unlock()
	close(r.mu.held[k])
	delete(r.mu.held, k)
}

// add counts a receipt that is about to be written. ErrTooManyReceipts if its sender has no room for it.
func (r *receipts) add(sender [32]byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.kept[sender] >= r.limit {
		return ErrTooManyReceipts
	}
	r.mu.kept[sender]++
	return nil
}

// loaded counts a receipt that the store has, beyond the limit too.
func (r *receipts) loaded(k RequestKey) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.kept[k.Sender]++
}

// remove counts a receipt that is not there any more, or was not written.
func (r *receipts) remove(sender [32]byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.kept[sender]--; r.mu.kept[sender] <= 0 {
		delete(r.mu.kept, sender)
	}
}

// once is a request that is being answered for the first time. Its key is locked until settle.
type once struct {
	receipts *receipts
	request  Request
	counted  bool // as one more receipt of its sender
	settling bool // the commit's callback will settle it
}

// count counts the receipt that is about to be written, unless it replaces one. ErrTooManyReceipts if there is no room. A
// nil once keeps nothing.
func (o *once) count(replaces bool) error {
	if o == nil || replaces {
		return nil
	}
	if err := o.receipts.add(o.request.Sender); err != nil {
		return err
	}
	o.counted = true
	return nil
}

// settle ends the request: its receipt was written or not.
func (o *once) settle(written bool) {
	if o.counted && !written {
		o.receipts.remove(o.request.Sender)
	}
	o.receipts.unlock(o.request.RequestKey)
}

// receipt returns what is to be kept of the request. A nil once keeps nothing.
func (o *once) receipt(existed bool, hits uint64, now time.Time) *Receipt {
	if o == nil {
		return nil
	}
	return &Receipt{Request: o.request, CreatedAtMs: now.UnixMilli(), Existed: existed, Hits: hits}
}

// CreateOnce is Create for a request that may be repeated: draft is asked for only if the request has no receipt, and a
// link that is made, or found to exist, is committed together with one. draft must not call the engine. A repeat within ReceiptLife gets what the first
// success got, with the hits and the state that it had then, whatever has become of the link since; concurrent
// repeats wait for the first. Failures leave no receipt. Errors: those of draft and of Create; ErrMismatch,
// ErrTooManyReceipts; ErrOutcomeUnknown too if another such request did not end in time.
func (e *Engine) CreateOnce(ctx context.Context, q Request, draft func() (Draft, error)) (d Detail, existed bool, err error) {
	err = e.answerOnce(ctx, q, func(ctx context.Context, o *once, replaces bool) (err error) {
		d, existed, err = e.createOnce(ctx, o, replaces, draft)
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

// answerOnce has q answered by first, if it has no receipt, or by again. A receipt whose time is over counts as none;
// first is told that it replaces one.
func (e *Engine) answerOnce(
	ctx context.Context, q Request,
	first func(ctx context.Context, o *once, replaces bool) error, again func(ctx context.Context, r *Receipt) error,
) error {
	if !e.Ready() {
		return ErrLoading
	}
	ctx, cancel := context.WithTimeout(ctx, CommitTimeout)
	defer cancel()
	if err := e.receipts.lock(ctx, q.RequestKey); err != nil {
		return err
	}
	o := &once{receipts: &e.receipts, request: q}
	defer func() {
		if !o.settling { // nothing is being written, or first has panicked
			o.settle(false)
		}
	}()
	old, err := e.store.ReadReceipt(q.RequestKey)
	switch {
	case errors.Is(err, ErrNotFound):
		return first(ctx, o, false)
	case err != nil:
		return fmt.Errorf("reading a receipt: %w", err)
	case e.now().UnixMilli()-old.CreatedAtMs >= ReceiptLife.Milliseconds():
		return first(ctx, o, true)
	case old.Body != q.Body:
		return ErrMismatch
	}
	return again(ctx, &old)
}

// repeat answers a request for one link that has a receipt.
func repeat(r *Receipt) (Detail, bool, error) {
	if r.Items != nil {
		return Detail{}, false, ErrMismatch
	}
	return detailOf(&r.Link, r.Hits, time.UnixMilli(r.CreatedAtMs)), r.Existed, nil
}

// createOnce answers a request that has no receipt, or one whose time is over, in whose place the new one comes.
func (e *Engine) createOnce(ctx context.Context, o *once, replaces bool, draft func() (Draft, error)) (Detail, bool, error) {
	d, err := draft()
	if err != nil {
		return Detail{}, false, err
	}
	if err := o.count(replaces); err != nil {
		return Detail{}, false, err
	}
	return e.create(ctx, d, o)
}

// sweepReceipts has the store delete receipts whose time is over, for as long as the budget lasts. The caller knows that
// the clock is to be trusted. It belongs to the flush goroutine.
func (e *Engine) sweepReceipts(ctx context.Context, now time.Time) error {
	r := &e.receipts
	if r.sweepBefore == 0 {
		if since := now.Sub(r.swept); since >= 0 && since < ReceiptSweepInterval {
			return nil
		}
		r.swept, r.sweepBefore = now, now.Add(-ReceiptLife).UnixMilli()
	}
	for start := time.Now(); ctx.Err() == nil && time.Since(start) < sweepBudget; {
		more, err := r.sweepChunk(e.store)
		if err != nil {
			return err
		}
		if !more {
			r.sweepBefore = 0
			return nil
		}
	}
	return nil
}

// sweepChunk has store delete one chunk of receipts. Their keys are locked meanwhile, so that none of them is written
// anew under the sweep.
func (r *receipts) sweepChunk(store Store) (more bool, err error) {
	var held []RequestKey
	defer func() {
		for _, k := range held {
			r.unlock(k)
		}
	}()
	return store.SweepReceipts(ReceiptSweep{
		BeforeMs: r.sweepBefore,
		Lock: func(k RequestKey) bool {
			free := r.tryLock(k) == nil
			if free {
				held = append(held, k)
			}
			return free
		},
		Gone: func(k RequestKey) { r.remove(k.Sender) },
	})
}
