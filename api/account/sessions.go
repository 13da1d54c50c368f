package account

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"shunt/engine"
)

// Session describes a session of a user; only the browser knows its cookie.
type Session struct {
	ID         string // as Caller.SessionID
	CreatedAt  time.Time
	LastUsedAt time.Time // up to an hour late: a use is recorded once an hour
}

// Ends returns when the session ends if it is not used any more.
func (s Session) Ends() time.Time {
	idle, latest := s.LastUsedAt.Add(sessionIdle), s.CreatedAt.Add(SessionLifetime)
	if latest.Before(idle) {
		return latest
	}
	return idle
}

// sessionIDBytes make 16 hex digits. A user has at most MaxSessions sessions, so two of them have
// the same ID with a probability below 2^-54.
const sessionIDBytes = 8

// sessionID returns the public ID of the session with that hash. It is taken from a hash of the
// hash, so that it does not name the session's row.
func sessionID(hash [sha256.Size]byte) string {
	again := sha256.Sum256(hash[:])
	return hex.EncodeToString(again[:sessionIDBytes])
}

// ListSessions returns the sessions of user that have not expired, the most recently used first.
func (a *Accounts) ListSessions(user uint32) ([]Session, error) {
	sessions, now := []Session{}, a.now()
	err := a.eachSession(user, func(s session, hash [sha256.Size]byte) error {
		used, err := a.sessionUse(s, hash)
		if err == nil && !s.expired(now, used) {
			sessions = append(sessions, Session{sessionID(hash), s.CreatedAt, used})
		}
		return err
	})
	slices.SortStableFunc(sessions, func(s, t Session) int { return t.LastUsedAt.Compare(s.LastUsedAt) })
	return sessions, err
}

// EndSessionByID ends, for the caller by, the session of user with that ID at once. It is not an error if there is
// none.
func (a *Accounts) EndSessionByID(by Caller, user uint32, id string) error {
	return a.endSessions(by, user, func(hash [sha256.Size]byte) bool { return sessionID(hash) == id })
}

// EndSessions ends all sessions of user for the caller by, at once.
func (a *Accounts) EndSessions(by Caller, user uint32) error {
	return a.endSessions(by, user, func([sha256.Size]byte) bool { return true })
}

func (a *Accounts) endSessions(by Caller, user uint32, ends func(hash [sha256.Size]byte) bool) error {
	lock, err := a.lockWrites()
	if err != nil {
		return err
	}
	defer lock.Unlock()
	var rows [][]byte
	err = a.eachSession(user, func(_ session, hash [sha256.Size]byte) error {
		if ends(hash) {
			rows = append(rows, sessionRows(user, hash)...)
		}
		return nil
	})
	if err != nil || len(rows) == 0 {
		return err
	}
	lock.note(by, engine.SessionsEnded, user)
	if err := lock.write(nil, rows); err != nil {
		return fmt.Errorf("end sessions of user %d: %w", user, err)
	}
	return nil
}
