package api

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/exchange"
	"shunt/api/jsonbody"
)

// tokenObject is a token in JSON.
type tokenObject struct {
	ID         string          `json:"id"`
	Owner      uint32          `json:"owner"`
	Begins     string          `json:"begins_with,omitempty"` // absent: not known
	Name       string          `json:"name"`
	Scopes     []account.Scope `json:"scopes"`
	CreatedAt  time.Time       `json:"created_at"`
	ExpiresAt  *time.Time      `json:"expires_at"`
	LastUsedAt *time.Time      `json:"last_used_at"`     // after a crash exact to the minute
	Token      string          `json:"token,omitempty"`  // only in the answer to POST /tokens
	Domains    []string        `json:"domains,omitzero"` // hosts; absent: the token is not limited
}

func (a *accountCalls) tokenObject(t account.Token) tokenObject {
	o := tokenObject{ID: t.ID, Owner: t.UserID, Begins: t.Begins, Name: t.Name, Scopes: t.Scopes, CreatedAt: t.CreatedAt, Domains: a.calls.HostsOf(t.Domains)}
	if !t.ExpiresAt.IsZero() {
		o.ExpiresAt = &t.ExpiresAt
	}
	if !t.LastUsedAt.IsZero() {
		o.LastUsedAt = &t.LastUsedAt
	}
	return o
}

// A tokenBody is the body of POST /tokens.
type tokenBody struct {
	account.TokenDraft
	hosts []string // of domains
}

// tokenFields are the fields of a tokenBody. Package account checks their values.
var tokenFields = jsonbody.NewFields(map[string]jsonbody.Reader[tokenBody]{
	"name": func(d *tokenBody, value json.RawMessage) (err error) {
		d.Name, err = jsonbody.String(value)
		return err
	},
	"scopes": func(d *tokenBody, value json.RawMessage) error {
		texts, err := jsonbody.Strings(value)
		d.Scopes = make([]account.Scope, len(texts))
		for i, text := range texts {
			d.Scopes[i] = account.Scope(text)
		}
		return err
	},
	"expires_at": func(d *tokenBody, value json.RawMessage) (err error) {
		d.ExpiresAt, err = jsonbody.Expiry(value)
		return err
	},
	"domains": func(d *tokenBody, value json.RawMessage) (err error) {
		d.hosts, err = jsonbody.Strings(value)
		return err
	},
})

// issueToken is POST /tokens.
func (a *accountCalls) issueToken(ctx *fasthttp.RequestCtx, caller account.Caller) error {
	if err := exchange.NoParameters(ctx); err != nil {
		return err
	}
	var body tokenBody
	sent, invalid, err := exchange.ReadBody(ctx, &body, tokenFields)
	switch {
	case err != nil:
		return err
	case len(invalid) > 0:
		return invalid
	case slices.Contains(sent, "domains"):
		if body.Domains, err = a.calls.DomainsNamed(caller, body.hosts); err != nil {
			return err
		}
	}
	t, text, err := a.calls.IssueToken(caller, body.TokenDraft)
	if err != nil {
		return err
	}
	o := a.tokenObject(t)
	o.Token = text
	ctx.Response.Header.Set("Location", "/api/v1/tokens/"+t.ID)
	return exchange.WriteJSON(ctx, fasthttp.StatusCreated, o)
}

// listTokens is GET /tokens. A user has at most account.MaxTokens live tokens, so the list has one
// page; that of all users has several.
func (a *accountCalls) listTokens(ctx *fasthttp.RequestCtx, caller account.Caller) error {
	q, err := a.calls.ParseTokens(caller, ctx.QueryArgs())
	if err != nil {
		return err
	}
	tokens, next, err := a.calls.Tokens(caller, q)
	if err != nil {
		return err
	}
	list := struct {
		Data       []tokenObject `json:"data"`
		NextCursor *string       `json:"next_cursor"`
	}{Data: make([]tokenObject, len(tokens))}
	if next != "" {
		list.NextCursor = &next
	}
	for i, t := range tokens {
		list.Data[i] = a.tokenObject(t)
	}
	return exchange.WriteJSON(ctx, fasthttp.StatusOK, list)
}

// revokeToken is DELETE /tokens/{id}.
func (a *accountCalls) revokeToken(ctx *fasthttp.RequestCtx, caller account.Caller) error {
	q, err := a.calls.ParseToken(caller, ctx.QueryArgs())
	if err != nil {
		return err
	}
	id, _ := ctx.UserValue("id").(string)
	if err := a.calls.RevokeToken(caller, q, id); err != nil {
		return err
	}
	ctx.SetStatusCode(fasthttp.StatusNoContent)
	return nil
}
