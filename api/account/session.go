package account

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"time"

	"shunt/api/turnstile"
)

// Limits of the life of a session.
const (
	SessionLifetime = 30 * 24 * time.Hour // at most
	sessionIdle     = 7 * 24 * time.Hour  // after its last use, which is recorded once an hour
	sessionSlide    = time.Hour
)

const cookieSecretBytes = 32

// session is the stored part of a session; only the browser knows its cookie.
type session struct {
	UserID    uint32
	CreatedAt time.Time
}

// newCookie draws the text of a session's cookie.
func (a *Accounts) newCookie() (string, error) { return newSecret(a.random, cookieSecretBytes) }

// parseCookie returns the hash that is the key of a session, or ok == false if text cannot be one
// of our cookies.
func parseCookie(text string) (hash [sha256.Size]byte, ok bool) {
	return parseSecret(text, cookieSecretBytes)
}

// newSession returns the caller and the rows of a session of u that begins now.
func (a *Accounts) newSession(u User, cookie string) (Caller, [][2][]byte) {
	hash := sha256.Sum256([]byte(cookie))
	return callerInSession(u, hash), [][2][]byte{
		{sessionKey(hash[:]), encodeSession(session{u.ID, a.moment()}, hash[:])},
		{sessionIndexKey(u.ID, hash[:]), {}},
	}
}

func callerInSession(u User, hash [sha256.Size]byte) Caller {
	c := CallerOf(u)
	c.SessionID, c.credential = sessionID(hash), credential{bySession, hash}
	return c
}

// LogIn begins a session of the user with that e-mail address (or AdminName) if the password is
// right, and returns its cookie. A wrong password, an unknown user and a user without a password
// are all ErrUnauthorized, after the same work. A hash with outdated parameters is replaced. from
// is the caller whose share of hashing it takes. It returns ErrOverloaded if too many others are
// logging in.
func (a *Accounts) LogIn(from turnstile.Key, name, password string) (Caller, string, error) {
	u, outdated, err := a.userWithPassword(from, name, password)
	if err != nil {
		return Caller{}, "", err
	}
	rehashed := u.password
	if outdated {
		if rehashed, err = a.hashing.hash(from, password); err != nil {
			return Caller{}, "", err
		}
	}
	return a.beginSession(u, rehashed)
}

// AuthenticatePassword returns the user with that e-mail address as a caller if the password is right, for one request:
// it begins no session. Errors are those of LogIn.
func (a *Accounts) AuthenticatePassword(from turnstile.Key, name, password string) (Caller, error) {
	u, _, err := a.userWithPassword(from, name, password)
	if err != nil {
		return Caller{}, err
	}
	c := CallerOf(u.User)
	c.credential.kind = byPassword
	return c, nil
}

// userWithPassword returns the user with that e-mail address if the password is right.
func (a *Accounts) userWithPassword(from turnstile.Key, name, password string) (u userRecord, outdated bool, err error) {
	if u, err = a.userByName(name); err != nil && !errors.Is(err, ErrNoUser) {
		return userRecord{}, false, err
	}
	ok, outdated, err := a.hashing.matches(from, password, u.password)
	if err == nil && !ok {
		err = ErrUnauthorized
	}
	return u, outdated, err
}

// beginSession begins a session of checked, a user whose password was right, unless the password
// has changed since. It stores the password's new hash, if there is one.
func (a *Accounts) beginSession(checked userRecord, password string) (Caller, string, error) {
	cookie, err := a.newCookie()
	if err != nil {
		return Caller{}, "", err
	}
	lock, err := a.lockWrites()
	if err != nil {
		return Caller{}, "", err
	}
	defer lock.Unlock()
	u, err := a.readUser(checked.ID)
	if errors.Is(err, ErrNoUser) || err == nil && u.password != checked.password { // changed since
		return Caller{}, "", ErrUnauthorized
	}
	if err != nil {
		return Caller{}, "", err
	}
	dead, err := a.endedSessions(u.ID)
	if err != nil {
		return Caller{}, "", err
	}
	c, sets := a.newSession(u.User, cookie)
	if password != u.password {
		u.password = password
		sets = append(sets, [2][]byte{userKey(u.ID), encodeUser(u)})
	}
	if err := lock.write(sets, dead); err != nil {
		return Caller{}, "", fmt.Errorf("write session: %w", err)
	}
	return c, cookie, nil
}

// callerBySession returns the caller from memory if it is known, else from the table. It records a
// use if the last one is an hour ago.
func (a *Accounts) callerBySession(hash [sha256.Size]byte) (Caller, error) {
	now := a.now()
	known, t := a.callers.find(credential{bySession, hash}, now)
	if known != nil {
		return known.Caller, nil
	}
	known, err := a.readCallerBySession(hash, now)
	if err != nil {
		return Caller{}, err
	}
	if known.good(now) {
		a.callers.keep(known, t, now)
	} else {
		a.uses.note(hash, now)
	}
	return known.Caller, nil
}

// readCallerBySession returns the caller, known until a use must be recorded, which may be past, or
// until the session ends.
func (a *Accounts) readCallerBySession(hash [sha256.Size]byte, now time.Time) (*knownCaller, error) {
	s, kept, err := a.readSession(hash[:])
	if err != nil {
		return nil, err
	}
	if subtle.ConstantTimeCompare(kept, hash[:]) != 1 {
		return nil, ErrUnauthorized
	}
	used, err := a.sessionUse(s, hash)
	if err != nil {
		return nil, err
	}
	if s.expired(now, used) {
		return nil, ErrUnauthorized
	}
	u, err := a.callersUser(s.UserID)
	if err != nil {
		return nil, err
	}
	until, end := used.Add(sessionSlide), s.CreatedAt.Add(SessionLifetime)
	if end.Before(until) {
		until = end
	}
	return &knownCaller{Caller: callerInSession(u, hash), from: s.begins(), until: until}, nil
}

// sessionUse returns the recorded time of a session's last use. Its beginning counts as a use.
func (a *Accounts) sessionUse(s session, hash [sha256.Size]byte) (time.Time, error) {
	used, err := a.lastUse(hash)
	if used.Before(s.CreatedAt) {
		used = s.CreatedAt
	}
	return used, err
}

// expired reports whether a session is not valid now. One that begins later than now by its whole life is not, either:
// it was made while the clock was ahead, or the clock is behind, and it would be valid for as long as that is so.
func (s session) expired(now, used time.Time) bool {
	return now.Sub(s.CreatedAt) >= SessionLifetime || now.Sub(used) >= sessionIdle || now.Before(s.begins())
}

// begins returns when a session is valid at the earliest: a clock that goes back by less ends none.
func (s session) begins() time.Time { return s.CreatedAt.Add(-SessionLifetime) }

// endedSessions returns the rows of the session of the user that ends when one more begins and there are
// MaxSessions: of those that are not valid, or else of all, the one that has been idle longest. The others
// stay, since a clock that is wrong just now may be why they are not valid.
func (a *Accounts) endedSessions(user uint32) (dead [][]byte, err error) {
	var x oldest
	now := a.now()
	err = a.eachSession(user, func(s session, hash [sha256.Size]byte) error {
		used, err := a.sessionUse(s, hash)
		x.add(hash, used, s.expired(now, used))
		return err
	})
	if x.all >= MaxSessions {
		dead = sessionRows(user, x.hash)
	}
	return dead, err
}

// oldest finds the row that makes room: the oldest of those that are not valid, or else of all.
type oldest struct {
	all     int
	hash    [sha256.Size]byte
	at      time.Time
	invalid bool // hash is not valid
}

func (x *oldest) add(hash [sha256.Size]byte, at time.Time, invalid bool) {
	if x.all++; x.all == 1 || invalid && !x.invalid || invalid == x.invalid && at.Before(x.at) {
		x.hash, x.at, x.invalid = hash, at, invalid
	}
}

// EndSession ends the session of a cookie at once. It is not an error if there is none.
func (a *Accounts) EndSession(cookie string) error {
	hash, ok := parseCookie(cookie)
	if !ok {
		return nil
	}
	lock, err := a.lockWrites()
	if err != nil {
		return err
	}
	defer lock.Unlock()
	s, _, err := a.readSession(hash[:])
	if errors.Is(err, ErrUnauthorized) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := lock.write(nil, sessionRows(s.UserID, hash)); err != nil {
		return fmt.Errorf("end session: %w", err)
	}
	return nil
}

// otherSessions returns the rows of all sessions of user except the one of by, if it has one.
func (a *Accounts) otherSessions(user uint32, by Caller) (rows [][]byte, err error) {
	err = a.eachSession(user, func(_ session, hash [sha256.Size]byte) error {
		if by.credential != (credential{bySession, hash}) {
			rows = append(rows, sessionRows(user, hash)...)
		}
		return nil
	})
	return rows, err
}
