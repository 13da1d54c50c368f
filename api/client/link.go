package client

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// A State is the state of a link at the moment.
type State string

// The states of a link.
const (
	StateActive    State = "active"
	StateScheduled State = "scheduled" // its start is to come, and until then it looks unknown to visitors
	StateExpired   State = "expired"
	StateExhausted State = "exhausted" // all hits of its cap are used up
	StateBlocked   State = "blocked"   // its target is on the block list
	StateDisabled  State = "disabled"  // its owner has switched it off
	StateDeleted   State = "deleted"   // it is in the trash: only a list that asks for this state has it
)

// A Query is what becomes of the query after the code of a link.
type Query string

// What becomes of a query.
const (
	QueryNone     Query = "none"     // it is not passed on
	QueryAppend   Query = "append"   // it is put after that of the target
	QueryOverride Query = "override" // the same, and a parameter of the target goes if the visitor sends one of its name
	QueryKeep     Query = "keep"     // the same, without the parameters whose names the target has
)

// A Rule sends the visitors that meet all of its conditions to a target of its own. Of several rules the first that
// matches counts.
type Rule struct {
	URL        string      `json:"url"`
	Conditions []Condition `json:"conditions"`       // one to eight
	Target     uint8       `json:"target,omitempty"` // the number of its target; the server gives it
}

// A Condition is what a Rule asks of a request. The reference at /_/docs has the types and what their values are.
type Condition struct {
	Type       string `json:"type"`      // such as device or language
	MatchKey   string `json:"match_key"` // of a parameter of the query: its name
	MatchValue string `json:"match_value"`
}

// MarshalJSON implements json.Marshaler. A text that is empty is null, as the server writes it.
func (c Condition) MarshalJSON() ([]byte, error) {
	fields := struct {
		Type       string  `json:"type"`
		MatchKey   *string `json:"match_key"`
		MatchValue *string `json:"match_value"`
	}{Type: c.Type}
	if c.MatchKey != "" {
		fields.MatchKey = &c.MatchKey
	}
	if c.MatchValue != "" {
		fields.MatchValue = &c.MatchValue
	}
	return json.Marshal(fields)
}

// A Share is a part of a split: its target gets Weight of the sum of all weights of the visitors.
type Share struct {
	URL    string `json:"url"`
	Weight int    `json:"weight"`           // 1 to 1000
	Target uint8  `json:"target,omitempty"` // the number of its target; the server gives it
}

// A Card is what chats and posts show of a link, in place of what its target says of itself.
type Card struct {
	Title       string `json:"title"`
	Description string `json:"description"`
	Image       string `json:"image"` // an address
}

// MarshalJSON implements json.Marshaler. A text that is empty is null, as the server writes it.
func (c Card) MarshalJSON() ([]byte, error) {
	fields := struct {
		Title       string  `json:"title"`
		Description *string `json:"description"`
		Image       *string `json:"image"`
	}{Title: c.Title}
	if c.Description != "" {
		fields.Description = &c.Description
	}
	if c.Image != "" {
		fields.Image = &c.Image
	}
	return json.Marshal(fields)
}

// A CardEdit says which parts of a card Update changes. One of which nothing is left is none.
type CardEdit struct {
	Title       Field[string] `json:"title,omitzero"`
	Description Field[string] `json:"description,omitzero"`
	Image       Field[string] `json:"image,omitzero"`
}

// A Warning is about a part of a link that has no effect.
type Warning struct {
	Field   string `json:"field"` // such as rules[0].conditions[1]
	Code    string `json:"code"`
	Message string `json:"message"`
}

// A Link is a short link.
type Link struct {
	Code           string    `json:"code"` // what follows the slash
	ShortURL       string    `json:"short_url"`
	Domain         string    `json:"domain,omitempty"` // a host; empty: the default domain
	URL            string    `json:"url"`              // the target
	RedirectStatus int       `json:"redirect_status"`
	State          State     `json:"state"`
	Owner          uint32    `json:"owner"` // a user's id
	CreatedAt      time.Time `json:"created_at"`
	UpdatedAt      time.Time `json:"updated_at"`
	DeletedAt      time.Time `json:"deleted_at,omitzero"`  // zero: it is not in the trash
	StartsAt       time.Time `json:"starts_at,omitzero"`   // zero: it has no start
	ExpiresAt      time.Time `json:"expires_at,omitzero"`  // zero: never
	ExpiredURL     string    `json:"expired_url,omitzero"` // where visitors are sent once it is expired or used up; empty: nowhere
	MaxHits        uint64    `json:"max_hits,omitzero"`    // 0: any number
	Title          string    `json:"title"`
	Note           string    `json:"note"` // for its owner
	Tags           []string  `json:"tags"`
	ForwardQuery   bool      `json:"forward_query"` // Query is not QueryNone
	Query          Query     `json:"query"`
	ForwardPath    bool      `json:"forward_path"` // what follows the code in the path is passed on
	Disabled       bool      `json:"disabled"`
	Rules          []Rule    `json:"rules,omitempty"`         // who is sent elsewhere than to URL
	Split          []Share   `json:"split,omitempty"`         // whom no rule sends, goes to one of these; bots go to URL
	HasPassword    bool      `json:"has_password,omitempty"`  // visitors must type one
	PasswordHash   string    `json:"password_hash,omitempty"` // in an export that asks for it
	Card           *Card     `json:"card,omitempty"`          // nil: none
	Warnings       []Warning `json:"warnings,omitempty"`      // of a link that was just made or changed
	Hits           uint64    `json:"hits"`
	// Daily has the hits by day, in an export that asks for them. They may be fewer than Hits: not all have a day.
	Daily []DayHits `json:"daily,omitempty"`
	// Unique is the number of different visitors; nil if it was not asked for.
	Unique *uint64 `json:"unique,omitempty"`
	// Version changes with every edit, but not with hits. It is set where one link was read, made
	// or edited, and 0 in lists.
	Version uint64 `json:"-"`
	// Raw is the object as it came.
	Raw json.RawMessage `json:"-"`
}

// DayHits are the hits of a day of the server's time zone.
type DayHits struct {
	Day  string `json:"day"` // such as 2026-03-01
	Hits uint64 `json:"hits"`
}

// UnmarshalJSON implements json.Unmarshaler.
func (l *Link) UnmarshalJSON(text []byte) error {
	type fields Link
	l.Raw = bytes.Clone(text)
	return json.Unmarshal(text, (*fields)(l))
}

// A Draft describes a new link. Only URL is required.
type Draft struct {
	URL            string    `json:"url"`
	Alias          string    `json:"alias,omitempty"`           // a chosen code; empty: a random one
	Reuse          bool      `json:"reuse,omitempty"`           // the same link that was made so before, if it is active
	Domain         string    `json:"domain,omitempty"`          // a host; empty: the default domain
	RedirectStatus int       `json:"redirect_status,omitempty"` // 301, 302, 307, 308; 0: 302
	StartsAt       time.Time `json:"starts_at,omitzero"`        // until then it looks unknown to visitors
	ExpiresAt      time.Time `json:"expires_at,omitzero"`
	ExpiredURL     string    `json:"expired_url,omitempty"` // where visitors are sent once it is expired or used up
	MaxHits        uint64    `json:"max_hits,omitempty"`
	Title          string    `json:"title,omitempty"`
	Note           string    `json:"note,omitempty"`
	Tags           []string  `json:"tags,omitempty"`
	ForwardQuery   bool      `json:"forward_query,omitempty"` // the same as QueryAppend
	Query          Query     `json:"query,omitempty"`         // empty: as ForwardQuery says
	ForwardPath    bool      `json:"forward_path,omitempty"`  // what follows the code in the path is passed on
	Disabled       bool      `json:"disabled,omitempty"`      // it does not redirect until an Edit resets this
	Rules          []Rule    `json:"rules,omitempty"`         // at most 32
	Split          []Share   `json:"split,omitempty"`         // 2 to 10
	Password       string    `json:"password,omitempty"`      // that visitors must type
	Card           *Card     `json:"card,omitempty"`          // what chats show of it
}

// An Edit says what Update changes: a JSON merge patch (RFC 7396). A field that is left out stays
// as it is.
//
//	client.Edit{Title: client.Set("Spring"), ExpiresAt: client.Reset[time.Time]()}
type Edit struct {
	URL            Field[string]    `json:"url,omitzero"` // cannot be Reset
	RedirectStatus Field[int]       `json:"redirect_status,omitzero"`
	StartsAt       Field[time.Time] `json:"starts_at,omitzero"`
	ExpiresAt      Field[time.Time] `json:"expires_at,omitzero"`
	ExpiredURL     Field[string]    `json:"expired_url,omitzero"`
	MaxHits        Field[uint64]    `json:"max_hits,omitzero"`
	Title          Field[string]    `json:"title,omitzero"`
	Note           Field[string]    `json:"note,omitzero"`
	Tags           Field[[]string]  `json:"tags,omitzero"` // all of them
	ForwardQuery   Field[bool]      `json:"forward_query,omitzero"`
	Query          Field[Query]     `json:"query,omitzero"` // with ForwardQuery, both must agree
	ForwardPath    Field[bool]      `json:"forward_path,omitzero"`
	Disabled       Field[bool]      `json:"disabled,omitzero"`
	Rules          Field[[]Rule]    `json:"rules,omitzero"` // all of them
	Split          Field[[]Share]   `json:"split,omitzero"` // all of it
	Password       Field[string]    `json:"password,omitzero"`
	Card           Field[CardEdit]  `json:"card,omitzero"`  // its parts
	Owner          Field[uint32]    `json:"owner,omitzero"` // another user's id; only admins may set it, and it cannot be Reset
}

// Shorten makes a link, which is on disk when it returns. If the caller already has a link with the
// draft's alias and the same fields, it returns that link; with other fields, ErrAliasTaken. With Reuse, it returns the
// newest active link that was made with Reuse, if every field that the draft sets is the same, and makes one otherwise.
func (c *Client) Shorten(ctx context.Context, draft Draft, options ...Option) (Link, error) {
	return c.askLink(ctx, call{method: http.MethodPost, path: "/shorten", body: draft, takes: creates}, options)
}

// Link reads a link, including Unique.
func (c *Client) Link(ctx context.Context, code string, options ...Option) (Link, error) {
	return c.askLink(ctx, call{method: http.MethodGet, path: linkPath(code), takes: whose}, options)
}

// Update changes the fields that edit names. An edit that changes nothing leaves Version as it is.
func (c *Client) Update(ctx context.Context, code string, edit Edit, options ...Option) (Link, error) {
	return c.askLink(ctx, call{
		method: http.MethodPatch, path: linkPath(code), body: edit, takes: whose | takesVersion,
	}, options)
}

// ResetFigures sets the figures of a link to zero: its hits and visitors, also in windows, breakdowns, and hits that
// were imported. A cap admits its hits once more. It is not repeated when its outcome is unknown.
func (c *Client) ResetFigures(ctx context.Context, code string, options ...Option) (Link, error) {
	return c.askLink(ctx, call{method: http.MethodPost, path: linkPath(code) + "/reset", takes: whose | takesVersion}, options)
}

// Delete moves a link to the trash of its owner, where it is for 30 days: see Restore. Its code stays taken for 90
// days, but its former owner may take it again, which purges the link in the trash.
func (c *Client) Delete(ctx context.Context, code string, options ...Option) error {
	_, err := c.do(ctx, call{method: http.MethodDelete, path: linkPath(code), takes: whose | takesVersion}, options, nil)
	return err
}

// Purge is Delete without the trash. It also deletes a link that is in the trash.
func (c *Client) Purge(ctx context.Context, code string, options ...Option) error {
	purge := url.Values{"purge": {"true"}}
	asked := call{method: http.MethodDelete, path: linkPath(code), query: purge, takes: whose | takesVersion}
	_, err := c.do(ctx, asked, options, nil)
	return err
}

// Restore takes a link out of the trash, with all its figures. Links with StateDeleted lists the trash. If the code was
// taken again meanwhile, the error is ErrAliasTaken; if the link is not in the trash, ErrNotFound.
func (c *Client) Restore(ctx context.Context, code string, options ...Option) (Link, error) {
	return c.askLink(ctx, call{method: http.MethodPost, path: linkPath(code) + "/restore", takes: whose | takesVersion}, options)
}

func linkPath(code string) string { return "/links/" + url.PathEscape(code) }

// askLink makes a call whose answer is a link.
func (c *Client) askLink(ctx context.Context, asked call, options []Option) (Link, error) {
	return ask[Link](ctx, c, asked, options)
}

// versionOf returns the version of the link in an answer, 0 if it has none.
func versionOf(header http.Header) uint64 {
	version, _ := strconv.ParseUint(strings.Trim(header.Get("ETag"), `"`), 10, 64)
	return version
}

// BulkResult is the result of a bulk.
type BulkResult struct {
	Created  int        `json:"created"`
	Existing int        `json:"existing"`
	Failed   int        `json:"failed"`
	Results  []BulkItem `json:"results"` // in the order of the drafts
}

// A BulkItem is the result of one draft: either a Link or a Problem.
type BulkItem struct {
	Index   int      `json:"index"`
	Status  int      `json:"status"` // the HTTP status that Shorten would have got
	Link    *Link    `json:"link"`
	Problem *Problem `json:"problem"`
}

// ShortenBulk makes up to 1,000 links in one durable commit. A refused draft does not affect the
// others, and is not an error; an error means that nothing was made, unless its outcome is unknown.
func (c *Client) ShortenBulk(ctx context.Context, drafts []Draft, options ...Option) (BulkResult, error) {
	if drafts == nil {
		drafts = []Draft{}
	}
	return ask[BulkResult](ctx, c, call{method: http.MethodPost, path: "/shorten/bulk", body: drafts, takes: creates}, options)
}

// ask makes a call whose answer is a T.
func ask[T any](ctx context.Context, c *Client, asked call, options []Option) (T, error) {
	var answer T
	if _, err := c.do(ctx, asked, options, &answer); err != nil {
		var none T
		return none, err
	}
	return answer, nil
}
