package link

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"shunt/engine/index"
	"shunt/engine/internal/errs"
)

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
