package link

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"shunt/engine/index"
	"shunt/engine/internal/errs"
)

// Update edits a link: edit changes a copy of its record; its changes of key, id, owner, creation
// and version are ignored. If edit returns an error, Update returns it and changes nothing. The
// edit is durable and visible when Update returns. An edit that changes nothing writes nothing, and
// the link keeps its version. The hits returned are those of the moment at which the edit was
// published. So if it set a cap of n and returned h hits, at most max(n, h) will ever be admitted
// under it. Errors: ErrNotFound, ErrVersion, and those of Create.
func (ls *Links) Update(ctx context.Context, k index.Key, g Guard, edit func(*Record) error) (Detail, error) {
	return ls.Give(ctx, k, g, 0, edit)
}

// Give is Update that gives the link to another owner, too; 0: it keeps the one that it has. The link's
// figures go with it. What was counted for its owner so far stays with the former one, and later hits are
// the new one's. It also returns ErrOwnerGone.
func (ls *Links) Give(ctx context.Context, k index.Key, g Guard, owner uint32, edit func(*Record) error) (Detail, error) {
	var rec Record
	var detail Detail
	err := ls.rewrite(ctx, k, g, owner, func(old Record) (_ Mutation, err error) {
		if rec, err = ls.edited(&old, owner, edit); err != nil {
			return Mutation{}, err
		}
		changed := rec.Cold.Version != old.Cold.Version
		if changed && rec.Hot.MaxHits != 0 && old.Hot.MaxHits == 0 {
			if err := ls.countAtOnce(&old.Hot); err != nil {
				return Mutation{}, err
			}
		}
		if err := ls.hits.FoldNow(ctx); err != nil {
			return Mutation{}, err
		}
		if !changed {
			detail = ls.detail(&rec)
			return Mutation{}, errUnchanged
		}
		return Mutation{Hot: rec.Hot, Cold: rec.Cold, Before: &old, Cap: ls.changedCap(&old, &rec)}, nil
	}, func() { detail = ls.detail(&rec) })
	if err != nil && !errors.Is(err, errUnchanged) {
		return Detail{}, err
	}
	return detail, nil
}

// errUnchanged: an edit has changed nothing.
var errUnchanged = errors.New("nothing is changed")

// edited returns the link after edit, with the next version if edit has changed it, or owner has, which is 0
// if the link keeps its own.
func (ls *Links) edited(old *Record, owner uint32, edit func(*Record) error) (Record, error) {
	rec := *old
	rec.Cold.Tags = slices.Clone(old.Cold.Tags)
	if err := edit(&rec); err != nil {
		return Record{}, err
	}
	rec.Cold.keep(&old.Cold)
	rec.Hot.Key, rec.Hot.ID, rec.Hot.Owner = old.Hot.Key, old.Hot.ID, cmp.Or(owner, old.Hot.Owner)
	if err := rec.numberTargets(old); err != nil {
		return Record{}, err
	}
	if err := errors.Join(rec.normalize(), index.CheckOwner(rec.Hot.View(), rec.Hot.Owner)); err != nil {
		return Record{}, err
	}
	if rec.Hot != old.Hot || !rec.Cold.equal(&old.Cold) {
		ls.nextVersion(&rec)
	}
	return rec, nil
}

// nextVersion makes rec, which is as it was, the next version of its link.
func (ls *Links) nextVersion(rec *Record) {
	rec.Cold.Version++
	rec.Cold.UpdatedAtMs = max(ls.now().UnixMilli(), rec.Cold.UpdatedAtMs, rec.Cold.CreatedAtMs) // the clock may go back
}

// countAtOnce publishes an uncapped link such that hits raise its counter themselves, and look for
// a cap. Then the counter is complete after one fold, and a cap that is published later is exact.
//
// A redirect that resolved the link before this may count its hit at any time after. So each ring
// has LookAgain set before the fold, and a writer reads it after it has reserved its slot (Hit). If
// it is not set there, the slot was reserved before the fold read the heads up to which it folds,
// so the counter has the hit. If it is set, the writer looks the link up again. To look the link up
// in every hit would be simpler, but it would cost each hit a look-up. If the edit fails later, the
// link with the flag works as before.
func (ls *Links) countAtOnce(h *Hot) error {
	v := h.view()
	v.CountsAtOnce = true
	if err := ls.publish(&v); err != nil {
		return err
	}
	ls.hits.LookAgain()
	return nil
}

// Reset begins the figures of a link again: it has no hits and no visitors, in no window and no breakdown,
// and brings no hits along. A cap admits as many hits as it did at first. The link is the next version of
// itself. It is durable and visible when Reset returns. Errors: those of Update.
//
// A figure that is being counted cannot be taken back: it may be in a ring of the journal, in deltas, in
// the outbox of another node, or with a redirect that has resolved the link. All of these name the
// link by its id. So a reset gives the link a new id, in the same commit as everything else that it
// changes, and hits of the old one go on counting where nobody looks: each is before the reset or after
// it, also after a crash. The rows of the old id are purged like those of a link that was deleted at that
// moment (see purge.go). Rejected: to subtract what was counted, which no sketch can; and a mark in the
// journal, which every hit of every ring would have to be compared with.
//
// The owner's sums keep the link's figures, as they do when a link is deleted.
func (ls *Links) Reset(ctx context.Context, k index.Key, g Guard) (Detail, error) {
	var rec Record
	var detail Detail
	err := ls.rewrite(ctx, k, g, 0, func(old Record) (Mutation, error) {
		ids, err := ls.ids.take(ctx, 1)
		if err != nil {
			return Mutation{}, err
		}
		rec = old
		rec.Hot.ID, rec.Cold.ImportedHits, rec.Cold.ImportedAtMs = ids.next, 0, 0
		rec.Cold.Daily, rec.Cold.DailyOwner = "", 0
		ls.nextVersion(&rec)
		return Mutation{Hot: rec.Hot, Cold: rec.Cold, Before: &old, ResetAtMs: ls.now().UnixMilli(), Cap: ls.newCap(&rec)}, nil
	}, func() { detail = ls.detail(&rec) })
	if err != nil {
		return Detail{}, err
	}
	return detail, nil
}

const (
	// retagStep is how many links with a tag are read at once.
	retagStep = 1000

	// retagWriters is how many of them are changed at once, so that they share commits.
	retagWriters = 32
)

// A TagEdit changes a tag on all links of an owner that have it.
type TagEdit struct {
	Owner uint32
	Tag   string // in any case
	Name  string // what the tag is called from now on; empty: the links lose the tag
	Limit int    // after this many changes the call begins no further step; 0: no limit

	By *By // who asks, for the audit log
}

// TagEdited is what became of a TagEdit.
type TagEdited struct {
	Links    uint64 // that were changed
	Complete bool   // no link is left that had the tag when the call began
}

// EditTag changes a tag on the links that have it, the newest first. Each link is changed by an edit
// of its own, with its own version and entry in the audit log, so nothing is in memory but a page of
// codes, and a call that was cut off can be repeated: it goes on with the links that are left. A link
// that has the old and the new tag keeps one. When ctx is done, or after x.Limit links, the call ends
// with Complete == false. Errors: ErrNotFound if no link has the tag, InvalidError for Name, and those
// of Update; links that were changed before the error are in the result.
func (ls *Links) EditTag(ctx context.Context, x TagEdit) (done TagEdited, err error) {
	if x.Name != "" {
		if err := checkTag(x.Name); err != nil {
			return TagEdited{}, err
		}
	}
	r := retagging{links: ls, edit: x, folded: FoldTag(x.Tag)}
	found := false
	for below, before := uint64(0), uint64(0); ; {
		keys, next, err := r.step(ctx, below)
		switch {
		case err != nil:
			return r.done(false), err
		case !found && len(keys) == 0:
			return TagEdited{}, errs.ErrNotFound
		}
		all, err := r.change(ctx, keys)
		switch found = true; {
		case err != nil || !all:
			return r.done(false), err
		case next == 0 && r.changed.Load() == before:
			return r.done(true), nil
		case next == 0: // a link whose figures were reset meanwhile has a new id, above those that the walk has passed
			before = r.changed.Load()
		case x.Limit > 0 && r.changed.Load() >= uint64(x.Limit):
			return r.done(false), nil
		}
		below = next
	}
}

// checkTag returns an InvalidError for a text that no tag can be.
func checkTag(tag string) error {
	rec := Record{Hot: Hot{Target: "-"}, Cold: Cold{Tags: []string{tag}}}
	return rec.normalize()
}

// A retagging is a TagEdit under way.
type retagging struct {
	links   *Links
	edit    TagEdit
	folded  string
	changed atomic.Uint64
}

func (r *retagging) done(complete bool) TagEdited {
	return TagEdited{Links: r.changed.Load(), Complete: complete}
}

// step returns the keys of the next links that have the tag, and below which id it goes on; 0: these
// were the last. It keeps no view of the store open, because the changes of a step may take seconds.
func (r *retagging) step(ctx context.Context, below uint64) (keys []index.Key, next uint64, err error) {
	l, err := r.links.OpenList(ctx)
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	last, more, err := l.listing.Scan(ListRange{Owners: OneOwner(r.edit.Owner), Tag: r.edit.Tag, Below: below}, retagStep, func(_ uint64, k index.KeyView) bool {
		keys = append(keys, k.Own())
		return true
	})
	if err != nil {
		return nil, 0, fmt.Errorf("listing links with a tag: %w", err)
	}
	if more {
		next = last
	}
	return keys, next, nil
}

// change changes the links of a step. After an error, or when ctx is done, it begins no further one;
// all reports whether it got to the last.
func (r *retagging) change(ctx context.Context, keys []index.Key) (all bool, err error) {
	var next, ended atomic.Int64
	var failed atomic.Pointer[error]
	var writing sync.WaitGroup
	for range min(retagWriters, len(keys)) {
		writing.Go(func() {
			for failed.Load() == nil && ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= len(keys) {
					return
				}
				if err := r.changeLink(keys[i]); err != nil {
					failed.CompareAndSwap(nil, &err)
				}
				ended.Add(1)
			}
		})
	}
	writing.Wait()
	if err := failed.Load(); err != nil {
		return false, *err
	}
	return int(ended.Load()) == len(keys), nil
}

// changeLink changes a link, if it is still there and has the tag. The link's own deadline bounds it,
// and not the call's, so that a call that ends knows what it has done.
func (r *retagging) changeLink(k index.Key) error {
	changed := false
	guard := Guard{Owner: r.edit.Owner, By: r.edit.By}
	_, err := r.links.Update(context.Background(), k, guard, func(rec *Record) error {
		rec.Cold.Tags, changed = replacedTag(rec.Cold.Tags, r.folded, r.edit.Name)
		return nil
	})
	switch {
	case errors.Is(err, errs.ErrNotFound): // it was deleted meanwhile
		return nil
	case err == nil && changed:
		r.changed.Add(1)
	}
	return err
}
