package account

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"shunt/engine"
)

const (
	useInterval    = time.Minute // between two writes of last uses
	maxPendingUses = 1 << 16     // recorded and not written, about 6 MiB; further uses are not recorded
	usesPerWrite   = 1 << 10     // in one batch, for which other writers wait
)

// uses are the times of last use of tokens and sessions that are not written yet. Only uses of
// verified ones are recorded, so guesses cannot fill it.
type uses struct {
	mu      *sync.Mutex
	pending map[[sha256.Size]byte]time.Time // by hash
}

func newUses() uses { return uses{new(sync.Mutex), make(map[[sha256.Size]byte]time.Time)} }

// note records that a token or session was used. It costs a lock and a look-up, but no write.
func (u *uses) note(hash [sha256.Size]byte, at time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if _, known := u.pending[hash]; known || len(u.pending) < maxPendingUses {
		u.pending[hash] = at
	}
}

func (u *uses) of(hash [sha256.Size]byte) time.Time {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.pending[hash]
}

func (u *uses) copy() map[[sha256.Size]byte]time.Time {
	u.mu.Lock()
	defer u.mu.Unlock()
	return maps.Clone(u.pending)
}

// forget drops the written uses of hashes, except those with a later use.
func (u *uses) forget(hashes [][sha256.Size]byte, written map[[sha256.Size]byte]time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, hash := range hashes {
		if u.pending[hash].Equal(written[hash]) {
			delete(u.pending, hash)
		}
	}
}

// Run writes the last uses of tokens and sessions once a minute and when ctx ends, and counts the sessions. A crash
// loses at most a minute of them. It logs errors, and tries again to write the rest.
func (a *Accounts) Run(ctx context.Context, log *slog.Logger) error {
	a.countSessions(log)
	tick := time.NewTicker(useInterval)
	defer tick.Stop()
	for ended := false; !ended; {
		select {
		case <-tick.C:
			a.countSessions(log)
		case <-ctx.Done():
			ended = true
		}
		if err := a.WriteUses(); err != nil && !errors.Is(err, engine.ErrReadOnly) && !errors.Is(err, engine.ErrNotLeader) { // package storage logs the first
			log.Warn("the last uses of tokens could not be written; trying again", slog.Any("cause", err))
		}
	}
	return nil
}

// WriteUses writes the last uses of tokens and sessions that are not written yet, or sends them to the node
// that leads. Run calls it.
func (a *Accounts) WriteUses() error {
	pending := a.uses.copy()
	for hashes := range slices.Chunk(slices.Collect(maps.Keys(pending)), usesPerWrite) {
		err := a.writeUses(hashes, pending)
		if errors.Is(err, engine.ErrNotLeader) && a.sendUses != nil {
			err = a.shareUses(hashes, pending)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// writeUses writes the uses of hashes whose token or session still exists, and then forgets them.
func (a *Accounts) writeUses(hashes [][sha256.Size]byte, at map[[sha256.Size]byte]time.Time) error {
	lock, err := a.lockWrites()
	if err != nil {
		return err
	}
	defer lock.Unlock()
	sets := make([][2][]byte, 0, len(hashes))
	for _, hash := range hashes {
		live, err := a.hasHash(hash[:])
		if err != nil {
			return err
		}
		if live {
			sets = append(sets, [2][]byte{useKey(hash[:]), encodeUse(at[hash])})
		}
	}
	forget := func(written bool) {
		if written {
			a.uses.forget(hashes, at)
		}
	}
	if len(sets) == 0 {
		forget(true)
		return nil
	}
	if err := lock.writeThen(sets, nil, forget); err != nil {
		return fmt.Errorf("write last uses: %w", err)
	}
	return nil
}

// hasHash reports whether a token or a session has that hash.
func (a *Accounts) hasHash(hash []byte) (bool, error) {
	for _, key := range [][]byte{tokenKey(hash), sessionKey(hash)} {
		if value, err := a.table.Get(key); err != nil || value != nil {
			return value != nil, err
		}
	}
	return false, nil
}

// lastUse returns when the token or session was last used, zero if not known.
func (a *Accounts) lastUse(hash [sha256.Size]byte) (time.Time, error) {
	if at := a.uses.of(hash); !at.IsZero() {
		return at.UTC().Truncate(time.Millisecond), nil
	}
	value, err := a.table.Get(useKey(hash[:]))
	if err != nil || value == nil {
		return time.Time{}, err
	}
	return decodeUse(value)
}
