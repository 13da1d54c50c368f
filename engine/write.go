package engine

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// CommitTimeout is how long a writer waits in all: for another writer of the code (ErrOverloaded) and for the store
// (ErrOutcomeUnknown).
const CommitTimeout = 2 * time.Second

// drawAttempts bounds how often a code is drawn anew because the last one was taken; at 100 M links that is one draw in
// ten thousand (see DrawnCodeBytes).
const drawAttempts = 16

// maxVariants is how many codes that differ only by case imports may make. All of them are in one probe sequence.
const maxVariants = 64

// reservation is the right to write one code, and all that differ from it by case. It is held from before the link is
// read until what was written is published or has failed, so that racing writers of a code have one order.
type reservation struct {
	shard  *shard
	place  place
	folded string
	leave  func() // leaves the owner that was entered for it; nil: none was
}

// reserve takes the reservation of code, waiting for another writer of it until ctx is done: ErrOverloaded.
func (e *Engine) reserve(ctx context.Context, code string) (reservation, error) {
	r := e.reservationOf(code)
	for {
		held := r.shard.tryReserve(r.folded)
		if held == nil {
			return r, nil
		}
		select {
		case <-held:
		case <-ctx.Done():
			return reservation{}, ErrOverloaded
		}
	}
}

// reservationOf returns the reservation of code, which is not taken.
func (e *Engine) reservationOf(code string) reservation {
	var folded [MaxCodeBytes]byte
	p := e.hashKey.place([]byte(code))
	return reservation{shard: &e.shards[p.shard], place: p, folded: string(foldCase(&folded, []byte(code)))}
}

// tryReserve takes the reservation and returns nil, or what is closed when its holder releases it.
func (s *shard) tryReserve(folded string) (held <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if held, taken := s.mu.reserved[folded]; taken {
		return held
	}
	s.mu.reserved[folded] = make(chan struct{})
	return nil
}

func (r *reservation) release() {
	r.shard.unreserve(r.folded)
	if r.leave != nil {
		r.leave()
	}
}

func (s *shard) unreserve(folded string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.mu.reserved[folded])
	delete(s.mu.reserved, folded)
}

// Create makes a link. It is durable and visible when Create returns. existed tells that the link was there already
// (see Draft.Same). Errors: ErrTaken, InvalidError, ErrOwnerGone, ErrLoading, ErrOverloaded, ErrOutcomeUnknown, ErrClosed.
func (e *Engine) Create(ctx context.Context, d Draft) (detail Detail, existed bool, err error) {
	if !e.Ready() {
		return Detail{}, false, ErrLoading
	}
	ctx, cancel := context.WithTimeout(ctx, CommitTimeout)
	defer cancel()
	return e.create(ctx, d, nil)
}

// create makes a link; o, if not nil, is the request that it answers.
func (e *Engine) create(ctx context.Context, d Draft, o *once) (detail Detail, existed bool, err error) {
	rec, err := d.record(e.now())
	if err != nil {
		return Detail{}, false, err
	}
	if d.Alias != "" {
		return e.createAs(ctx, d.Alias, rec, &d, o)
	}
	for range drawAttempts {
		code, err := DrawCode(e.random)
		if err != nil {
			return Detail{}, false, fmt.Errorf("drawing a code: %w", err)
		}
		if detail, _, err = e.createAs(ctx, code, rec, &d, o); !errors.Is(err, ErrTaken) {
			return detail, false, err
		}
	}
	return Detail{}, false, fmt.Errorf("no free code in %d draws", drawAttempts)
}

func (e *Engine) createAs(
	ctx context.Context, code string, rec Record, d *Draft, o *once,
) (_ Detail, existed bool, err error) {
	r, err := e.reserveFor(ctx, d.Owner, code)
	if err != nil {
		return Detail{}, false, err
	}
	committing := false
	defer func() {
		if !committing {
			r.release()
		}
	}()
	m, detail, existed, err := e.creation(ctx, &r, code, rec, d, 0)
	if err != nil {
		return Detail{}, false, err
	}
	if existed && o == nil { // there is nothing to write
		return detail, true, nil
	}
	m.Receipt = o.receipt(existed, detail.Hits, e.now())
	committing = true
	if err := e.commit(ctx, r, m, o, nil); err != nil {
		return Detail{}, false, err
	}
	return detail, existed, nil
}

// creation returns what makes rec, which d asks for, the link of code; or, if existed, what writes the link there again that is
// the same. detail is that link as it is when this is published: nothing else is written meanwhile, and a new link has no
// hits before. beside is how many variants of code are about to be made.
func (e *Engine) creation(
	ctx context.Context, r *reservation, code string, rec Record, d *Draft, beside int,
) (m Mutation, detail Detail, existed bool, err error) {
	c := r.claim(code, d.Owner, d.Import != nil, beside, e.now().UnixMilli())
	switch {
	case c.exact != nil:
		m, detail, err = e.existing(ctx, c.exact, d)
		return m, detail, true, err
	case c.full, c.ownVariant, c.othersTombstone:
		return Mutation{}, Detail{}, false, takenError(c.by, d)
	}
	rec.Hot.Code, rec.Cold.Code = code, code
	switch err := e.number(ctx, &rec, c.othersVariant); {
	case errors.Is(err, ErrTaken):
		return Mutation{}, Detail{}, false, takenError(c.by, d)
	case err != nil:
		return Mutation{}, Detail{}, false, err
	}
	return Mutation{Hot: rec.Hot, Cold: rec.Cold}, detailOf(&rec, rec.Cold.ImportedHits, e.now()), false, nil
}

// existing returns the live link exact, and what writes it again, if it is what d asks for: else ErrTaken.
func (e *Engine) existing(ctx context.Context, exact *Hot, d *Draft) (m Mutation, detail Detail, err error) {
	if d.Alias == "" || d.Same == nil || exact.Owner != d.Owner {
		return Mutation{}, Detail{}, takenError(exact, d)
	}
	old, err := e.store.ReadRecord(exact.Code)
	if err != nil {
		return Mutation{}, Detail{}, fmt.Errorf("reading link %q: %w", exact.Code, err)
	}
	if err := e.foldNow(ctx); err != nil {
		return Mutation{}, Detail{}, err
	}
	if detail = e.detail(&old); !d.Same(detail) {
		return Mutation{}, Detail{}, takenError(exact, d)
	}
	return Mutation{Hot: old.Hot, Cold: old.Cold, Before: &old}, detail, nil
}

// number gives a new link its id, with the hits that it brings along, and a version that no link of this code had: deleting the last one counts as an edit of
// it, so that an If-Match of that does not match this. After a purge nobody knows that link, and versions begin at 1 again.
// The store says whose the code was: in the index a variant may have taken the slot of its tombstone. Errors: ErrTaken if
// it was deleted by somebody else and is not free yet; and, with formerOnly, if it was not the owner's own until not long ago.
func (e *Engine) number(ctx context.Context, rec *Record, formerOnly bool) (err error) {
	old, err := e.store.ReadRecord(rec.Hot.Code)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return fmt.Errorf("reading link %q: %w", rec.Hot.Code, err)
	}
	deleted := err == nil
	holds := deleted && tombstoneHolds(old.Hot.DeletedAtMs, e.now().UnixMilli())
	if own := holds && old.Hot.Owner == rec.Hot.Owner; formerOnly && !own || holds && !own {
		return ErrTaken
	}
	if deleted {
		rec.Cold.Version = old.Cold.Version + 2
	}
	if rec.Hot.ID, err = e.ids.take(ctx); err != nil || rec.Cold.ImportedHits == 0 {
		return err
	}
	// Hits that it brings along are its counter's first. They are there before it is durable, for then lists show it.
	if err := e.counters.ensure(rec.Hot.ID); err != nil {
		return err
	}
	e.counters.at(rec.Hot.ID).Store(rec.Cold.ImportedHits)
	return nil
}

// commit writes m, publishes it once it is durable, calls published, if that is not nil, and then releases r and settles o, if
// there is one; also when ctx is done by then and the caller has gone: ErrOutcomeUnknown.
func (e *Engine) commit(ctx context.Context, r reservation, m Mutation, o *once, published func()) error {
	if o != nil {
		o.settling = true
	}
	done := make(chan error, 1)
	e.store.Apply(m, func(err error) {
		written := err == nil
		if written {
			err = e.publishMutation(&m)
			if published != nil {
				published()
			}
		}
		r.release()
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

// publishMutation publishes what was written. When it returns, no hit is admitted any more under the cap that a link had before.
func (e *Engine) publishMutation(m *Mutation) error {
	if err := e.publish(m.Hot.view()); err != nil {
		return err
	}
	if m.Before != nil && m.Before.Hot.MaxHits != m.Hot.MaxHits {
		e.counters.at(m.Hot.ID).Add(capChange)
	}
	return nil
}

func (h *Hot) view() *HotView {
	return &HotView{
		Code: []byte(h.Code), Target: []byte(h.Target), ID: h.ID, ExpiresAtMs: h.ExpiresAtMs, MaxHits: h.MaxHits,
		DeletedAtMs: h.DeletedAtMs, Owner: h.Owner, Flags: h.Flags,
	}
}

// Delete deletes a link. Its code stays taken for TombstoneDays; after that its rows go (see purge.go). Errors as Update.
func (e *Engine) Delete(ctx context.Context, code string, g Guard) error {
	return e.rewrite(ctx, code, g, func(old Record) (Mutation, error) {
		tombstone := Hot{
			Code: old.Hot.Code, ID: old.Hot.ID, Owner: old.Hot.Owner,
			Flags: FlagTombstone, DeletedAtMs: e.now().UnixMilli(),
		}
		return Mutation{Hot: tombstone, Before: &old}, nil
	}, nil)
}

// rewrite commits what change makes of a live link that g admits, and calls published, as commit does. The code is reserved
// from before the link is read until after that.
func (e *Engine) rewrite(
	ctx context.Context, code string, g Guard, change func(old Record) (Mutation, error), published func(),
) error {
	if !e.Ready() {
		return ErrLoading
	}
	if !ValidCode([]byte(code)) {
		return ErrNotFound
	}
	ctx, cancel := context.WithTimeout(ctx, CommitTimeout)
	defer cancel()
	r, err := e.reserve(ctx, code)
	if err != nil {
		return err
	}
	committing := false
	defer func() {
		if !committing { // change has failed, or panicked
			r.release()
		}
	}()
	m, err := e.change(code, g, change)
	if err != nil {
		return err
	}
	committing = true
	return e.commit(ctx, r, m, nil, published)
}

func (e *Engine) change(code string, g Guard, change func(old Record) (Mutation, error)) (Mutation, error) {
	old, err := e.readLive(code)
	switch {
	case err != nil:
		return Mutation{}, err
	case !g.AnyOwner && old.Hot.Owner != g.Owner:
		return Mutation{}, ErrNotFound
	case g.Version != 0 && old.Cold.Version != g.Version:
		return Mutation{}, ErrVersion
	}
	return change(old)
}

// readLive reads a link's record from the store; ErrNotFound if there is none or it was deleted.
func (e *Engine) readLive(code string) (Record, error) {
	rec, err := e.store.ReadRecord(code)
	switch {
	case errors.Is(err, ErrNotFound):
		return Record{}, ErrNotFound
	case err != nil:
		return Record{}, fmt.Errorf("reading link %q: %w", code, err)
	case rec.Hot.Flags&FlagTombstone != 0:
		return Record{}, ErrNotFound
	}
	return rec, nil
}

// Read returns a link as its owner sees it, with its visitors, all of one moment. It reads the store, with the code reserved: a
// reader would see what a write under way has put there and not made durable yet, and could see the hits of another
// link, if this one is deleted and its code taken again. Errors: ErrNotFound, ErrLoading, ErrOverloaded.
func (e *Engine) Read(code string) (Detail, error) {
	if !e.Ready() {
		return Detail{}, ErrLoading
	}
	if !ValidCode([]byte(code)) {
		return Detail{}, ErrNotFound
	}
	ctx, cancel := context.WithTimeout(context.Background(), CommitTimeout)
	defer cancel()
	r, err := e.reserve(ctx, code)
	if err != nil {
		return Detail{}, err
	}
	defer r.release()
	rec, err := e.readLive(code)
	if err != nil {
		return Detail{}, err
	}
	if err := e.foldNow(ctx); err != nil {
		return Detail{}, err
	}
	unique, err := e.Visitors(ctx, rec.Hot.ID)
	if err != nil {
		return Detail{}, err
	}
	d := e.detail(&rec) // its hits are read after its visitors
	d.Unique = min(unique, d.Hits)
	return d, nil
}

// detail returns the link of r with the hits that it has now. Hits of a link without a cap are those that were folded.
func (e *Engine) detail(r *Record) Detail { return detailOf(r, e.hits(r.Hot.ID), e.now()) }
