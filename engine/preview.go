package engine

import (
	"time"

	"shunt/engine/index"
)

// These calls are for previews. Anybody may cause them, so they are cheap: they lock no code and
// fold nothing.

// UsedUp reports whether l is capped and its hits have reached the cap.
func (e *Engine) UsedUp(l index.Link) bool {
	return l.Flags()&index.FlagCapped != 0 && (e.index.Hits(l.ID()) >= l.MaxHits() || e.caps.exists && e.caps.spent(l.ID(), l.MaxHits()))
}

// CreatedAt returns when the link that has code and id was made; ErrNotFound if it no longer
// exists. No edit changes that time, so an edit under way does not matter. It reads the store.
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
