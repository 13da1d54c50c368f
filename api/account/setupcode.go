package account

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"time"

	"shunt/api/turnstile"

	"shunt/engine"
)

// SetupCodeLifetime is how long a setup code can be used.
const SetupCodeLifetime = time.Hour

const setupCodeBytes = 16

// setupCode is the stored part of a setup code; only its holder knows its text.
type setupCode struct {
	UserID    uint32
	ExpiresAt time.Time
}

// NewSetupCode makes, for the caller by, a code with which the holder can set the user's password once, and returns its
// text, which nobody can read again. Older codes of the user stay valid; if there are
// MaxSetupCodes, the oldest ends. It returns ErrNoUser if there is no such user.
func (a *Accounts) NewSetupCode(by Caller, userID uint32) (code string, expires time.Time, err error) {
	if code, err = newSecret(a.random, setupCodeBytes); err != nil {
		return "", time.Time{}, err
	}
	lock, err := a.lockWrites()
	if err != nil {
		return "", time.Time{}, err
	}
	defer lock.Unlock()
	if _, err := a.readUser(userID); err != nil {
		return "", time.Time{}, err
	}
	dead, err := a.endedSetupCodes(userID)
	if err != nil {
		return "", time.Time{}, err
	}
	expires = a.moment().Add(SetupCodeLifetime)
	hash := sha256.Sum256([]byte(code))
	sets := [][2][]byte{
		{setupCodeKey(hash[:]), encodeSetupCode(setupCode{userID, expires}, hash[:])},
		{setupCodeIndexKey(userID, hash[:]), {}},
	}
	lock.note(by, engine.SetupLinkMade, userID)
	if err := lock.write(sets, dead); err != nil {
		return "", time.Time{}, fmt.Errorf("write setup code: %w", err)
	}
	return code, expires, nil
}

// endedSetupCodes returns the rows of the user's code that ends when one more is made and there are
// MaxSetupCodes: the oldest of those that are not valid, or else of all.
func (a *Accounts) endedSetupCodes(user uint32) (dead [][]byte, err error) {
	var x oldest
	now := a.now()
	err = a.eachSetupCode(user, func(s setupCode, hash [sha256.Size]byte) error {
		x.add(hash, s.ExpiresAt, s.expired(now))
		return nil
	})
	if x.all >= MaxSetupCodes {
		dead = setupCodeRows(user, x.hash)
	}
	return dead, err
}

// expired reports whether a code is not valid now. One that would be valid for more than twice as long as codes are is
// not: it was made while the clock was ahead, or the clock is behind.
func (s setupCode) expired(now time.Time) bool {
	return !now.Before(s.ExpiresAt) || s.ExpiresAt.Sub(now) > 2*SetupCodeLifetime
}

// LookUpSetupCode returns the user whose password can be set with code, or ErrNoSetupCode. It
// changes nothing: programs that preview links open addresses, too.
func (a *Accounts) LookUpSetupCode(code string) (User, error) {
	hash, ok := parseSecret(code, setupCodeBytes)
	if !ok {
		return User{}, ErrNoSetupCode
	}
	return a.userBySetupCode(hash)
}

func (a *Accounts) userBySetupCode(hash [sha256.Size]byte) (User, error) {
	s, kept, err := a.readSetupCode(hash[:])
	if err != nil {
		return User{}, err
	}
	if subtle.ConstantTimeCompare(kept, hash[:]) != 1 || s.expired(a.now()) {
		return User{}, ErrNoSetupCode
	}
	u, err := a.readUser(s.UserID)
	if errors.Is(err, ErrNoUser) {
		err = ErrNoSetupCode
	}
	return u.User, err
}

// UseSetupCode sets the password of the user that code is for, begins a session and returns its
// cookie. A user without an e-mail address, whose name is AdminName, gets email as the name; for
// others, email must be empty or the address of the user. All other sessions of the user end, and
// all setup codes. from is the caller whose share of hashing it takes. It does all of this or
// nothing; after engine.ErrOutcomeUnknown the password may be in force and the code be used up.
// Errors: ErrNoSetupCode; an engine.InvalidError or engine.FieldError of "email" or "password", after
// which the code can be used again; ErrOverloaded.
func (a *Accounts) UseSetupCode(from turnstile.Key, code, email, password string) (Caller, string, error) {
	hash, ok := parseSecret(code, setupCodeBytes)
	if !ok {
		return Caller{}, "", ErrNoSetupCode
	}
	u, err := a.userBySetupCode(hash)
	if err != nil {
		return Caller{}, "", err
	}
	edit, err := setupEdit(u, email, password)
	if err != nil {
		return Caller{}, "", err
	}
	cookie, err := a.newCookie()
	if err != nil {
		return Caller{}, "", err
	}
	var caller Caller
	_, err = a.edit(Caller{}, from, u.ID, edit, func(w *userWrite) error {
		now, err := a.userBySetupCode(hash)
		if err == nil && now.Name != u.Name { // an admin has changed it since
			err = fieldError("email", "changed", "is "+now.Name+" now; send the form again")
		}
		if err != nil {
			return err
		}
		w.action = engine.SetupLinkUsed
		var rows [][2][]byte
		caller, rows = a.newSession(w.new.User, cookie)
		w.sets = append(w.sets, rows...)
		return nil
	})
	if errors.Is(err, ErrNoUser) {
		err = ErrNoSetupCode
	}
	if err != nil {
		return Caller{}, "", err
	}
	return caller, cookie, nil
}

// setupEdit returns the change that UseSetupCode makes to u.
func setupEdit(u User, email, password string) (UserEdit, error) {
	edit := UserEdit{Password: &password}
	switch {
	case u.Name == AdminName:
		edit.Email = &email
	case email != "" && LoginName(email) != u.Name:
		return edit, fieldError("email", "fixed", "must be "+u.Name+"; only an admin can change it")
	}
	return edit, nil
}
