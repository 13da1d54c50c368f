package client

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"
)

// A Scope is what a token may be used for.
type Scope string

// The scopes.
const (
	ScopeLinksRead   Scope = "links:read"
	ScopeLinksWrite  Scope = "links:write"
	ScopeStatsRead   Scope = "stats:read"
	ScopeTokensWrite Scope = "tokens:write"
	ScopeAdmin       Scope = "admin" // everything, of all users; only for users with RoleAdmin
	ScopeEdge        Scope = "edge"  // of a token for an edge, whose name is that of the token; it stands alone
)

// A Role decides which scopes a user can hold.
type Role string

// The roles.
const (
	RoleAdmin  Role = "admin"
	RoleMember Role = "member"
	RoleViewer Role = "viewer" // reads the links and figures of all, and changes none
)

// A Token is an API token of the caller. Its secret is shown only once, by IssueToken.
type Token struct {
	ID         string    `json:"id"`
	Owner      uint32    `json:"owner"`       // the number of its user
	BeginsWith string    `json:"begins_with"` // the first characters of its text; empty: not known
	Name       string    `json:"name"`
	Scopes     []Scope   `json:"scopes"`
	Domains    []string  `json:"domains"` // the only hosts that it may use; nil: no limit
	CreatedAt  time.Time `json:"created_at"`
	ExpiresAt  time.Time `json:"expires_at,omitzero"`   // zero: never
	LastUsedAt time.Time `json:"last_used_at,omitzero"` // zero: never
	// Raw is the object as it came.
	Raw json.RawMessage `json:"-"`
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *Token) UnmarshalJSON(text []byte) error {
	type fields Token
	t.Raw = bytes.Clone(text)
	return json.Unmarshal(text, (*fields)(t))
}

// A TokenDraft describes a new token. Only Name is required.
type TokenDraft struct {
	Name      string    `json:"name"`
	Scopes    []Scope   `json:"scopes,omitempty"`    // a subset of the caller's, or ScopeEdge; empty: all of the caller's except ScopeAdmin
	Domains   []string  `json:"domains,omitempty"`   // a subset of the caller's, by host; empty: those of the caller
	ExpiresAt time.Time `json:"expires_at,omitzero"` // no later than the caller's token
}

// An IssuedToken is a new token.
type IssuedToken struct {
	Token
	Secret string // the token's text, for New; the server shows it only this once
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *IssuedToken) UnmarshalJSON(text []byte) error {
	if err := json.Unmarshal(text, &t.Token); err != nil {
		return err
	}
	secret := struct{ Token string }{}
	err := json.Unmarshal(text, &secret)
	t.Secret = secret.Token
	return err
}

// Tokens lists the caller's tokens, the oldest first. With Owner, they are those of another user, with AnyOwner those
// of all users, by user: these make a call for each thousand.
func (c *Client) Tokens(ctx context.Context, options ...Option) (tokens []Token, err error) {
	query := make(url.Values)
	if slices.Contains(options, AnyOwner()) {
		query.Set("limit", strconv.Itoa(maxPage))
	}
	for t, err := range pages(func(cursor string) (list[Token], error) {
		setGiven(query, "cursor", cursor)
		return ask[list[Token]](ctx, c, call{method: http.MethodGet, path: "/tokens", query: query, takes: takesOwner}, options)
	}) {
		if err != nil {
			return nil, err
		}
		tokens = append(tokens, t)
	}
	return tokens, nil
}

// maxPage is the largest page of a list.
const maxPage = 1000

// IssueToken makes a token. After an unknown outcome there may be a token whose secret is lost:
// Tokens lists it.
func (c *Client) IssueToken(ctx context.Context, draft TokenDraft) (IssuedToken, error) {
	return ask[IssuedToken](ctx, c, call{method: http.MethodPost, path: "/tokens", body: draft}, nil)
}

// RevokeToken ends a token of the caller at once. With Owner or AnyOwner, it ends one of another user.
func (c *Client) RevokeToken(ctx context.Context, id string, options ...Option) error {
	_, err := c.do(ctx, call{method: http.MethodDelete, path: "/tokens/" + url.PathEscape(id), takes: takesOwner}, options, nil)
	return err
}

// Me describes the user and token of the client's calls.
type Me struct {
	ID      uint32   `json:"id"`
	Email   string   `json:"email"`
	Role    Role     `json:"role"`
	Scopes  []Scope  `json:"scopes"`
	TokenID string   `json:"token_id"` // empty: not a token
	BaseURL string   `json:"base_url"` // the origin of the server's short addresses
	Domains []string `json:"domains"`  // the only hosts that may be used; nil: no limit
}

// Me returns the user and token of the client's calls.
func (c *Client) Me(ctx context.Context) (Me, error) {
	return ask[Me](ctx, c, call{method: http.MethodGet, path: "/me"}, nil)
}

// A User owns links and tokens, and may log in.
type User struct {
	ID          uint32    `json:"id"`
	Email       string    `json:"email"`
	Role        Role      `json:"role"`
	HasPassword bool      `json:"has_password"`
	CreatedAt   time.Time `json:"created_at"`
	Domains     []string  `json:"domains"` // the only hosts that the user may use; nil: no limit
	// Raw is the object as it came.
	Raw json.RawMessage `json:"-"`
}

// UnmarshalJSON implements json.Unmarshaler.
func (u *User) UnmarshalJSON(text []byte) error {
	type fields User
	u.Raw = bytes.Clone(text)
	return json.Unmarshal(text, (*fields)(u))
}

// A UserDraft describes a new user. Only Email is required.
type UserDraft struct {
	Email    string   `json:"email"`
	Role     Role     `json:"role,omitempty"`     // empty: RoleMember
	Password string   `json:"password,omitempty"` // 8 to 1,024 bytes; empty: the user cannot log in
	Domains  []string `json:"domains,omitempty"`  // the only ones of a member, by host; empty: all
}

// A UserEdit says what EditUser changes. Only Domains can be Reset: then the user is not limited.
type UserEdit struct {
	Email    Field[string]   `json:"email,omitzero"`
	Role     Field[Role]     `json:"role,omitzero"`
	Password Field[string]   `json:"password,omitzero"`
	Domains  Field[[]string] `json:"domains,omitzero"`
}

// Users lists all users, the oldest first. It and the calls below need the scope admin.
func (c *Client) Users(ctx context.Context) ([]User, error) {
	users, err := ask[list[User]](ctx, c, call{method: http.MethodGet, path: "/users"}, nil)
	return users.Data, err
}

// AddUser makes a user.
func (c *Client) AddUser(ctx context.Context, draft UserDraft) (User, error) {
	return ask[User](ctx, c, call{method: http.MethodPost, path: "/users", body: draft}, nil)
}

// EditUser changes a user. A new password ends the user's sessions.
func (c *Client) EditUser(ctx context.Context, id uint32, edit UserEdit) (User, error) {
	return ask[User](ctx, c, call{method: http.MethodPatch, path: userPath(id), body: edit}, nil)
}

// RemoveUser removes a user, with all tokens and sessions. A user with links is removed only with
// KeepLinks or MoveLinksTo. Many links take several calls: until they are moved, RemoveUser fails with status 503, and
// repeats itself as Retry says.
func (c *Client) RemoveUser(ctx context.Context, id uint32, options ...Option) error {
	_, err := c.do(ctx, call{method: http.MethodDelete, path: userPath(id), takes: takesLinks}, options, nil)
	return err
}

func userPath(id uint32) string { return "/users/" + strconv.FormatUint(uint64(id), 10) }
