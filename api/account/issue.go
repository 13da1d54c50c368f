package account

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"time"

	"shunt/engine"
)

// Token describes a token; only its holder knows its text.
type Token struct {
	ID         string
	UserID     uint32
	Name       string
	Scopes     []Scope
	Domains    Domains // of those of its user
	CreatedAt  time.Time
	ExpiresAt  time.Time // zero: never
	LastUsedAt time.Time // zero: never, or not known; set by ListTokens only
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
