package engine

import "context"

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
func (e *Engine) Reset(ctx context.Context, code string, g Guard) (Detail, error) {
	var rec Record
	var detail Detail
	err := e.rewrite(ctx, code, g, 0, func(old Record) (Mutation, error) {
		ids, err := e.ids.take(ctx, 1)
		if err != nil {
			return Mutation{}, err
		}
		rec = old
		rec.Hot.ID, rec.Cold.ImportedHits, rec.Cold.ImportedAtMs = ids.next, 0, 0
		e.nextVersion(&rec)
		return Mutation{Hot: rec.Hot, Cold: rec.Cold, Before: &old, ResetAtMs: e.now().UnixMilli(), Cap: e.newCap(&rec)}, nil
	}, func() { detail = e.detail(&rec) })
	if err != nil {
		return Detail{}, err
	}
	return detail, nil
}
