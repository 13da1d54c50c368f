package account

import (
	"slices"
	"strconv"
	"strings"

	"shunt/engine"
)

// Scope is a permission of a token.
type Scope string

const (
	LinksRead   Scope = "links:read"
	LinksWrite  Scope = "links:write"
	StatsRead   Scope = "stats:read"
	TokensWrite Scope = "tokens:write"
	Admin       Scope = "admin" // everything, of all users; only for users with RoleAdmin
)

// AllScopes are all scopes, in the order in which they are shown.
var AllScopes = []Scope{LinksRead, LinksWrite, StatsRead, TokensWrite, Admin}

func scopesText() string {
	texts := make([]string, len(AllScopes))
	for i, s := range AllScopes {
		texts[i] = string(s)
	}
	return strings.Join(texts, ", ")
}

// Role decides which scopes a user can hold.
type Role string

const (
	RoleAdmin  Role = "admin"
	RoleMember Role = "member"
)

// scopes returns every scope that a user of role r can hold.
func (r Role) scopes() []Scope {
	if r == RoleAdmin {
		return slices.Clone(AllScopes)
	}
	return withoutAdmin(AllScopes)
}

// limit returns the part of scopes that a user of role r can hold.
func (r Role) limit(scopes []Scope) []Scope {
	if r == RoleAdmin {
		return scopes
	}
	return withoutAdmin(scopes)
}

func withoutAdmin(scopes []Scope) []Scope {
	return slices.DeleteFunc(slices.Clone(scopes), func(s Scope) bool { return s == Admin })
}

// chooseScopes returns the scopes of a new token that maker asked for: a subset of maker's own, in
// the order of AllScopes, each once. If asked is nil, it returns all of maker's except Admin.
func chooseScopes(maker Caller, asked []Scope) ([]Scope, engine.InvalidError) {
	if asked == nil {
		return withoutAdmin(maker.Scopes), nil
	}
	var invalid engine.InvalidError
	for i, s := range asked {
		field := "scopes[" + strconv.Itoa(i) + "]"
		switch {
		case !slices.Contains(AllScopes, s):
			invalid = append(invalid, fieldError(field, "unknown", "must be one of "+scopesText()))
		case !maker.Has(s):
			invalid = append(invalid, fieldError(field, "exceeds", "must be a scope that you have yourself"))
		}
	}
	if len(asked) == 0 {
		invalid = append(invalid, fieldError("scopes", "required", "must name a scope"))
	}
	chosen := slices.DeleteFunc(slices.Clone(AllScopes), func(s Scope) bool { return !slices.Contains(asked, s) })
	return chosen, invalid
}

func fieldError(field, code, message string) engine.FieldError {
	return engine.FieldError{Field: field, Code: code, Message: message}
}
