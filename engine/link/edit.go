package link

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"shunt/engine/index"
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
