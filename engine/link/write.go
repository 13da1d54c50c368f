package link

import (
	"context"
	"errors"
	"fmt"
	"time"

	"shunt/engine/index"
	"shunt/engine/internal/errs"
)

// drawAttempts bounds the draws for one link. A drawn code may be taken; at 100 M links one draw in
// ten thousand is (see DrawnCodeBytes).
const drawAttempts = 16

// Create makes a link. It is durable and visible when Create returns. existed reports whether the
// link existed already (see Draft.Same). Errors: ErrTaken, InvalidError, ErrOwnerGone, ErrLoading,
// ErrFull, ErrOverloaded, ErrReadOnly, ErrOutcomeUnknown, ErrClosed.
func (ls *Links) Create(ctx context.Context, d Draft) (detail Detail, existed bool, err error) {
	if !ls.Ready() {
		return Detail{}, false, errs.ErrLoading
	}
	ctx, cancel := ls.waits.within(ctx)
	defer cancel()
	return ls.create(ctx, &d, nil)
}

// key returns the key of the link that d asks for, with a code.
func (d *Draft) key(code string) index.Key { return index.Key{Domain: d.Domain, Code: code} }

// create makes a link; o, if not nil, is the request that it answers.
func (ls *Links) create(ctx context.Context, d *Draft, o *once) (detail Detail, existed bool, err error) {
	n := newLink{now: ls.now(), wantIDs: 1}
	if n.rec, err = d.record(n.now); err != nil {
		return Detail{}, false, err
	}
	switch {
	case d.Alias != "":
		n.key = d.key(d.Alias)
		existed, err = ls.createAs(ctx, &n, d, o, nil)
	case d.Reuse:
		reusing := *d // what is looked for escapes to the heap: this copy of it, so that other creates need no memory
		existed, err = ls.createReusing(ctx, &n, &reusing, o)
	default:
		err = ls.createDrawn(ctx, &n, d, o, nil)
	}
	if err != nil {
		return Detail{}, false, err
	}
	return n.detail, existed, nil
}

// createDrawn makes a link with a code that is drawn; reuse is as for createAs.
func (ls *Links) createDrawn(ctx context.Context, n *newLink, d *Draft, o *once, reuse *reuseLock) error {
	for range drawAttempts {
		code, err := index.DrawCode(ls.random, d.LowerCode)
		if err != nil {
			return fmt.Errorf("drawing a code: %w", err)
		}
		n.key = d.key(code)
		if _, err := ls.createAs(ctx, n, d, o, reuse); !errors.Is(err, errs.ErrTaken) {
			return err
		}
	}
	return fmt.Errorf("no free code in %d draws", drawAttempts)
}

// createAs makes n. reuse, if it is not nil, is passed on to the commit if there is one.
func (ls *Links) createAs(ctx context.Context, n *newLink, d *Draft, o *once, reuse *reuseLock) (existed bool, err error) {
	l, err := ls.lockCodeFor(ctx, d.Owner, n.key)
	if err != nil {
		return false, err
	}
	committing := false
	defer func() {
		if !committing {
			l.unlock()
		}
	}()
	w := ls.newWrite()
	existed, err = ls.creation(ctx, d, n, &w.m)
	if err != nil || existed && o == nil { // nothing to write
		w.release()
		return existed, err
	}
	w.m.Receipt = o.receipt(existed, n.detail.Hits, n.now)
	committing = true
	if l.reuse = reuse; reuse != nil {
		reuse.passedOn = true
	}
	return existed, w.commit(ctx, l, o, nil)
}

// newLink is a link that a caller wants to make. The caller has the lock of its code. It is passed on by address, for
// it has some 800 bytes.
type newLink struct {
	key      index.Key
	rec      Record // the draft's; it gets key, id and version
	now      time.Time
	prepared int     // variants of the code that are about to be made
	unknown  bool    // the index is known to have no record of the code or a variant
	ids      idRange // unused ids; filled when it is empty
	wantIDs  int     // how many ids it is filled with, at most
	dry      bool    // it is not made: it takes no id
	deleted  *Record // the last link of the code, with its tombstone; nil: none is known

	// detail is the link that was made, or existed. It is the link as it will be when the mutation is published:
	// nobody else writes it meanwhile, and a new link has no hits before.
	detail Detail
}

// creation makes m, which is empty, the mutation that makes n, which d asks for. If the same link exists there, existed
// is true and m writes that link again.
func (ls *Links) creation(ctx context.Context, d *Draft, n *newLink, m *Mutation) (existed bool, err error) {
	var c claim
	if !n.unknown {
		c = ls.claim(n.key, d, n.prepared)
	}
	switch {
	case c.exact != nil:
		*m, n.detail, err = ls.existing(ctx, c.exact, d)
		return true, err
	case c.full, c.ownVariant, c.othersTombstone:
		return false, takenError(c.by, d)
	case ls.options.Full():
		return false, errs.ErrFull
	}
	if err := index.CheckOwner(n.key.View(), d.Owner); err != nil {
		return false, err
	}
	n.rec.Hot.Key, n.rec.Cold.Key = n.key, n.key
	switch err := ls.number(ctx, d, n, &c); {
	case errors.Is(err, errs.ErrTaken):
		return false, takenError(c.by, d)
	case err != nil:
		return false, err
	}
	m.Hot, m.Cold, m.By, m.Cap, m.Replaced = n.rec.Hot, n.rec.Cold, d.By, ls.newCap(&n.rec), n.deleted
	n.detail = detailOf(&n.rec, n.rec.Cold.ImportedHits, n.now)
	return false, nil
}

// number gives a new link its id, with the hits that it brings along, and a version that no link of
// this code had. Errors: those of succeed.
func (ls *Links) number(ctx context.Context, d *Draft, n *newLink, c *claim) (err error) {
	n.deleted = nil
	if c.known {
		if n.deleted, err = ls.succeed(d, &n.rec, c.othersVariant); err != nil {
			return err
		}
	}
	if n.dry {
		return nil
	}
	if n.ids.next == n.ids.end {
		if n.ids, err = ls.ids.take(ctx, n.wantIDs); err != nil {
			return err
		}
	}
	n.rec.Hot.ID = n.ids.next
	n.ids.next++
	if n.rec.Cold.ImportedHits == 0 {
		return nil
	}
	// The counter gets the hits that the link brings along before the link is durable: lists show
	// it from then on.
	return ls.index.SetHits(n.rec.Hot.ID, n.rec.Cold.ImportedHits)
}

// succeed gives rec its version if its code was deleted before, and returns what was: the deletion of the last link
// counts as an edit, so that an If-Match of that link does not match the new one. After a purge
// nobody knows the last link, and versions begin at 1 again. The store says whose the code was,
// because in the index a variant may have taken the slot of its tombstone. Errors: ErrTaken if
// another owner deleted the code and it is not free yet; and, with formerOnly, if the code was not
// the owner's own until not long ago.
func (ls *Links) succeed(d *Draft, rec *Record, formerOnly bool) (*Record, error) {
	old, err := ls.store.ReadRecord(rec.Hot.Key)
	if err != nil && !errors.Is(err, errs.ErrNotFound) {
		return nil, fmt.Errorf("reading link %q: %w", rec.Hot.Code, err)
	}
	deleted := err == nil
	own := deleted && old.Hot.Owner == rec.Hot.Owner && ls.TombstoneHolds(old.Hot.DeletedAtMs)
	if formerOnly && !own || deleted && ls.heldBack(d, old.Hot.Owner, old.Hot.DeletedAtMs) {
		return nil, errs.ErrTaken
	}
	if !deleted {
		return nil, nil
	}
	rec.Cold.Version = old.Cold.Version + 2
	return &old, nil
}

// write is a mutation under way. It is used again for another one when its outcome is known: so a
// create does not allocate a channel, a callback and a mutation.
type write struct {
	links     *Links
	m         Mutation
	lock      codeLock
	once      *once
	published func()
	outcome   chan error  // gets the outcome, and has room for it
	end       func(error) // ended, for the store
}

func (ls *Links) newWrite() *write {
	if w, ok := ls.writes.Get().(*write); ok {
		return w
	}
	w := &write{links: ls, outcome: make(chan error, 1)}
	w.end = w.ended
	return w
}

// release gives w to a later writer: its outcome is known.
func (w *write) release() {
	w.m, w.lock, w.once, w.published = Mutation{}, codeLock{}, nil, nil
	w.links.writes.Put(w)
}

// commit writes m; see write.commit.
func (ls *Links) commit(ctx context.Context, l codeLock, m Mutation, o *once, published func()) error {
	w := ls.newWrite()
	w.m = m
	return w.commit(ctx, l, o, published)
}

// commit writes w's mutation. When that is durable, commit publishes it, calls published if it is not nil, and
// then unlocks l and settles o if there is one. If ctx is done before, commit returns
// ErrOutcomeUnknown, and all this still happens. Nobody uses w afterwards.
func (w *write) commit(ctx context.Context, l codeLock, o *once, published func()) error {
	if o != nil {
		o.settling = true
	}
	w.lock, w.once, w.published = l, o, published
	w.links.store.Apply(w.m, w.end)
	select {
	case err := <-w.outcome:
		w.release()
		return err
	case <-ctx.Done():
		return errs.ErrOutcomeUnknown // and w is the store's
	}
}

// ended publishes the mutation if the store has it, and lets the next writer go on.
func (w *write) ended(err error) {
	written := err == nil
	if written {
		err = w.links.publishMutation(&w.m)
		if w.published != nil {
			w.published()
		}
	}
	w.lock.unlock()
	if w.once != nil {
		w.once.settle(written)
	}
	w.outcome <- err
}

// publishMutation publishes m. When it returns, no hit is admitted any more under the cap that the
// link had before.
func (ls *Links) publishMutation(m *Mutation) error {
	if m.Cap != nil {
		ls.caps.put([]CapChange{*m.Cap}) // before its link
		if m.Hot.Code == "" {
			return nil
		}
	}
	v := m.Hot.view()
	if err := ls.publish(&v); err != nil {
		return err
	}
	if m.Before != nil && m.Before.Hot.MaxHits != m.Hot.MaxHits {
		ls.index.CapChanged(m.Hot.ID)
	}
	return nil
}

// rewrite commits the mutation that change returns for a live link that meets g; published is as
// for commit. The code is locked from before the link is read until after published. owner, unless it is
// 0, gets the link: it must not be deleted meanwhile.
func (ls *Links) rewrite(
	ctx context.Context, k index.Key, g Guard, owner uint32, change func(old Record) (Mutation, error), published func(),
) error {
	return ls.rewriteOf(ctx, k, owner, g.By, func() (Mutation, error) { return ls.change(k, g, change) }, published)
}

// rewriteOf is rewrite for a mutation that prepare returns, with the code locked.
func (ls *Links) rewriteOf(
	ctx context.Context, k index.Key, owner uint32, by *By, prepare func() (Mutation, error), published func(),
) error {
	if !ls.Ready() {
		return errs.ErrLoading
	}
	if !k.View().Valid() {
		return errs.ErrNotFound
	}
	ctx, cancel := ls.waits.within(ctx)
	defer cancel()
	l, err := ls.lockCodeFor(ctx, owner, k)
	if err != nil {
		return err
	}
	committing := false
	defer func() {
		if !committing { // prepare has failed or panicked
			l.unlock()
		}
	}()
	m, err := prepare()
	if err != nil {
		return err
	}
	m.By = by
	committing = true
	return ls.commit(ctx, l, m, nil, published)
}

func (ls *Links) change(k index.Key, g Guard, change func(old Record) (Mutation, error)) (Mutation, error) {
	old, err := ls.readLive(k)
	switch {
	case err != nil:
		return Mutation{}, err
	case !g.AnyOwner && old.Hot.Owner != g.Owner:
		return Mutation{}, errs.ErrNotFound
	case g.Version != 0 && old.Cold.Version != g.Version:
		return Mutation{}, errs.ErrVersion
	}
	return change(old)
}

// readLive reads a link's record from the store. It returns ErrNotFound if there is none or it was
// deleted.
func (ls *Links) readLive(k index.Key) (Record, error) {
	rec, err := ls.store.ReadRecord(k)
	switch {
	case errors.Is(err, errs.ErrNotFound):
		return Record{}, errs.ErrNotFound
	case err != nil:
		return Record{}, fmt.Errorf("reading link %q: %w", k.Code, err)
	case rec.Hot.Flags&index.FlagTombstone != 0:
		return Record{}, errs.ErrNotFound
	}
	return rec, nil
}

// Read returns a link as its owner sees it, with its visitors, all of one moment. It reads the
// store with the code locked. Without the lock it could see a write under way that is not durable
// yet, or the hits of another link if this one is deleted and its code taken again. Errors:
// ErrNotFound, ErrLoading, ErrOverloaded.
func (ls *Links) Read(k index.Key) (Detail, error) {
	if !ls.Ready() {
		return Detail{}, errs.ErrLoading
	}
	if !k.View().Valid() {
		return Detail{}, errs.ErrNotFound
	}
	ctx, cancel := ls.waits.within(context.Background())
	defer cancel()
	l, err := ls.lockCode(ctx, k)
	if err != nil {
		return Detail{}, err
	}
	defer l.unlock()
	rec, err := ls.readLive(k)
	if err != nil {
		return Detail{}, err
	}
	if err := ls.hits.FoldNow(ctx); err != nil {
		return Detail{}, err
	}
	unique, err := ls.hits.Visitors(ctx, rec.Hot.ID)
	if err != nil {
		return Detail{}, err
	}
	d := ls.detail(&rec) // its hits are read after its visitors
	d.Unique = min(unique, d.Hits)
	return d, nil
}

// Made returns the id of a link, and when it was made. It takes no lock, so both may be those of a write that
// is under way. Error: ErrNotFound.
func (ls *Links) Made(k index.Key) (id uint64, created time.Time, err error) {
	rec, err := ls.readLive(k)
	return rec.Hot.ID, time.UnixMilli(rec.Cold.CreatedAtMs).UTC(), err
}

// Password returns the id of a link, and the hash of the password that its visitors must type; empty: none. It takes no
// lock, as Made. Error: ErrNotFound.
func (ls *Links) Password(k index.Key) (id uint64, hash string, err error) {
	rec, err := ls.readLive(k)
	return rec.Hot.ID, rec.Cold.Password, err
}

// CardOf returns the card of the link with that id, the zero Card if it has none. It takes no lock, so the card may be
// that of a write that is under way. Error: ErrNotFound.
func (ls *Links) CardOf(k index.Key, id uint64) (Card, error) {
	rec, err := ls.readLive(k)
	if err == nil && rec.Hot.ID != id {
		err = errs.ErrNotFound
	}
	return rec.Cold.Card, err
}

// detail returns the link of r with its present hits. The hits of a link without a cap are the
// folded ones.
func (ls *Links) detail(r *Record) Detail {
	d := detailOf(r, ls.index.Hits(r.Hot.ID), ls.now())
	if (d.State == StateActive || d.State == StateScheduled) && r.Hot.MaxHits != 0 && ls.caps.Exists && ls.caps.Table.Spent(d.ID, r.Hot.MaxHits) {
		d.State = StateExhausted // a node that ended had hits that it had not counted
	}
	return d
}
