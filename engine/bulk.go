package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"shunt/engine/index"
	"shunt/engine/invalid"
)

// MaxBulk bounds the links that one request may make.
const MaxBulk = 1000

// BulkItem is one of the links that a request asks for.
type BulkItem struct {
	Draft   Draft
	Refused error // if set, why the item is refused: it makes no link
}

// BulkResult is the result of a BulkItem. Err is its Refused, an InvalidError, ErrTaken, or, in a
// repeat, ErrDeleted or ErrRefused.
type BulkResult struct {
	Detail  Detail
	Existed bool // the link was there already, or an earlier item has made it
	Err     error
}

// CreateBulk makes links in one commit: all that can be made are durable and visible when it
// returns, and after an error none is. Each item has a result of its own, in the order of the
// items: of two items that want one code, the first gets it. Errors: ErrOwnerGone, ErrLoading,
// ErrOverloaded, ErrReadOnly, ErrOutcomeUnknown, ErrClosed.
func (e *Engine) CreateBulk(ctx context.Context, items []BulkItem) ([]BulkResult, error) {
	if !e.Ready() {
		return nil, ErrLoading
	}
	ctx, cancel := e.waits.within(ctx)
	defer cancel()
	return e.createBulk(ctx, items, nil, false)
}

// CreateBulkOnce is CreateBulk for a request that may be repeated (see CreateOnce): it makes
// nothing a second time. Its receipt has only codes and ids, so a repeat shows each link as it is
// now, ErrDeleted if it is gone. A request of which no item succeeded leaves no receipt. Errors:
// those of CreateBulk; ErrMismatch, ErrTooManyReceipts.
func (e *Engine) CreateBulkOnce(ctx context.Context, q Request, items []BulkItem) (results []BulkResult, err error) {
	err = e.answerOnce(ctx, q, func(ctx context.Context, o *once, replaces bool) (err error) {
		results, err = e.createBulk(ctx, items, o, replaces)
		return err
	}, func(ctx context.Context, r *Receipt) (err error) {
		results, err = e.repeatBulk(ctx, r, items)
		return err
	})
	if err != nil {
		return nil, err
	}
	return results, nil
}

// bulk is a CreateBulk under way. Racing bulks do not wait for each other in a circle: each enters
// its owners in ascending order, and then takes the locks of its aliases in the order of the folded
// codes. It takes the lock of a code that it draws only if it is free, and does not wait for it. It
// holds all locks until its commit has ended.
type bulk struct {
	engine    *Engine
	entered   []uint32                  // owners
	held      map[string]index.CodeLock // by folded code
	made      map[string][]*Detail      // by folded code: links about to be made
	results   []BulkResult
	creations []Mutation
}

func (e *Engine) createBulk(ctx context.Context, items []BulkItem, o *once, replaces bool) ([]BulkResult, error) {
	b := &bulk{
		engine: e, held: make(map[string]index.CodeLock), made: make(map[string][]*Detail),
		results: make([]BulkResult, len(items)),
	}
	committing := false
	defer func() {
		if !committing {
			b.unlock()
		}
	}()
	if err := b.enterOwners(ctx, items); err != nil {
		return nil, err
	}
	if err := b.lockAliases(ctx, items); err != nil {
		return nil, err
	}
	for i := range items {
		if err := b.prepare(ctx, i, &items[i]); err != nil {
			return nil, err
		}
	}
	if b.writes(o) {
		if err := o.count(replaces); err != nil {
			return nil, err
		}
		committing = true
		if err := b.commit(ctx, o); err != nil {
			return nil, err
		}
	}
	return b.results, nil
}

func (b *bulk) enterOwners(ctx context.Context, items []BulkItem) error {
	wanted := make(map[uint32]bool) // one, as a rule
	for i := range items {
		if items[i].Refused == nil {
			wanted[items[i].Draft.Owner] = true
		}
	}
	for _, owner := range slices.Sorted(maps.Keys(wanted)) {
		if err := b.engine.owners.enter(ctx, owner); err != nil {
			return err
		}
		b.entered = append(b.entered, owner)
	}
	return nil
}

func (b *bulk) lockAliases(ctx context.Context, items []BulkItem) error {
	wanted := make(map[string]string) // an alias by its folded code
	for i := range items {
		if alias := items[i].Draft.Alias; alias != "" && items[i].Refused == nil {
			wanted[b.engine.index.CodeLock(alias).Folded()] = alias
		}
	}
	for _, folded := range slices.Sorted(maps.Keys(wanted)) {
		l, err := b.engine.lockCode(ctx, wanted[folded])
		if err != nil {
			return err
		}
		b.held[folded] = l.CodeLock
	}
	return nil
}

func (b *bulk) unlock() {
	for _, l := range b.held {
		l.Unlock()
	}
	for _, owner := range b.entered {
		b.engine.owners.leave(owner)
	}
}

// prepare sets the result of item i. It returns errors of the whole request only.
func (b *bulk) prepare(ctx context.Context, i int, item *BulkItem) error {
	detail, existed, err := b.take(ctx, item)
	var wrong invalid.Error
	switch {
	case item.Refused != nil, errors.Is(err, ErrTaken), errors.As(err, &wrong):
		b.results[i].Err = err
		return nil
	case err != nil:
		return err
	}
	b.results[i] = BulkResult{Detail: detail, Existed: existed}
	return nil
}

// take prepares the creation of the link that item asks for, or finds that link.
func (b *bulk) take(ctx context.Context, item *BulkItem) (made Detail, existed bool, err error) {
	if item.Refused != nil {
		return Detail{}, false, item.Refused
	}
	rec, err := item.Draft.record(b.engine.now())
	if err != nil {
		return Detail{}, false, err
	}
	if item.Draft.Alias != "" {
		return b.takeAlias(ctx, &item.Draft, rec)
	}
	for range drawAttempts {
		code, err := index.DrawCode(b.engine.random)
		if err != nil {
			return Detail{}, false, fmt.Errorf("drawing a code: %w", err)
		}
		if made, err = b.takeDrawn(ctx, code, &item.Draft, rec); !errors.Is(err, ErrTaken) {
			return made, false, err
		}
	}
	return Detail{}, false, fmt.Errorf("no free code in %d draws: %w", drawAttempts, ErrOverloaded)
}

// takeAlias makes rec the link of an alias, whose lock b holds, or finds the same link.
func (b *bulk) takeAlias(ctx context.Context, d *Draft, rec Record) (_ Detail, existed bool, err error) {
	folded := b.engine.index.CodeLock(d.Alias).Folded()
	for _, earlier := range b.made[folded] {
		switch {
		case earlier.Code == d.Alias && d.Same != nil && d.Same(*earlier):
			return *earlier, true, nil
		case earlier.Code == d.Alias, d.Import == nil:
			return Detail{}, false, takenError(&Hot{Code: earlier.Code, Owner: earlier.Owner, Target: earlier.Target}, d)
		}
	}
	return b.create(ctx, folded, d.Alias, d, rec)
}

// takeDrawn makes rec the link of a code that was drawn. It returns ErrTaken also if another writer
// has the code.
func (b *bulk) takeDrawn(ctx context.Context, code string, d *Draft, rec Record) (Detail, error) {
	l := b.engine.index.CodeLock(code)
	if _, held := b.held[l.Folded()]; held || l.TryLock() != nil {
		return Detail{}, ErrTaken
	}
	b.held[l.Folded()] = l
	made, _, err := b.create(ctx, l.Folded(), code, d, rec)
	return made, err
}

func (b *bulk) create(
	ctx context.Context, folded, code string, d *Draft, rec Record,
) (made Detail, existed bool, err error) {
	m, made, existed, err := b.engine.creation(ctx, code, rec, d, len(b.made[folded]))
	if err != nil {
		return Detail{}, false, err
	}
	if !existed {
		b.made[folded] = append(b.made[folded], &made)
		b.creations = append(b.creations, m)
	}
	return made, existed, nil
}

// writes reports whether there is anything to commit: links, or the receipt of o for links that
// existed.
func (b *bulk) writes(o *once) bool {
	return len(b.creations) > 0 || o != nil && slices.ContainsFunc(b.results, func(r BulkResult) bool { return r.Err == nil })
}

// commit is Engine.commit for all links that b makes.
func (b *bulk) commit(ctx context.Context, o *once) error {
	if o != nil {
		o.settling = true
	}
	done := make(chan error, 1)
	b.engine.store.ApplyAll(Bulk{Creations: b.creations, Receipt: b.receipt(o)}, func(err error) {
		written := err == nil
		if written {
			err = b.publish()
		}
		b.unlock()
		if o != nil {
			o.settle(written)
		}
		done <- err
	})
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ErrOutcomeUnknown
	}
}

func (b *bulk) publish() error {
	var errs []error
	for i := range b.creations {
		errs = append(errs, b.engine.publishMutation(&b.creations[i]))
	}
	return errors.Join(errs...)
}

// ReceiptItem is one link in the receipt of a request for several.
type ReceiptItem struct {
	Outcome Outcome
	ID      uint64 // of a link
	Code    string // of a link
}

// Outcome is how a BulkItem ended. Its numbers are durable.
type Outcome uint8

const (
	OutcomeCreated Outcome = iota
	OutcomeExisted
	OutcomeTaken
	OutcomeRefused
	NumOutcomes
)

// receipt returns the receipt of the request. It does not have whole links, unlike the receipt of a
// single link: the links of one request may have 10 MB, and a request that finds 1,000 links would
// write all of them again.
func (b *bulk) receipt(o *once) *Receipt {
	r := o.receipt(false, 0, b.engine.now())
	if r == nil {
		return nil
	}
	r.Items = make([]ReceiptItem, len(b.results))
	for i := range b.results {
		item, result := &r.Items[i], &b.results[i]
		switch {
		case result.Err == nil:
			*item = ReceiptItem{Outcome: OutcomeCreated, ID: result.Detail.ID, Code: result.Detail.Code}
			if result.Existed {
				item.Outcome = OutcomeExisted
			}
		case errors.Is(result.Err, ErrTaken):
			item.Outcome = OutcomeTaken
		default:
			item.Outcome = OutcomeRefused
		}
	}
	return r
}

// repeatBulk answers a request that has a receipt. Refused items get their errors from items, which
// were checked again; if the rules have changed since, the error is ErrRefused.
func (e *Engine) repeatBulk(ctx context.Context, r *Receipt, items []BulkItem) (_ []BulkResult, err error) {
	if len(r.Items) != len(items) {
		return nil, ErrMismatch
	}
	listing, err := e.store.Listing(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, listing.Close()) }()
	if err := e.foldNow(ctx); err != nil {
		return nil, err
	}
	results := make([]BulkResult, len(items))
	for i := range r.Items {
		if results[i], err = e.repeatItem(listing, &r.Items[i], &items[i]); err != nil {
			return nil, err
		}
	}
	return results, nil
}

func (e *Engine) repeatItem(listing Listing, kept *ReceiptItem, item *BulkItem) (BulkResult, error) {
	switch {
	case kept.Outcome == OutcomeTaken:
		return BulkResult{Err: e.takenNow(item)}, nil
	case kept.Outcome == OutcomeRefused && item.Refused != nil:
		return BulkResult{Err: item.Refused}, nil
	case kept.Outcome == OutcomeRefused:
		return BulkResult{Err: ErrRefused}, nil
	}
	rec, err := listing.ReadRecord(kept.Code)
	switch {
	case errors.Is(err, ErrNotFound), err == nil && (rec.Hot.ID != kept.ID || rec.Hot.Flags&index.FlagTombstone != 0):
		return BulkResult{Err: ErrDeleted}, nil
	case err != nil:
		return BulkResult{}, fmt.Errorf("reading link %q: %w", kept.Code, err)
	}
	return BulkResult{Detail: e.detail(&rec), Existed: kept.Outcome == OutcomeExisted}, nil
}
