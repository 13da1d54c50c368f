package link

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"shunt/engine/index"
	"shunt/engine/internal/errs"
	"shunt/engine/invalid"
)

// MaxBulk bounds the links that one request may make.
const MaxBulk = 1000

// BulkItem is one of the links that a request asks for.
type BulkItem struct {
	Draft   Draft
	Refused error // if set, why the item is refused: it makes no link, and only Draft.Owner is used
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
// ErrFull, ErrOverloaded, ErrReadOnly, ErrOutcomeUnknown, ErrClosed.
func (ls *Links) CreateBulk(ctx context.Context, items []BulkItem) ([]BulkResult, error) {
	if !ls.Ready() {
		return nil, errs.ErrLoading
	}
	ctx, cancel := ls.waits.within(ctx)
	defer cancel()
	return ls.createBulk(ctx, items, nil)
}

// CheckBulk returns the results that CreateBulk would have now, and makes nothing.
func (ls *Links) CheckBulk(ctx context.Context, items []BulkItem) ([]BulkResult, error) {
	if !ls.Ready() {
		return nil, errs.ErrLoading
	}
	ctx, cancel := ls.waits.within(ctx)
	defer cancel()
	b := ls.newBulk(items)
	b.next.dry = true
	err := b.begin(ctx)
	if err == nil {
		err = b.prepareAll(ctx)
	}
	b.unlock()
	b.release()
	if err != nil {
		return nil, err
	}
	return b.results, nil
}

// CreateBulkOnce is CreateBulk for a request that may be repeated (see CreateOnce): it makes
// nothing a second time. A repeat shows the links that the first request made as they were then,
// except for their version. The receipt has only the codes and ids of links that existed, so these
// are shown as they are now, ErrDeleted if they are gone; so are links that the rules would refuse
// by now. A request of which no item succeeded leaves no receipt. first, if it is not nil, is called
// before anything else if the request has no receipt; if it returns an error, nothing is made, and
// items are the caller's again. It must not call the engine. Errors: those of first and CreateBulk;
// ErrMismatch, ErrTooManyReceipts.
func (ls *Links) CreateBulkOnce(ctx context.Context, q Request, items []BulkItem, first func() error) (results []BulkResult, err error) {
	err = ls.answerOnce(ctx, q, func(ctx context.Context, o *once) (err error) {
		if first != nil {
			if err := first(); err != nil {
				return err
			}
		}
		results, err = ls.createBulk(ctx, items, o)
		return err
	}, func(ctx context.Context, r *Receipt) (err error) {
		results, err = ls.repeatBulk(ctx, r, items)
		return err
	})
	if err != nil {
		return nil, err
	}
	return results, nil
}

// bulk is a CreateBulk under way. Racing bulks do not wait for each other in a circle: each takes the locks of what it
// reuses in their order (reuse.go), enters its owners in ascending order, and then takes the locks of its aliases in
// the order of their domains and folded codes. It takes the lock of a code that it draws only if it is free, and does
// not wait for it. It holds all locks until its commit has ended.
type bulk struct {
	links    *Links
	items    []BulkItem
	now      time.Time  // of all items
	inside   bool       // the gate
	reuse    *bulkReuse // nil: no item reuses a link
	entered  []uint32   // owners
	drawer   index.Drawer
	families []family
	familyOf []int32 // by item: the family of its alias, if it has one
	next     newLink
	results  []BulkResult
	*bulkRoom
}

// bulkRoom is the memory of a bulk that is used again once its outcome is known: fresh memory of
// this size comes page by page from the kernel.
type bulkRoom struct {
	held      []index.CodeLock
	creations []Mutation
}

var bulkRooms = sync.Pool{New: func() any { return new(bulkRoom) }}

// release gives the room to a later bulk.
func (r *bulkRoom) release() {
	clear(r.creations) // releases strings
	clear(r.held)
	r.creations, r.held = r.creations[:0], r.held[:0]
	bulkRooms.Put(r)
}

// family is the aliases of a bulk in one domain that differ only by case: they have one lock.
type family struct {
	made []int32 // items whose links are about to be made
	room [1]int32
}

func (ls *Links) newBulk(items []BulkItem) *bulk {
	return &bulk{
		links: ls, items: items, results: make([]BulkResult, len(items)), drawer: index.NewDrawer(ls.random, len(items)),
		bulkRoom: bulkRooms.Get().(*bulkRoom),
	}
}

func (ls *Links) createBulk(ctx context.Context, items []BulkItem, o *once) ([]BulkResult, error) {
	b := ls.newBulk(items)
	committing := false
	defer func() {
		if !committing {
			b.unlock()
		}
	}()
	if err := b.begin(ctx); err != nil {
		return nil, err
	}
	if err := b.prepareAll(ctx); err != nil {
		return nil, err
	}
	if b.writes(o) {
		committing = true
		if err := b.commit(ctx, o); err != nil {
			return nil, err
		}
	}
	return b.results, nil
}

// begin enters the gate, and takes all locks that are waited for.
func (b *bulk) begin(ctx context.Context) error {
	if err := b.links.gate.enter(); err != nil {
		return err
	}
	b.inside = true
	return b.lock(ctx)
}

// lock takes all locks that are waited for, in the order that all bulks have.
func (b *bulk) lock(ctx context.Context) error {
	if err := b.lockReuse(ctx); err != nil {
		return err
	}
	if err := b.enterOwners(ctx); err != nil {
		return err
	}
	return b.lockAliases(ctx)
}

func (b *bulk) prepareAll(ctx context.Context) (err error) {
	if err := b.openReusable(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.closeReusable()) }()
	b.now = b.links.now()
	for i := range b.items {
		if err := b.prepare(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

func (b *bulk) enterOwners(ctx context.Context) error {
	var wanted []uint32 // one, as a rule
	for i := range b.items {
		owner := b.items[i].Draft.Owner
		if b.items[i].Refused == nil && (len(wanted) == 0 || wanted[len(wanted)-1] != owner) {
			wanted = append(wanted, owner)
		}
	}
	slices.Sort(wanted)
	for _, owner := range slices.Compact(wanted) {
		if err := b.links.owners.enter(ctx, owner); err != nil {
			return err
		}
		b.entered = append(b.entered, owner)
	}
	return nil
}

// lockAliases finds the families of the aliases and takes their locks.
func (b *bulk) lockAliases(ctx context.Context) error {
	type alias struct {
		folded index.Key
		item   int32
	}
	var aliases []alias
	for i := range b.items {
		if d := &b.items[i].Draft; d.Alias != "" && b.items[i].Refused == nil {
			aliases = append(aliases, alias{b.links.index.CodeLock(d.key(d.Alias)).Folded(), int32(i)})
		}
	}
	if aliases == nil {
		return nil
	}
	slices.SortFunc(aliases, func(x, y alias) int { return x.folded.Compare(y.folded) })
	b.families, b.familyOf = make([]family, 0, len(aliases)), make([]int32, len(b.items))
	for i, a := range aliases {
		if i == 0 || a.folded != aliases[i-1].folded {
			d := &b.items[a.item].Draft
			l, err := b.links.lockCode(ctx, d.key(d.Alias))
			if err != nil {
				return err
			}
			b.held = append(b.held, l.CodeLock)
			b.families = append(b.families, family{})
		}
		b.familyOf[a.item] = int32(len(b.families) - 1)
	}
	return nil
}

func (b *bulk) unlock() {
	for i := range b.held {
		b.held[i].Unlock()
	}
	for _, owner := range b.entered {
		b.links.owners.leave(owner)
	}
	if b.reuse != nil {
		b.reuse.lock.unlock()
	}
	if b.inside {
		b.links.gate.leave()
	}
}

// prepare sets the result of item i. It returns errors of the whole request only.
func (b *bulk) prepare(ctx context.Context, i int) error {
	item, result := &b.items[i], &b.results[i]
	if item.Refused != nil {
		result.Err = item.Refused
		return nil
	}
	err := b.take(ctx, i, result)
	if err == nil {
		return nil
	}
	var wrong invalid.Error
	if errors.Is(err, errs.ErrTaken) || errors.As(err, &wrong) {
		*result = BulkResult{Err: err}
		return nil
	}
	return err
}

// take prepares the creation of the link that item i asks for, or finds that link.
func (b *bulk) take(ctx context.Context, i int, result *BulkResult) error {
	d := &b.items[i].Draft
	rec, err := d.record(b.now)
	if err != nil {
		return err
	}
	n := &b.next
	n.rec, n.now, n.prepared, n.unknown, n.wantIDs = rec, b.now, 0, false, len(b.items)-i
	if d.Alias != "" {
		return b.takeAlias(ctx, i, d, result)
	}
	if d.Reuse {
		if err := b.takeReusable(ctx, d, result); err != nil || result.Existed {
			return err
		}
		defer func() { b.madeReusable(i, d, result) }()
	}
	for range drawAttempts {
		code, err := b.drawer.Draw(d.LowerCode)
		if err != nil {
			return fmt.Errorf("drawing a code: %w", err)
		}
		n.key = d.key(code)
		if err = b.takeDrawn(ctx, d, result); !errors.Is(err, errs.ErrTaken) {
			return err
		}
	}
	return fmt.Errorf("no free code in %d draws: %w", drawAttempts, errs.ErrOverloaded)
}

// takeAlias makes the next link that of an alias, whose lock b holds, or finds the same link.
func (b *bulk) takeAlias(ctx context.Context, i int, d *Draft, result *BulkResult) error {
	f := &b.families[b.familyOf[i]]
	for _, item := range f.made {
		earlier := &b.results[item].Detail
		switch {
		case earlier.Code == d.Alias && d.Same != nil && d.Same(*earlier):
			*result = BulkResult{Detail: *earlier, Existed: true}
			return nil
		case earlier.Code == d.Alias, d.Import == nil:
			return takenError(&Hot{Key: earlier.Key, Owner: earlier.Owner, Target: earlier.Target}, d)
		}
	}
	b.next.key, b.next.prepared = d.key(d.Alias), len(f.made)
	if err := b.create(ctx, d, result); err != nil || result.Existed {
		return err
	}
	if f.made == nil {
		f.made = f.room[:0] // the only one, as a rule
	}
	f.made = append(f.made, int32(i))
	return nil
}

// takeDrawn makes the next link that of a code that was drawn. It returns ErrTaken also if another writer,
// or an earlier item, has the code.
func (b *bulk) takeDrawn(ctx context.Context, d *Draft, result *BulkResult) error {
	l := b.links.index.CodeLock(b.next.key)
	ok, unknown := l.TryLockDrawn()
	if !ok {
		return errs.ErrTaken
	}
	b.held, b.next.unknown = append(b.held, l), unknown
	return b.create(ctx, d, result)
}

func (b *bulk) create(ctx context.Context, d *Draft, result *BulkResult) error {
	made := len(b.creations)
	b.creations = append(b.creations, Mutation{})
	m := &b.creations[made]
	existed, err := b.links.creation(ctx, d, &b.next, m)
	if m.By = nil; err != nil || existed { // one entry says who made them all; see sign
		*m = Mutation{}
		b.creations = b.creations[:made]
	}
	if err == nil {
		result.Detail, result.Existed = b.next.detail, existed
	}
	return err
}

// writes reports whether there is anything to commit: links, or the receipt of o for links that
// existed.
func (b *bulk) writes(o *once) bool {
	return len(b.creations) > 0 || o != nil && slices.ContainsFunc(b.results, func(r BulkResult) bool { return r.Err == nil })
}

// commit is Links.commit for all links that b makes.
func (b *bulk) commit(ctx context.Context, o *once) error {
	if o != nil {
		o.settling = true
	}
	done := make(chan error, 1)
	x := Bulk{Creations: b.creations, Receipt: b.receipt(o)}
	b.sign(&x)
	b.links.store.ApplyAll(x, func(err error) {
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
		b.release()
		return err
	case <-ctx.Done():
		return errs.ErrOutcomeUnknown // and the room is the store's
	}
}

// sign says in x who makes the links, and what became of the items, for one entry of the audit log.
func (b *bulk) sign(x *Bulk) {
	if len(b.creations) == 0 {
		return // all links were there: nothing changes but the receipt
	}
	for i := range b.items {
		d := &b.items[i].Draft
		x.By, x.Imported = cmp.Or(x.By, d.By), x.Imported || d.Import != nil
		switch {
		case b.results[i].Err != nil:
			x.Failed++
		case b.results[i].Existed:
			x.Existing++
		}
	}
}

func (b *bulk) publish() error {
	var errs []error
	for i := range b.creations {
		if err := b.links.publishMutation(&b.creations[i]); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
