package engine

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"shunt/engine/index"
)

// Update edits a link: edit changes a copy of its record; its changes of code, id, owner, creation
// and version are ignored. If edit returns an error, Update returns it and changes nothing. The
// edit is durable and visible when Update returns. An edit that changes nothing writes nothing, and
// the link keeps its version. The hits returned are those of the moment at which the edit was
// published. So if it set a cap of n and returned h hits, at most max(n, h) will ever be admitted
// under it. Errors: ErrNotFound, ErrVersion, and those of Create.
func (e *Engine) Update(ctx context.Context, code string, g Guard, edit func(*Record) error) (Detail, error) {
	return e.Give(ctx, code, g, 0, edit)
}

// Give is Update that gives the link to another owner, too; 0: it keeps the one that it has. The link's
// figures go with it. What was counted for its owner so far stays with the former one, and later hits are
// the new one's. It also returns ErrOwnerGone.
func (e *Engine) Give(ctx context.Context, code string, g Guard, owner uint32, edit func(*Record) error) (Detail, error) {
	var rec Record
	var detail Detail
	err := e.rewrite(ctx, code, g, owner, func(old Record) (_ Mutation, err error) {
		if rec, err = e.edited(&old, owner, edit); err != nil {
			return Mutation{}, err
		}
		changed := rec.Cold.Version != old.Cold.Version
		if changed && rec.Hot.MaxHits != 0 && old.Hot.MaxHits == 0 {
			if err := e.countAtOnce(&old.Hot); err != nil {
				return Mutation{}, err
			}
		}
		if err := e.foldNow(ctx); err != nil {
			return Mutation{}, err
		}
		if !changed {
			detail = e.detail(&rec)
			return Mutation{}, errUnchanged
		}
		return Mutation{Hot: rec.Hot, Cold: rec.Cold, Before: &old, Cap: e.changedCap(&old, &rec)}, nil
	}, func() { detail = e.detail(&rec) })
	if err != nil && !errors.Is(err, errUnchanged) {
		return Detail{}, err
	}
	return detail, nil
}

// errUnchanged: an edit has changed nothing.
var errUnchanged = errors.New("nothing is changed")

// edited returns the link after edit, with the next version if edit has changed it, or owner has, which is 0
// if the link keeps its own.
func (e *Engine) edited(old *Record, owner uint32, edit func(*Record) error) (Record, error) {
	rec := *old
	rec.Cold.Tags = slices.Clone(old.Cold.Tags)
	if err := edit(&rec); err != nil {
		return Record{}, err
	}
	title, tags := rec.Cold.Title, rec.Cold.Tags
	rec.Cold = old.Cold
	rec.Cold.Title, rec.Cold.Tags = title, tags
	rec.Hot.Code, rec.Hot.ID, rec.Hot.Owner = old.Hot.Code, old.Hot.ID, cmp.Or(owner, old.Hot.Owner)
	if err := rec.normalize(); err != nil {
		return Record{}, err
	}
	if rec.Hot != old.Hot || title != old.Cold.Title || !slices.Equal(rec.Cold.Tags, old.Cold.Tags) {
		e.nextVersion(&rec)
	}
	return rec, nil
}

// nextVersion makes rec, which is as it was, the next version of its link.
func (e *Engine) nextVersion(rec *Record) {
	rec.Cold.Version++
	rec.Cold.UpdatedAtMs = max(e.now().UnixMilli(), rec.Cold.UpdatedAtMs, rec.Cold.CreatedAtMs) // the clock may go back
}

// capsGivenFolds is the number of folds during which writers look for a cap after one was given: a
// minute of the fold's ticks. A redirect spends microseconds between Resolve and Hit; one that the
// scheduler kept from running for a minute would be admitted in excess of the cap.
const capsGivenFolds = int32(time.Minute / foldInterval)

// countAtOnce publishes an uncapped link such that hits raise its counter themselves, and look for
// a cap. Then the counter is complete after one fold, and a cap that is published later is exact.
//
// A redirect that resolved the link before this may count its hit at any time after. So each ring
// has LookAgain set before the fold, and a writer reads it after it has reserved its slot (Hit). If
// it is not set there, the slot was reserved before the fold read the heads up to which it folds,
// so the counter has the hit. If it is set, the writer looks the link up again. To look the link up
// in every hit would be simpler, but it would cost each hit a look-up. If the edit fails later, the
// link with the flag works as before.
func (e *Engine) countAtOnce(h *Hot) error {
	v := h.view()
	v.Flags |= index.FlagCountsAtOnce
	if err := e.publish(&v); err != nil {
		return err
	}
	e.journal.LookAgain(capsGivenFolds)
	return nil
}

// foldNow folds every hit that was recorded before the call.
func (e *Engine) foldNow(ctx context.Context) error { return e.pending.foldTo(ctx, e.journal.Heads()) }
