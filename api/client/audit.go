package client

import (
	"bytes"
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// AuditQuery selects changes of the audit log. The zero query selects all.
type AuditQuery struct {
	Actor    string    // a user's number or e-mail address, or the id of a token
	Code     string    // of a link
	Domain   string    // a host: only changes of links there; empty, with a Code: the default domain
	From, To time.Time // half-open; zero: no bound
	PageSize int       // changes fetched at once, at most 1,000; 0: the server's default, 50
}

// An AuditEntry is a change: who made it, when, and what it changed.
type AuditEntry struct {
	ID        string          `json:"id"` // later changes have higher numbers
	At        time.Time       `json:"at"`
	Action    string          `json:"action"` // such as link.edited; the API's reference lists them
	Actor     AuditActor      `json:"actor"`
	Domain    string          `json:"domain,omitempty"`     // of that code; empty: the default one
	Code      string          `json:"code,omitempty"`       // of a link, or the first of several
	LastCode  string          `json:"last_code,omitempty"`  // of several links
	User      uint32          `json:"user,omitempty"`       // that was changed; 0: none
	TokenID   string          `json:"token_id,omitempty"`   // that was made or revoked
	Before    json.RawMessage `json:"before,omitempty"`     // the fields that changed, an object
	After     json.RawMessage `json:"after,omitempty"`      // the same
	Counts    *AuditCounts    `json:"counts,omitempty"`     // of several links
	RequestID string          `json:"request_id,omitempty"` // X-Request-Id of the answer
	Network   string          `json:"network,omitempty"`    // of the client, if the server keeps it
	// Raw is the object as it came.
	Raw json.RawMessage `json:"-"`
}

// An AuditActor is who made a change.
type AuditActor struct {
	User    uint32 `json:"user,omitempty"`  // 0: unknown
	Email   string `json:"email,omitempty"` // at that time
	Via     string `json:"via"`             // token, session, local, or none: a setup link, or a password that came with the request
	TokenID string `json:"token_id,omitempty"`
}

// AuditCounts says what became of the links of one request.
type AuditCounts struct {
	Created  uint32 `json:"created"`
	Existing uint32 `json:"existing"`
	Failed   uint32 `json:"failed"`
}

// UnmarshalJSON implements json.Unmarshaler.
func (e *AuditEntry) UnmarshalJSON(text []byte) error {
	type fields AuditEntry
	e.Raw = bytes.Clone(text)
	return json.Unmarshal(text, (*fields)(e))
}

// Audit lists changes, the newest first; it needs ScopeAdmin. It fetches a page when the consumer
// asks for its first entry, and stops when the consumer does. An error ends the list.
func (c *Client) Audit(ctx context.Context, q AuditQuery, options ...Option) iter.Seq2[AuditEntry, error] {
	query := make(url.Values)
	setGiven(query, "actor", q.Actor)
	setGiven(query, "code", q.Code)
	setGiven(query, "domain", q.Domain)
	for name, t := range map[string]time.Time{"from": q.From, "to": q.To} {
		if !t.IsZero() {
			query.Set(name, t.UTC().Format(time.RFC3339Nano))
		}
	}
	if q.PageSize != 0 {
		query.Set("limit", strconv.Itoa(q.PageSize))
	}
	return pages(func(cursor string) (list[AuditEntry], error) {
		query.Del("cursor")
		setGiven(query, "cursor", cursor)
		return ask[list[AuditEntry]](ctx, c, call{method: http.MethodGet, path: "/audit", query: query}, options)
	})
}
