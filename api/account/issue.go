package account

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Token is what is known of a token; its text is known only to who holds it.
type Token struct {
	ID         string
	UserID     uint32
	Name       string
	Scopes     []Scope
	CreatedAt  time.Time
	ExpiresAt  time.Time // zero: never
	LastUsedAt time.Time // zero: never, as far as is known; set by ListTokens only
}

func (t Token) expired(now time.Time) bool { return !t.ExpiresAt.IsZero() && !now.Before(t.ExpiresAt) }

// TokenDraft asks for a token.
type TokenDraft struct {
	Name      string
	Scopes    []Scope   // nil: all of the maker's but Admin
	ExpiresAt time.Time // zero: with the maker's token, else never
}

// IssueToken makes a token of maker's user and returns its text, which nobody can read again.
// Its scopes are a subset of maker's and it expires no later than maker's token; else it returns an engine.InvalidError, or an
// engine.FieldError if the user has MaxTokens live ones. ErrUnauthorized: maker is nobody any more.
func (a *Accounts) IssueToken(maker Caller, d TokenDraft) (Token, string, error) {
	text, err := newToken(a.random)
	if err != nil {
		return Token{}, "", err
	}
	turn, err := a.takeTurn()
	if err != nil {
		return Token{}, "", err
	}
	defer turn.end()
	if maker, err = a.Recheck(maker); err != nil { // nobody makes a token with one that was revoked a moment ago
		return Token{}, "", err
	}
	t, err := a.draftToken(maker, d)
	if err != nil {
		return Token{}, "", err
	}
	dead, err := a.makeRoom(t.UserID)
	if err != nil {
		return Token{}, "", err
	}
	hash := sha256.Sum256([]byte(text))
	sets := [][2][]byte{
		{tokenKey(hash[:]), encodeToken(t, hash[:])},
		{tokenIndexKey(t.UserID, t.ID), hash[:]},
	}
	if err := turn.write(sets, dead); err != nil {
		return Token{}, "", fmt.Errorf("write token: %w", err)
	}
	return t, text, nil
}

func (a *Accounts) draftToken(maker Caller, d TokenDraft) (Token, error) {
	now := a.moment()
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
		CreatedAt: now, ExpiresAt: expires.UTC().Truncate(time.Millisecond),
	}, nil
}

// makeRoom returns the rows of the user's expired tokens, to be deleted, or an error if too many others are left.
func (a *Accounts) makeRoom(user uint32) (dead [][]byte, err error) {
	now, live := a.now(), 0
	err = a.eachToken(user, func(t Token, hash []byte) {
		if t.expired(now) {
			dead = append(dead, tokenRows(t, hash)...)
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
	var unread error
	err := a.eachToken(user, func(t Token, hash []byte) {
		used, err := a.lastUse([sha256.Size]byte(hash))
		t.LastUsedAt, unread = used, errors.Join(unread, err)
		tokens = append(tokens, t)
	})
	if err == nil {
		err = unread
	}
	slices.SortStableFunc(tokens, func(t, u Token) int { return t.CreatedAt.Compare(u.CreatedAt) })
	return tokens, err
}

// RevokeToken ends a token of user at once, or returns ErrNoToken.
func (a *Accounts) RevokeToken(user uint32, id string) error {
	turn, err := a.takeTurn()
	if err != nil {
		return err
	}
	defer turn.end()
	index := tokenIndexKey(user, id)
	hash, err := a.table.Get(index)
	if err != nil {
		return fmt.Errorf("read token %s: %w", id, err)
	}
	if hash == nil {
		return ErrNoToken
	}
	if err := turn.write(nil, [][]byte{index, tokenKey(hash), useKey(hash)}); err != nil {
		return fmt.Errorf("revoke token %s: %w", id, err)
	}
	return nil
}
