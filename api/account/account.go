package account

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"
)

// Table keeps rows of bytes. storage.Store.Accounts returns the one in use.
// Any goroutine may call its methods at once.
type Table interface {
	// Get returns the value of key, nil if there is none. The caller may keep it.
	Get(key []byte) ([]byte, error)
	// Scan calls fn for each row whose key begins with prefix, in the order of keys, until fn returns false or an error.
	// Key and value are valid only during the call, which must not call the table.
	Scan(prefix []byte, fn func(key, value []byte) (more bool, err error)) error
	// Write does all sets (key, value) and deletes as one atomic batch that is durable when it returns nil.
	Write(sets [][2][]byte, deletes [][]byte) error
}

// MaxTokens is the largest number of tokens that a user can have.
const MaxTokens = 1000

// Limits of names, in bytes.
const (
	maxTokenNameBytes = 100
	maxUserNameBytes  = 254 // of an e-mail address (RFC 5321)
)

// AdminName is the name of the user that EnsureAdmin makes.
const AdminName = "admin"

var (
	// ErrUnauthorized: the token is malformed, unknown, revoked or expired, or its user is gone. Which, is not told.
	ErrUnauthorized = errors.New("unauthorized")
	// ErrNoUser: there is no such user.
	ErrNoUser = errors.New("no such user")
	// ErrNoToken: the user has no such token.
	ErrNoToken = errors.New("no such token")
)

// User is somebody who owns links.
type User struct {
	ID        uint32 // from 1; the owner number of links; never reused
	Name      string // what they log in with: an e-mail address, or AdminName
	Role      Role
	CreatedAt time.Time
}

// Token is what is known of a token; its text is known only to who holds it.
type Token struct {
	ID        string
	UserID    uint32
	Name      string
	Scopes    []Scope
	CreatedAt time.Time
	ExpiresAt time.Time // zero: never
}

func (t Token) expired(now time.Time) bool { return !t.ExpiresAt.IsZero() && !now.Before(t.ExpiresAt) }

// Caller is who a request comes from.
type Caller struct {
	User      User
	Scopes    []Scope
	TokenID   string    // empty: not by token
	ExpiresAt time.Time // of the token; zero: never
}

// Has tells whether c may do what scope stands for. Admin does not stand for the other scopes.
func (c Caller) Has(scope Scope) bool { return slices.Contains(c.Scopes, scope) }

// CallerOf returns u with every scope that its role allows: for who owns the data folder.
func CallerOf(u User) Caller { return Caller{User: u, Scopes: u.Role.scopes()} }

// Accounts are the users and tokens of a store.
type Accounts struct {
	table  Table
	now    func() time.Time
	random io.Reader

	writing sync.Mutex // held from looking to writing
}

// New returns the accounts in table. now may be nil: time.Now.
func New(table Table, now func() time.Time) *Accounts {
	if now == nil {
		now = time.Now
	}
	return &Accounts{table: table, now: now, random: rand.Reader}
}

// Authenticate returns who the holder of a token is, or ErrUnauthorized.
func (a *Accounts) Authenticate(text string) (Caller, error) {
	hash, ok := parseToken(text)
	if !ok {
		return Caller{}, ErrUnauthorized
	}
	t, kept, err := a.readToken(hash[:])
	if err != nil {
		return Caller{}, err
	}
	// The key was found by comparing, in whatever time that takes, the SHA-256 of a secret: what leaks is of no use. The
	// comparison that decides is this one.
	if subtle.ConstantTimeCompare(kept, hash[:]) != 1 || t.expired(a.now()) {
		return Caller{}, ErrUnauthorized
	}
	u, err := a.readUser(t.UserID)
	if errors.Is(err, ErrNoUser) {
		return Caller{}, ErrUnauthorized
	}
	if err != nil {
		return Caller{}, err
	}
	if u.Role != RoleAdmin { // demoted since
		t.Scopes = withoutAdmin(t.Scopes)
	}
	return Caller{User: u, Scopes: t.Scopes, TokenID: t.ID, ExpiresAt: t.ExpiresAt}, nil
}

// TokenDraft asks for a token.
type TokenDraft struct {
	Name      string
	Scopes    []Scope   // nil: all of the maker's but Admin
	ExpiresAt time.Time // zero: with the maker's token, else never
}

// IssueToken makes a token of maker's user and returns its text, which nobody can read again.
// Its scopes are a subset of maker's and it expires no later than maker's token; else it returns an engine.InvalidError, or an
// engine.FieldError if the user has MaxTokens live ones.
func (a *Accounts) IssueToken(maker Caller, d TokenDraft) (Token, string, error) {
	t, err := a.draftToken(maker, d)
	if err != nil {
		return Token{}, "", err
	}
	text, err := newToken(a.random)
	if err != nil {
		return Token{}, "", err
	}
	a.writing.Lock()
	defer a.writing.Unlock()
	dead, err := a.makeRoom(t.UserID)
	if err != nil {
		return Token{}, "", err
	}
	hash := sha256.Sum256([]byte(text))
	sets := [][2][]byte{
		{tokenKey(hash[:]), encodeToken(t, hash[:])},
		{tokenIndexKey(t.UserID, t.ID), hash[:]},
	}
	if err := a.table.Write(sets, dead); err != nil {
		return Token{}, "", fmt.Errorf("write token: %w", err)
	}
	return t, text, nil
}

func (a *Accounts) draftToken(maker Caller, d TokenDraft) (Token, error) {
	now := a.now()
	scopes, invalid := chooseScopes(maker, d.Scopes)
	if d.Name == "" {
		invalid = append(invalid, fieldError("name", "required", "is missing"))
	} else if problem := nameProblem(d.Name, maxTokenNameBytes); problem != "" {
		invalid = append(invalid, fieldError("name", "invalid", problem))
	}
	expires := d.ExpiresAt
	if expires.IsZero() {
		expires = maker.ExpiresAt
	}
	switch {
	case !expires.IsZero() && !expires.After(now):
		invalid = append(invalid, fieldError("expires_at", "past", "must be in the future"))
	case !maker.ExpiresAt.IsZero() && expires.After(maker.ExpiresAt):
		invalid = append(invalid, fieldError("expires_at", "exceeds", "must not be after your own token's expiry"))
	}
	if len(invalid) > 0 {
		return Token{}, invalid
	}
	return Token{
		ID: newTokenID(), UserID: maker.User.ID, Name: d.Name, Scopes: scopes,
		CreatedAt: now.UTC().Truncate(time.Millisecond), ExpiresAt: expires.UTC().Truncate(time.Millisecond),
	}, nil
}

// makeRoom returns the rows of the user's expired tokens, to be deleted, or an error if too many others are left.
func (a *Accounts) makeRoom(user uint32) (dead [][]byte, err error) {
	now, live := a.now(), 0
	err = a.eachToken(user, func(t Token, hash []byte) {
		if t.expired(now) {
			dead = append(dead, tokenKey(hash), tokenIndexKey(user, t.ID))
		} else {
			live++
		}
	})
	if err == nil && live >= MaxTokens {
		err = fieldError("", "too_many", fmt.Sprintf("you have %d tokens already; revoke some", live))
	}
	return dead, err
}

// ListTokens returns the user's tokens, the oldest first, expired ones included.
func (a *Accounts) ListTokens(user uint32) ([]Token, error) {
	tokens := []Token{}
	err := a.eachToken(user, func(t Token, _ []byte) { tokens = append(tokens, t) })
	slices.SortStableFunc(tokens, func(t, u Token) int { return t.CreatedAt.Compare(u.CreatedAt) })
	return tokens, err
}

// RevokeToken ends a token of user at once, or returns ErrNoToken.
func (a *Accounts) RevokeToken(user uint32, id string) error {
	a.writing.Lock()
	defer a.writing.Unlock()
	index := tokenIndexKey(user, id)
	hash, err := a.table.Get(index)
	if err != nil {
		return fmt.Errorf("read token %s: %w", id, err)
	}
	if hash == nil {
		return ErrNoToken
	}
	if err := a.table.Write(nil, [][]byte{index, tokenKey(hash)}); err != nil {
		return fmt.Errorf("revoke token %s: %w", id, err)
	}
	return nil
}
