package engine

import (
	"context"
	"errors"
	"slices"
	"time"

	"shunt/engine/index"
)

// Update edits a link: edit changes a copy of its record, of which code, id, owner, creation and version stay as they
// are; an error of edit is returned and nothing happens. The edit is durable and visible when Update returns. One that
// leaves everything as it was writes nothing, and the link keeps its version. The hits returned are those of the moment at
// which the edit was published. So if it set a cap of n and returned h hits, at most max(n, h) will ever be admitted under it.
// Errors: ErrNotFound, ErrVersion, and those of Create.
func (e *Engine) Update(ctx context.Context, code string, g Guard, edit func(*Record) error) (Detail, error) {
	var rec Record
	var detail Detail
	err := e.rewrite(ctx, code, g, func(old Record) (_ Mutation, err error) {
		if rec, err = e.edited(&old, edit); err != nil {
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
		return Mutation{Hot: rec.Hot, Cold: rec.Cold, Before: &old}, nil
	}, func() { detail = e.detail(&rec) })
	if err != nil && !errors.Is(err, errUnchanged) {
		return Detail{}, err
	}
	return detail, nil
}

// errUnchanged: an edit has left everything as it was.
var errUnchanged = errors.New("nothing is changed")

// edited returns what edit makes of a link; of the next version if that differs.
func (e *Engine) edited(old *Record, edit func(*Record) error) (Record, error) {
	rec := *old
	rec.Cold.Tags = slices.Clone(old.Cold.Tags)
	if err := edit(&rec); err != nil {
		return Record{}, err
	}
	title, tags := rec.Cold.Title, rec.Cold.Tags
	rec.Cold = old.Cold
	rec.Cold.Title, rec.Cold.Tags = title, tags
	rec.Hot.Code, rec.Hot.ID, rec.Hot.Owner = old.Hot.Code, old.Hot.ID, old.Hot.Owner
	if err := rec.normalize(); err != nil {
		return Record{}, err
	}
	if rec.Hot != old.Hot || title != old.Cold.Title || !slices.Equal(tags, old.Cold.Tags) {
		rec.Cold.Version = old.Cold.Version + 1
		rec.Cold.UpdatedAtMs = max(e.now().UnixMilli(), old.Cold.UpdatedAtMs, old.Cold.CreatedAtMs) // the clock may go back
	}
	return rec, nil
}

// capsGivenFolds is for how many folds writers look for a cap after one was given: a minute of the fold's ticks. A redirect is
// microseconds between Resolve and Hit; one that the scheduler kept from running for so long would come on top of the cap.
const capsGivenFolds = int32(time.Minute / foldInterval)

// countAtOnce publishes an uncapped link such that hits raise its counter themselves, and look for a cap. After one fold the
// counter is then complete, and a cap that is published later is exact.
//
// A redirect that resolved the link before this may count its hit at any time after. So each ring has LookAgain set before the
// fold, and a writer looks at it after it has reserved its slot (Hit). If it is not set there, the slot was reserved before
// the heads were read up to which is folded, and the counter has the hit; if it is, the writer looks at the link again. To
// look at the link again in every hit would be simpler, and cost each a look-up. If the edit comes to nothing, the link
// stays as good.
func (e *Engine) countAtOnce(h *Hot) error {
	v := h.view()
	v.Flags |= index.FlagCountsAtOnce
	if err := e.publish(v); err != nil {
		return err
	}
	e.journal.LookAgain(capsGivenFolds)
	return nil
}

// foldNow folds every hit that was recorded before the call.
func (e *Engine) foldNow(ctx context.Context) error { return e.pending.foldTo(ctx, e.journal.Heads()) }
