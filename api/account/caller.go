package account

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"slices"
	"time"
)

// Caller is the sender of a request: a user, and what the user may do with it.
type Caller struct {
	User      User
	Scopes    []Scope   // read-only: other requests have the same
	TokenID   string    // empty: not by token
	SessionID string    // empty: not by session
	Edge      string    // the name of the edge whose token it is; empty: it is no edge
	Domains   Domains   // what its user may use, and the token, too
	ExpiresAt time.Time // of the token; zero: never
	Origin    Origin    // of the request

	credential credential
	ofToken    Domains // of the token alone: those of a token that it makes are among them
}

// credential is the secret by which a caller was identified.
type credential struct {
	kind credentialKind
	hash [sha256.Size]byte // of the token or the cookie
}

type credentialKind uint8

const (
	byFolder credentialKind = iota // owns the data folder
	byToken
	bySession
	byPassword // sent with the request
)

// Has reports whether c has that scope. Admin does not include the other scopes.
func (c Caller) Has(scope Scope) bool { return slices.Contains(c.Scopes, scope) }

// ReadsAll reports whether c may read the links and figures of all users, as far as its scopes read at all.
func (c Caller) ReadsAll() bool { return c.User.Role == RoleViewer || c.Has(Admin) }

// CallerOf returns u with every scope that its role allows. It is for the owner of the data folder.
func CallerOf(u User) Caller { return Caller{User: u, Scopes: u.Role.scopes()}.limitTo(u.Domains) }

// Authenticate returns the caller that a token belongs to, or ErrUnauthorized. A failed attempt is
// not recorded.
func (a *Accounts) Authenticate(text string) (Caller, error) {
	hash, ok := parseToken(text)
	if !ok {
		return Caller{}, ErrUnauthorized
	}
	return a.callerByToken(hash)
}

// AuthenticateSession returns the caller that owns the session of a cookie, or ErrUnauthorized. A
// failed attempt is not recorded.
func (a *Accounts) AuthenticateSession(cookie string) (Caller, error) {
	hash, ok := parseCookie(cookie)
	if !ok {
		return Caller{}, ErrUnauthorized
	}
	return a.callerBySession(hash)
}

// Recheck returns c with the scopes that it still has, or ErrUnauthorized if its token was revoked,
// its session ended or its user deleted.
func (a *Accounts) Recheck(c Caller) (Caller, error) {
	origin, err := c.Origin, error(nil)
	switch c.credential.kind {
	case byToken:
		c, err = a.callerByToken(c.credential.hash)
	case bySession:
		c, err = a.callerBySession(c.credential.hash)
	default:
		c.User, err = a.callersUser(c.User.ID)
		c.Scopes, c.Domains = c.User.Role.limit(c.Scopes), Domains{}
		c = c.limitTo(c.User.Domains)
	}
	c.Origin = origin
	return c, err
}

// callerByToken returns the caller from memory if it is known, else from the table, and records the
// use.
func (a *Accounts) callerByToken(hash [sha256.Size]byte) (Caller, error) {
	now := a.now()
	known, t := a.callers.find(credential{byToken, hash}, now)
	if known == nil {
		var err error
		if known, err = a.readCallerByToken(hash, now); err != nil {
			return Caller{}, err
		}
		a.callers.keep(known, t, now)
	}
	a.uses.note(hash, now)
	return known.Caller, nil
}

func (a *Accounts) readCallerByToken(hash [sha256.Size]byte, now time.Time) (*knownCaller, error) {
	t, kept, err := a.readToken(hash[:])
	if err != nil {
		return nil, err
	}
	// The look-up compared the SHA-256 of the secret, in a time that may leak a part of the hash,
	// which is of no use to anybody. This comparison decides.
	if subtle.ConstantTimeCompare(kept, hash[:]) != 1 || t.expired(now) {
		return nil, ErrUnauthorized
	}
	u, err := a.callersUser(t.UserID)
	if err != nil {
		return nil, err
	}
	c := Caller{
		User: u, Scopes: u.Role.limitToken(t.Scopes), TokenID: t.ID, ExpiresAt: t.ExpiresAt, credential: credential{byToken, hash},
		ofToken: t.Domains,
	}.limitTo(u.Domains.And(t.Domains))
	if c.Has(Edge) {
		c.Edge = t.Name
	}
	return &knownCaller{Caller: c, until: t.ExpiresAt}, nil
}

// callersUser returns the user of that number, or ErrUnauthorized if the user is gone.
func (a *Accounts) callersUser(id uint32) (User, error) {
	u, err := a.callersRecord(id)
	return u.User, err
}

func (a *Accounts) callersRecord(id uint32) (userRecord, error) {
	u, err := a.readUser(id)
	if errors.Is(err, ErrNoUser) {
		err = ErrUnauthorized
	}
	return u, err
}
