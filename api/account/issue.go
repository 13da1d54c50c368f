package account

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"shunt/engine"
)

// Token describes a token; only its holder knows its text.
type Token struct {
	ID         string
	UserID     uint32
	Name       string
	Begins     string // the first characters of its text; empty: they were not kept
	Scopes     []Scope
	Domains    Domains // of those of its user
	CreatedAt  time.Time
	ExpiresAt  time.Time // zero: never
	LastUsedAt time.Time // zero: never, or not known; set only where tokens are listed
}

func (t Token) expired(now time.Time) bool { return !t.ExpiresAt.IsZero() && !now.Before(t.ExpiresAt) }

// TokenDraft describes a token to issue.
type TokenDraft struct {
	Name      string
	Scopes    []Scope   // nil: all of the maker's except Admin; Edge alone: a token for the edge of that name
	Domains   Domains   // all: those of the maker's token, or of the user
	ExpiresAt time.Time // zero: when the maker's token does, or never
}

// IssueToken creates a token of maker's user and returns its text, which nobody can read again. Its
// scopes and domains are subsets of maker's, and it expires no later than maker's token. Errors: an
// engine.InvalidError if the draft asks for more; an engine.FieldError if the user has MaxTokens
// live tokens; ErrUnauthorized if maker's own token or session is no longer valid.
func (a *Accounts) IssueToken(maker Caller, d TokenDraft) (Token, string, error) {
	text, err := newToken(a.random)
	if err != nil {
		return Token{}, "", err
	}
	lock, err := a.lockWrites()
	if err != nil {
		return Token{}, "", err
	}
	defer lock.Unlock()
	if maker, err = a.Recheck(maker); err != nil { // its credential may have been revoked a moment ago
		return Token{}, "", err
	}
	t, err := a.draftToken(maker, d)
	if err != nil {
		return Token{}, "", err
	}
	dead, err := a.expiredTokens(t.UserID)
	if err != nil {
		return Token{}, "", err
	}
	t.Begins = text[:ShownTokenBytes]
	hash := sha256.Sum256([]byte(text))
	sets := [][2][]byte{
		{tokenKey(hash[:]), encodeToken(t, hash[:])},
		{tokenIndexKey(t.UserID, t.ID), hash[:]},
	}
	lock.note(maker, engine.TokenIssued, t.UserID, auditOfToken(t)...).TokenID = t.ID
	if err := lock.write(sets, dead); err != nil {
		return Token{}, "", fmt.Errorf("write token: %w", err)
	}
	return t, text, nil
}

func (a *Accounts) draftToken(maker Caller, d TokenDraft) (Token, error) {
	now := a.moment()
	scopes, invalid := chooseScopes(maker, d.Scopes)
	if d.Name == "" {
		invalid = append(invalid, fieldError("name", "required", "is missing"))
	} else if problem := tokenNameProblem(d.Name, scopes); problem != "" {
		invalid = append(invalid, fieldError("name", "invalid", problem))
	}
	domains, err := chooseDomains(maker, d.Domains, scopes)
	invalid = appendInvalid(invalid, err)
	expires := d.ExpiresAt
	if expires.IsZero() {
		expires = maker.ExpiresAt
	}
	switch {
	case !expires.IsZero() && !expires.After(now):
		invalid = append(invalid, fieldError("expires_at", "past", "must be in the future"))
	case expires.UTC().Year() > 9999: // JSON has no such time
		invalid = append(invalid, fieldError("expires_at", "range", "must be before the year 10000"))
	case !maker.ExpiresAt.IsZero() && expires.After(maker.ExpiresAt):
		invalid = append(invalid, fieldError("expires_at", "exceeds", "must not be after your own token's expiry"))
	}
	if len(invalid) > 0 {
		return Token{}, invalid
	}
	return Token{
		ID: newTokenID(), UserID: maker.User.ID, Name: d.Name, Scopes: scopes, Domains: domains,
		CreatedAt: now, ExpiresAt: expires.UTC().Truncate(time.Millisecond),
	}, nil
}

// chooseDomains returns the domains of a new token with those scopes that maker asked for: of maker's own. If none were
// asked for, it is limited as maker's token is; as its user is, it is anyway.
func chooseDomains(maker Caller, asked Domains, scopes []Scope) (Domains, error) {
	switch {
	case !asked.Limited():
		return maker.ofToken, nil
	case slices.Contains(scopes, Admin) || slices.Contains(scopes, Edge):
		return asked, fieldError("domains", "conflict", "cannot be together with the scope admin or edge")
	case !asked.In(maker.Domains):
		return asked, fieldError("domains", "exceeds", "must be domains that you may use yourself")
	}
	return asked, asked.check()
}

// tokenNameProblem returns what is wrong with the name of a token with those scopes, or "".
func tokenNameProblem(name string, scopes []Scope) string {
	if slices.Contains(scopes, Edge) {
		return edgeNameProblem(name)
	}
	return nameProblem(name, maxTokenNameBytes)
}

// expiredTokens returns the rows of the user's token that expired first, for deletion, if there are
// MaxTokens, or an error if none of them has expired. The others stay, since a clock that is wrong just now may be
// why they have.
func (a *Accounts) expiredTokens(user uint32) (dead [][]byte, err error) {
	now, live, all := a.now(), 0, 0
	var first time.Time
	err = a.eachToken(user, func(t Token, hash [sha256.Size]byte) error {
		all++
		switch {
		case !t.expired(now):
			live++
		case dead == nil || t.ExpiresAt.Before(first):
			dead, first = tokenRows(user, t.ID, hash[:]), t.ExpiresAt
		}
		return nil
	})
	if all < MaxTokens {
		dead = nil
	}
	if err == nil && live >= MaxTokens {
		err = fieldError("", "too_many", fmt.Sprintf("you already have %d tokens; revoke some", live))
	}
	return dead, err
}

// TokensOf returns the tokens of the caller's user as ListTokens does, with the domains in which they are in force. A
// caller who is limited to domains sees no token that may use others.
func (a *Accounts) TokensOf(c Caller) ([]Token, error) {
	tokens, err := a.ListTokens(c.User.ID)
	for i := range tokens {
		tokens[i].Domains = tokens[i].Domains.And(c.User.Domains)
	}
	return slices.DeleteFunc(tokens, func(t Token) bool { return !t.Domains.In(c.Domains) }), err
}

// ListTokens returns the user's tokens, including expired ones, the oldest first.
func (a *Accounts) ListTokens(user uint32) ([]Token, error) {
	tokens := []Token{}
	err := a.eachToken(user, func(t Token, hash [sha256.Size]byte) (err error) {
		t.LastUsedAt, err = a.lastUse(hash)
		tokens = append(tokens, t)
		return err
	})
	slices.SortStableFunc(tokens, func(t, u Token) int { return t.CreatedAt.Compare(u.CreatedAt) })
	return tokens, err
}

// A TokenPlace is a place in the list of the tokens of all users: after the token of that user with that id.
type TokenPlace struct {
	User uint32
	ID   string
}

// maxTokensRead is how many tokens a page of those of all users looks at.
const maxTokensRead = 1000

// AllTokens returns the tokens of all users, expired ones too, after a place, at most limit: those whose text begins
// with begins, by user and id. more: next is the place where the list goes on. It reads at most maxTokensRead tokens,
// so a page may have fewer than there are.
func (a *Accounts) AllTokens(after TokenPlace, begins string, limit int) (tokens []Token, next TokenPlace, more bool, err error) {
	type found struct {
		at   TokenPlace
		hash [sha256.Size]byte
	}
	var all []found
	first, prefix := tokenIndexKey(after.User, after.ID), tokensOf(0)[:1]
	err = a.table.Scan(prefix, func(key, hash []byte) (bool, error) {
		switch {
		case bytes.Compare(key, first) <= 0:
			return true, nil
		case len(key) <= len(tokensOf(0)) || len(hash) != sha256.Size:
			return false, errFormat
		case len(all) == maxTokensRead:
			more = true
			return false, nil
		}
		user := binary.BigEndian.Uint32(key[1:])
		all = append(all, found{TokenPlace{user, string(key[len(tokensOf(0)):])}, [sha256.Size]byte(hash)})
		return true, nil
	})
	if err != nil {
		return nil, next, false, fmt.Errorf("read the tokens of all users: %w", err)
	}
	for i := range all {
		if len(tokens) == limit {
			return tokens, next, true, nil
		}
		t, err := a.listedToken(all[i].hash)
		switch {
		case errors.Is(err, ErrUnauthorized): // it is gone since the scan
		case err != nil:
			return nil, next, false, err
		case strings.HasPrefix(t.Begins, begins):
			tokens = append(tokens, t)
		}
		next = all[i].at
	}
	return tokens, next, more, nil
}

// listedToken returns the token of a hash with its last use, or ErrUnauthorized.
func (a *Accounts) listedToken(hash [sha256.Size]byte) (t Token, err error) {
	if t, _, err = a.readToken(hash[:]); err == nil {
		t.LastUsedAt, err = a.lastUse(hash)
	}
	return t, err
}

// TokenOfAnybody returns the token with that id, whoever's it is, or ErrNoToken. It looks through the ids of all
// tokens.
func (a *Accounts) TokenOfAnybody(id string) (t Token, err error) {
	var hash []byte
	err = a.table.Scan(tokensOf(0)[:1], func(key, value []byte) (bool, error) {
		if len(key) > len(tokensOf(0)) && string(key[len(tokensOf(0)):]) == id {
			hash = bytes.Clone(value)
		}
		return hash == nil, nil
	})
	switch {
	case err != nil:
		return t, fmt.Errorf("look for the token %s: %w", id, err)
	case len(hash) != sha256.Size:
		return t, ErrNoToken
	}
	if t, err = a.listedToken([sha256.Size]byte(hash)); errors.Is(err, ErrUnauthorized) {
		err = ErrNoToken
	}
	return t, err
}

// RevokeToken ends a token of user for the caller by, at once, or returns ErrNoToken: also to one who is limited to
// domains, for a token that may use others.
func (a *Accounts) RevokeToken(by Caller, user uint32, id string) error {
	lock, err := a.lockWrites()
	if err != nil {
		return err
	}
	defer lock.Unlock()
	hash, err := a.table.Get(tokenIndexKey(user, id))
	if err != nil {
		return fmt.Errorf("read token %s: %w", id, err)
	}
	if hash == nil {
		return ErrNoToken
	}
	if t, _, err := a.readToken(hash); err == nil && !t.Domains.And(by.User.Domains).In(by.Domains) {
		return ErrNoToken
	}
	lock.note(by, engine.TokenRevoked, user).TokenID = id
	if err := lock.write(nil, tokenRows(user, id, hash)); err != nil {
		return fmt.Errorf("revoke token %s: %w", id, err)
	}
	return nil
}

// EdgeTokens returns the tokens of edges that are valid, of all users, without their last use. It reads all tokens.
func (a *Accounts) EdgeTokens() (tokens []Token, err error) {
	now := a.now()
	err = a.table.Scan(tokenKey(nil), func(_, value []byte) (bool, error) {
		t, _, err := decodeToken(value)
		if err != nil {
			return false, fmt.Errorf("read a token: %w", err)
		}
		if slices.Contains(t.Scopes, Edge) && !t.expired(now) {
			tokens = append(tokens, t)
		}
		return true, nil
	})
	return tokens, err
}
