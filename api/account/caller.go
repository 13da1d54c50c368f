package account

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"slices"
	"time"
)

// Caller is who a request comes from.
type Caller struct {
	User      User
	Scopes    []Scope
	TokenID   string    // empty: not by token
	ExpiresAt time.Time // of the token; zero: never

	credential credential
}

// credential is what a caller proved to be somebody with.
type credential struct {
	kind credentialKind
	hash [sha256.Size]byte // of the token or the cookie
}

type credentialKind uint8

const (
	byFolder credentialKind = iota // owns the data folder
	byToken
	bySession
)

// Has tells whether c may do what scope stands for. Admin does not stand for the other scopes.
func (c Caller) Has(scope Scope) bool { return slices.Contains(c.Scopes, scope) }

// CallerOf returns u with every scope that its role allows: for who owns the data folder.
func CallerOf(u User) Caller { return Caller{User: u, Scopes: u.Role.scopes()} }

// Authenticate returns who the holder of a token is, or ErrUnauthorized. What fails leaves nothing behind.
func (a *Accounts) Authenticate(text string) (Caller, error) {
	hash, ok := parseToken(text)
	if !ok {
		return Caller{}, ErrUnauthorized
	}
	return a.callerByToken(hash)
}

// AuthenticateSession returns whose session a cookie is of, or ErrUnauthorized. What fails leaves nothing behind.
func (a *Accounts) AuthenticateSession(cookie string) (Caller, error) {
	hash, ok := parseCookie(cookie)
	if !ok {
		return Caller{}, ErrUnauthorized
	}
	return a.callerBySession(hash)
}

// Recheck returns what is left of c now, or ErrUnauthorized if its token was revoked, its session ended, its user deleted.
func (a *Accounts) Recheck(c Caller) (Caller, error) {
	switch c.credential.kind {
	case byToken:
		return a.callerByToken(c.credential.hash)
	case bySession:
		return a.callerBySession(c.credential.hash)
	}
	u, err := a.callersUser(c.User.ID)
	c.User, c.Scopes = u, u.Role.limit(c.Scopes)
	return c, err
}

func (a *Accounts) callerByToken(hash [sha256.Size]byte) (Caller, error) {
	t, kept, err := a.readToken(hash[:])
	if err != nil {
		return Caller{}, err
	}
	// The key was found by comparing, in whatever time that takes, the SHA-256 of a secret: what leaks is of no use. The
	// comparison that decides is this one.
	now := a.now()
	if subtle.ConstantTimeCompare(kept, hash[:]) != 1 || t.expired(now) {
		return Caller{}, ErrUnauthorized
	}
	u, err := a.callersUser(t.UserID)
	if err != nil {
		return Caller{}, err
	}
	a.uses.note(hash, now)
	return Caller{
		User: u, Scopes: u.Role.limit(t.Scopes), TokenID: t.ID, ExpiresAt: t.ExpiresAt, credential: credential{byToken, hash},
	}, nil
}

// callersUser is User, but a user who is gone is ErrUnauthorized.
func (a *Accounts) callersUser(id uint32) (User, error) {
	u, err := a.readUser(id)
	if errors.Is(err, ErrNoUser) {
		err = ErrUnauthorized
	}
	return u.User, err
}
