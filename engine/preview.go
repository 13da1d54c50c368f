package engine

import (
	"time"
)

// These calls are for previews. Anybody may cause them, so they are cheap: they lock no code and
// fold nothing.

// CreatedAt returns when the link that has code and id was made; ErrNotFound if it no longer
// exists. No edit changes that time, so an edit under way does not matter. It reads the store.
func (ls *Links) CreatedAt(code string, id uint64) (time.Time, error) {
	rec, err := ls.readLive(code)
	if err != nil {
		return time.Time{}, err
	}
	if rec.Hot.ID != id {
		return time.Time{}, ErrNotFound
	}
	return time.UnixMilli(rec.Cold.CreatedAtMs).UTC(), nil
}
