package link

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"shunt/engine/index"
	"shunt/engine/internal/clock"
	"shunt/engine/internal/errs"
	"shunt/engine/internal/limits"
	"shunt/engine/search"
)

// A deleted link is in the trash of its owner for TrashDays, in which the store ran: in the index it is a tombstone
// like any other, and the store has a row with what the link was. Until then a restore makes it the link that it was,
// with its id and so with all its figures. The invariants:
//
//  1. A link is in the trash only if the hot record of its key is its own tombstone. Whatever puts another record
//     there removes the row in the same batch: a restore, and a new link with the code.
//  2. What was purged, or whose code was taken again, has no text in the store any more: its cold record keeps numbers
//     only. Its figures, which nobody can ask for, go with the cold record when it would have left the trash, because
//     a hit of it may still be on its way (see purge.go).
//  3. A restore enters the owner as a create does, so a user who is being deleted gets no link back (owners.go).
//
// A restore is refused where the owner could not take the code with a new link. The deletion and the restore count as
// edits: an If-Match of the link from before does not match.

// TrashChange says what a mutation does to the trash beside what all do: a deletion puts its link there.
type TrashChange uint8

const (
	TrashPurged   TrashChange = 1 + iota // the deleted link is not in the trash, or not any more
	TrashRestored                        // the link was in the trash
)

const trashMs = limits.TrashDays * clock.HoursPerDay * clock.MsPerHour

// inTrash reports whether a link that was deleted at deletedAtMs can still be restored.
func (ls *Links) inTrash(deletedAtMs int64) bool {
	return !ls.clock.Kept(deletedAtMs, (trashMs+1)*time.Millisecond)
}

// StateDeleted is the state of links in the trash. No other list has one.
const StateDeleted State = "deleted"

// Delete moves a link to the trash of its owner. Its code stays taken for TombstoneDays; after that its last rows are
// deleted (see purge.go). Errors: those of Update.
func (ls *Links) Delete(ctx context.Context, k index.Key, g Guard) error {
	return ls.rewrite(ctx, k, g, 0, func(old Record) (Mutation, error) {
		return Mutation{Hot: ls.tombstoneOf(&old.Hot), Before: &old}, nil
	}, nil)
}

// tombstoneOf returns the hot record of a link that is deleted now.
func (ls *Links) tombstoneOf(h *Hot) Hot {
	return Hot{Key: h.Key, ID: h.ID, Owner: h.Owner, Flags: index.FlagTombstone, DeletedAtMs: ls.now().UnixMilli()}
}

// Purge deletes a link, or one that is in the trash, such that it cannot be restored. Its code stays taken all the
// same. Errors: those of Update.
func (ls *Links) Purge(ctx context.Context, k index.Key, g Guard) error {
	err := ls.rewrite(ctx, k, g, 0, func(old Record) (Mutation, error) {
		return Mutation{Hot: ls.tombstoneOf(&old.Hot), Before: &old, Trash: TrashPurged}, nil
	}, nil)
	if errors.Is(err, errs.ErrNotFound) {
		err = ls.purgeTrashed(ctx, k, g)
	}
	return err
}

// purgeTrashed is Purge for a link in the trash.
func (ls *Links) purgeTrashed(ctx context.Context, k index.Key, g Guard) error {
	err := ls.rewriteTrashed(ctx, k, g, 0, func(t *Hot, was Record) (Mutation, error) {
		return Mutation{Hot: *t, Before: &was, Trash: TrashPurged}, nil
	}, nil)
	if errors.Is(err, errs.ErrTaken) {
		err = errs.ErrNotFound // it is live
	}
	return err
}

// Restore makes a link of the trash what it was when it was deleted, the next version of itself, with all figures.
// It is durable and visible when Restore returns. Errors: ErrNotFound if it is not in the trash, ErrTaken if its code,
// or one that differs only by case, was taken meanwhile, ErrFull, and those of Update.
func (ls *Links) Restore(ctx context.Context, k index.Key, g Guard) (detail Detail, err error) {
	if !ls.Ready() {
		return Detail{}, errs.ErrLoading
	}
	if !k.View().Valid() {
		return Detail{}, errs.ErrNotFound
	}
	t, err := ls.store.ReadHot(k) // whose it is must be known before the code is locked
	switch {
	case errors.Is(err, errs.ErrNotFound), err == nil && !g.AnyOwner && t.Owner != g.Owner:
		return Detail{}, errs.ErrNotFound
	case err != nil:
		return Detail{}, fmt.Errorf("reading link %q: %w", k.Code, err)
	}
	g.Owner, g.AnyOwner = t.Owner, false
	var rec Record
	err = ls.rewriteTrashed(ctx, k, g, t.Owner, func(t *Hot, was Record) (Mutation, error) {
		if err := ls.mayReturn(&was.Hot); err != nil {
			return Mutation{}, err
		}
		if err := ls.hits.FoldNow(ctx); err != nil {
			return Mutation{}, err
		}
		rec = was
		rec.Cold.Version++ // the deletion
		ls.nextVersion(&rec)
		return Mutation{Hot: rec.Hot, Cold: rec.Cold, Before: &Record{Hot: *t, Cold: was.Cold}, Trash: TrashRestored}, nil
	}, func() { detail = ls.detail(&rec) })
	if err != nil {
		return Detail{}, err
	}
	return detail, nil
}

// mayReturn returns the error of a link whose code its owner could not take now.
func (ls *Links) mayReturn(h *Hot) error {
	d := Draft{Domain: h.Domain, Alias: h.Code, Owner: h.Owner, Target: h.Target}
	c := ls.claim(h.Key, &d, 0)
	switch {
	case c.exact != nil, c.ownVariant, c.othersTombstone: // a variant of somebody else is no obstacle: see claim
		return takenError(c.by, &d)
	case ls.options.Full():
		return errs.ErrFull
	}
	return nil
}

// rewriteTrashed is rewrite for a link in the trash: t is its tombstone, was what it was. It returns ErrTaken if the
// code is a live link that meets g.
func (ls *Links) rewriteTrashed(
	ctx context.Context, k index.Key, g Guard, owner uint32, change func(t *Hot, was Record) (Mutation, error), published func(),
) error {
	return ls.rewriteOf(ctx, k, owner, g.By, func() (Mutation, error) {
		t, was, err := ls.readTrashed(k, g)
		if err != nil {
			return Mutation{}, err
		}
		return change(&t, was)
	}, published)
}

// readTrashed reads a link in the trash that meets g, and its tombstone.
func (ls *Links) readTrashed(k index.Key, g Guard) (t Hot, was Record, err error) {
	t, err = ls.store.ReadHot(k)
	switch {
	case errors.Is(err, errs.ErrNotFound), err == nil && !g.AnyOwner && t.Owner != g.Owner:
		return t, was, errs.ErrNotFound
	case err != nil:
		return t, was, fmt.Errorf("reading link %q: %w", k.Code, err)
	case t.Flags&index.FlagTombstone == 0:
		return t, was, errs.ErrTaken
	case !ls.inTrash(t.DeletedAtMs):
		return t, was, errs.ErrNotFound
	}
	was, err = ls.store.ReadTrashed(t.Owner, TrashPlace{t.DeletedAtMs, t.ID})
	switch {
	case errors.Is(err, errs.ErrNotFound):
		return t, was, errs.ErrNotFound
	case err != nil:
		return t, was, fmt.Errorf("reading deleted link %q: %w", k.Code, err)
	case g.Version != 0 && was.Cold.Version != g.Version:
		return t, was, errs.ErrVersion
	}
	return t, was, nil
}

// A TrashPlace is where a link is in the trash of its owner: the greater DeletedAtMs comes first, and among equal ones
// the greater ID.
type TrashPlace struct {
	DeletedAtMs int64
	ID          uint64
}

// place returns the place as cursors have it.
func (p TrashPlace) place() search.Place { return search.Place{Key: ordered(p.DeletedAtMs), ID: p.ID} }

// trashPlaceOf is the inverse of place.
func trashPlaceOf(p search.Place) TrashPlace { return TrashPlace{int64(p.Key ^ 1<<63), p.ID} }

// TrashQuery asks for a page of what is in the trash, the last deletion first.
type TrashQuery struct {
	In    OwnerRange        // of these owners
	User  uint32            // only of this user; 0: of all
	May   func(uint32) bool // only of owners that it accepts; nil: of all
	After *search.Place     // behind this place; nil: from the first on
	Limit int               // at least 1
}

// ListTrash returns a page of what is in the trash, in steps, each within a call of turn; all read the same moment. The
// state of all links is StateDeleted. It looks at every owner in the range that has anything there. Errors: ErrLoading,
// ErrOverloaded, and those of turn.
func (ls *Links) ListTrash(ctx context.Context, q TrashQuery, turn func(step func() error) error) (page LinkPage, err error) {
	l, err := ls.OpenList(ctx)
	if err != nil {
		return LinkPage{}, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	places, more, err := l.trashPlaces(&q, turn)
	if err != nil {
		return LinkPage{}, fmt.Errorf("listing deleted links: %w", err)
	}
	for len(places) > 0 && page.sizeBytes < maxListBytes {
		n := min(len(places), listStepLinks)
		if err := turn(func() error { return l.trashed(ctx, &page, places[:n]) }); err != nil {
			return LinkPage{}, fmt.Errorf("reading deleted links: %w", err)
		}
		last := places[n-1].place()
		if places = places[n:]; more || len(places) > 0 {
			page.Next = &last
		} else {
			page.Next = nil
		}
	}
	return page, nil
}

// trashed appends the links of places to a page.
func (l *LinkList) trashed(ctx context.Context, page *LinkPage, places []ownedPlace) error {
	ls := l.links
	if err := ls.hits.FoldNow(ctx); err != nil {
		return err
	}
	for _, p := range places {
		rec, err := l.listing.ReadTrashed(p.owner, p.TrashPlace)
		if err != nil {
			return fmt.Errorf("link %d: %w", p.ID, errNotAsListed(err))
		}
		d := detailOf(&rec, ls.index.Hits(p.ID), ls.now())
		d.State, d.DeletedAt = StateDeleted, time.UnixMilli(p.DeletedAtMs).UTC()
		page.Links = append(page.Links, d)
		page.sizeBytes += rec.listedBytes()
	}
	return nil
}

// ownedPlace is a place in the trash of an owner.
type ownedPlace struct {
	TrashPlace
	owner uint32
}

func (p ownedPlace) compare(other ownedPlace) int { return p.place().Compare(other.place()) }

// ownersAtOnce is how many owners are looked at in a step: a millisecond, if each has a page.
const ownersAtOnce = 16

// trashPlaces returns the places of a page, and whether there are more behind them. It keeps some more than it returns,
// however many owners there are.
func (l *LinkList) trashPlaces(q *TrashQuery, turn func(step func() error) error) (found []ownedPlace, more bool, err error) {
	var owners []uint32
	if err := turn(func() (err error) { owners, err = l.listing.TrashOwners(q.In, q.User); return err }); err != nil {
		return nil, false, err
	}
	if q.May != nil {
		owners = slices.DeleteFunc(owners, func(owner uint32) bool { return !q.May(owner) })
	}
	for some := range slices.Chunk(owners, ownersAtOnce) {
		err := turn(func() error {
			for _, owner := range some {
				if found, err = l.appendTrash(found, q, owner); err != nil {
					return err
				}
				slices.SortFunc(found, ownedPlace.compare)
				if len(found) > q.Limit {
					found, more = found[:q.Limit], true
				}
			}
			return nil
		})
		if err != nil {
			return nil, false, err
		}
	}
	return found, more, nil
}

// appendTrash appends the first places in the trash of an owner, one more than the page has.
func (l *LinkList) appendTrash(found []ownedPlace, q *TrashQuery, owner uint32) ([]ownedPlace, error) {
	var after *TrashPlace
	if q.After != nil {
		p := trashPlaceOf(*q.After)
		after = &p
	}
	left := q.Limit + 1
	err := l.listing.TrashPlaces(owner, after, func(p TrashPlace) bool {
		if l.links.inTrash(p.DeletedAtMs) { // else it leaves soon
			found = append(found, ownedPlace{p, owner})
			left--
		}
		return left > 0
	})
	return found, err
}

// EmptyTrash purges everything in the trash of a user in all domains, or, with user 0, of all users in a domain, for
// by, and returns how many links that were. It ends early when ctx is done: ErrOverloaded, and a repeat goes on.
// Errors: those of Purge.
func (ls *Links) EmptyTrash(ctx context.Context, user uint32, d index.Domain, by *By) (purged uint64, err error) {
	q := TrashQuery{In: AllIn(d), Limit: moveAtOnce}
	if user != 0 {
		q.In, q.User = AllOwners, user
	}
	for {
		keys, err := ls.trashedKeys(ctx, &q)
		switch {
		case err != nil:
			return purged, err
		case len(keys) == 0:
			return purged, nil
		case ctx.Err() != nil:
			return purged, errs.ErrOverloaded
		}
		outcomes := make(chan error, len(keys))
		for _, k := range keys {
			go func() { outcomes <- ls.purgeTrashed(ctx, k, Guard{AnyOwner: true, By: by}) }()
		}
		for range keys {
			switch oneErr := <-outcomes; {
			case oneErr == nil:
				purged++
			case !errors.Is(oneErr, errs.ErrNotFound): // somebody else was faster
				err = cmp.Or(err, oneErr)
			}
		}
		if err != nil {
			return purged, err
		}
	}
}

// trashedKeys returns the keys of the first links in the trash of owners.
func (ls *Links) trashedKeys(ctx context.Context, q *TrashQuery) (keys []index.Key, err error) {
	l, err := ls.OpenList(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	places, _, err := l.trashPlaces(q, func(step func() error) error { return step() })
	for i := 0; i < len(places) && err == nil; i++ {
		var rec Record
		rec, err = l.listing.ReadTrashed(places[i].owner, places[i].TrashPlace)
		keys = append(keys, rec.Hot.Key)
	}
	return keys, err
}
