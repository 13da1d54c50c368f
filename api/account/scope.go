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

	// Edge is the scope of a token for an edge, whose name is that of the token. It stands alone, and opens only the
	// calls of edges. No role has it: a session or another token gives no right to these calls.
	Edge Scope = "edge"
)

// AllScopes are all scopes that people and programs may have, in the order in which they are shown.
var AllScopes = []Scope{LinksRead, LinksWrite, StatsRead, TokensWrite, Admin}

func scopesText() string {
	texts := make([]string, len(AllScopes))
	for i, s := range AllScopes {
		texts[i] = string(s)
	}
	return strings.Join(append(texts, string(Edge)), ", ")
}

// Role decides which scopes a user can hold.
type Role string

const (
	RoleAdmin  Role = "admin"
	RoleMember Role = "member"
	RoleViewer Role = "viewer" // reads the links and figures of all, and changes only the own password, sessions and tokens
)

// Roles are all roles, in the order in which they are shown.
var Roles = []Role{RoleMember, RoleViewer, RoleAdmin}

// scopes returns every scope that a user of role r can hold. One of no known role holds none.
func (r Role) scopes() []Scope { return r.limit(slices.Clone(AllScopes)) }

// limit returns the part of scopes that a user of role r can hold.
func (r Role) limit(scopes []Scope) []Scope {
	switch r {
	case RoleAdmin:
		return scopes
	case RoleMember:
		return withoutAdmin(scopes)
	case RoleViewer:
		return onlyOf(scopes, LinksRead, StatsRead, TokensWrite)
	}
	return nil
}

// limitToken returns the part of scopes that a token of a user of role r can hold. A token of a viewer only reads, so
// that whoever finds it makes no other.
func (r Role) limitToken(scopes []Scope) []Scope {
	if scopes = r.limit(scopes); r == RoleViewer {
		return withoutScope(scopes, TokensWrite)
	}
	return scopes
}

// TokenScopes returns the scopes that a token of c may have, without Edge.
func (c Caller) TokenScopes() []Scope { return c.User.Role.limitToken(c.Scopes) }

// onlyOf returns those scopes that are among some: the same slice if all are.
func onlyOf(scopes []Scope, some ...Scope) []Scope {
	other := func(s Scope) bool { return !slices.Contains(some, s) }
	if !slices.ContainsFunc(scopes, other) {
		return scopes
	}
	return slices.DeleteFunc(slices.Clone(scopes), other)
}

// withoutAdmin returns scopes without those that only admins give.
func withoutAdmin(scopes []Scope) []Scope { return withoutScope(withoutScope(scopes, Admin), Edge) }

// withoutScope returns scopes without one: the same slice if it is not there.
func withoutScope(scopes []Scope, without Scope) []Scope {
	if !slices.Contains(scopes, without) {
		return scopes
	}
	return slices.DeleteFunc(slices.Clone(scopes), func(s Scope) bool { return s == without })
}

// chooseScopes returns the scopes of a new token that maker asked for: a subset of maker's own, in
// the order of AllScopes, each once; or Edge alone, if maker has Admin. If asked is nil, it returns all of
// maker's that a token may have, except Admin.
func chooseScopes(maker Caller, asked []Scope) ([]Scope, engine.InvalidError) {
	switch {
	case asked == nil:
		return withoutAdmin(maker.TokenScopes()), nil
	case slices.Contains(asked, Edge):
		return edgeScope(maker, asked)
	}
	var invalid engine.InvalidError
	for i, s := range asked {
		field := "scopes[" + strconv.Itoa(i) + "]"
		switch {
		case !slices.Contains(AllScopes, s):
			invalid = append(invalid, fieldError(field, "unknown", "must be one of "+scopesText()))
		case !maker.Has(s):
			invalid = append(invalid, fieldError(field, "exceeds", "must be a scope that you have yourself"))
		case !slices.Contains(maker.TokenScopes(), s):
			invalid = append(invalid, fieldError(field, "exceeds", "must be a scope that reads: the tokens of a viewer have no other"))
		}
	}
	if len(asked) == 0 {
		invalid = append(invalid, fieldError("scopes", "required", "must name a scope"))
	}
	chosen := slices.DeleteFunc(slices.Clone(AllScopes), func(s Scope) bool { return !slices.Contains(asked, s) })
	return chosen, invalid
}

// edgeScope is chooseScopes for a token of an edge.
func edgeScope(maker Caller, asked []Scope) ([]Scope, engine.InvalidError) {
	switch {
	case len(asked) > 1:
		return nil, engine.InvalidError{fieldError("scopes", "conflict", "the scope edge stands alone: a token of an edge opens nothing else")}
	case !maker.Has(Admin):
		return nil, engine.InvalidError{fieldError("scopes", "exceeds", "only admins make tokens for edges, with the scope admin")}
	}
	return []Scope{Edge}, nil
}

// maxEdgeNameBytes is the limit of a node's name, too.
const maxEdgeNameBytes = 63

// edgeNameProblem returns what is wrong with the name of an edge, or "".
func edgeNameProblem(name string) string {
	other := func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' }
	if name == "" || len(name) > maxEdgeNameBytes || strings.ContainsFunc(name, other) {
		return "the name of an edge must be 1 to 63 of a-z, 0-9 and -, such as frankfurt"
	}
	return ""
}

func fieldError(field, code, message string) engine.FieldError {
	return engine.FieldError{Field: field, Code: code, Message: message}
}
