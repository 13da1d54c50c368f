package engine

import (
	"time"

	"shunt/engine/index"
)

// What a preview needs to know of a link, at a cost that anybody may cause: no code is locked and nothing is folded.

// UsedUp tells whether l is capped and its hits are used up.
func (e *Engine) UsedUp(l index.Link) bool {
	return l.Flags()&index.FlagCapped != 0 && e.index.Hits(l.ID()) >= l.MaxHits()
}

// CreatedAt returns when the link of code that has id was made; ErrNotFound if it is there no longer. No edit changes that time,
// so an edit under way does not matter. It reads the store.
func (e *Engine) CreatedAt(code string, id uint64) (time.Time, error) {
	rec, err := e.readLive(code)
	if err != nil {
		return time.Time{}, err
	}
	if rec.Hot.ID != id {
		return time.Time{}, ErrNotFound
	}
	return time.UnixMilli(rec.Cold.CreatedAtMs).UTC(), nil
}
