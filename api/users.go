package api

import (
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/exchange"
	"shunt/api/jsonbody"
	"shunt/api/ops"
)

// userObject is a user in JSON. The password is never in it.
type userObject struct {
	ID          uint32       `json:"id"`
	Email       string       `json:"email"`
	Role        account.Role `json:"role"`
	HasPassword bool         `json:"has_password"`
	CreatedAt   time.Time    `json:"created_at"`
	Domains     []string     `json:"domains,omitzero"` // hosts; absent: the user is not limited
}

func (a *accountCalls) userObject(u account.User) userObject {
	return userObject{u.ID, u.Name, u.Role, u.HasPassword, u.CreatedAt, a.calls.HostsOf(u.Domains)}
}

// meObject is the caller in JSON.
type meObject struct {
	ID      uint32          `json:"id"`
	Email   string          `json:"email"`
	Role    account.Role    `json:"role"`
	Scopes  []account.Scope `json:"scopes"`
	TokenID string          `json:"token_id,omitempty"`
	BaseURL string          `json:"base_url"`         // of short addresses
	Domains []string        `json:"domains,omitzero"` // hosts; absent: the caller is not limited
}

func (a *accountCalls) meObject(c account.Caller) meObject {
	return meObject{c.User.ID, c.User.Name, c.User.Role, c.Scopes, c.TokenID, a.baseURL, a.calls.HostsOf(c.Domains)}
}

// readMe is GET /me.
func (a *accountCalls) readMe(ctx *fasthttp.RequestCtx, caller account.Caller) error {
	if err := exchange.NoParameters(ctx); err != nil {
		return err
	}
	return exchange.WriteJSON(ctx, fasthttp.StatusOK, a.meObject(caller))
}

// A userBody is the body of POST and PATCH /users.
type userBody struct {
	account.UserEdit
	hosts []string // of domains
}

// userFields are the fields of a userBody. Package account checks their values.
var userFields = jsonbody.NewFields(map[string]jsonbody.Reader[userBody]{
	"email": func(e *userBody, value json.RawMessage) error {
		email, err := jsonbody.String(value)
		e.Email = &email
		return err
	},
	"role": func(e *userBody, value json.RawMessage) error {
		role, err := jsonbody.String(value)
		e.Role = (*account.Role)(&role)
		return err
	},
	"password": func(e *userBody, value json.RawMessage) error {
		password, err := jsonbody.String(value)
		e.Password = &password
		return err
	},
	"domains": func(e *userBody, value json.RawMessage) (err error) {
		e.hosts, err = jsonbody.Strings(value)
		return err
	},
})

// readUser reads the body of POST and PATCH /users. If domains is null, the user is not limited.
func (a *accountCalls) readUser(ctx *fasthttp.RequestCtx, caller account.Caller) (account.UserEdit, error) {
	var body userBody
	if err := exchange.NoParameters(ctx); err != nil {
		return body.UserEdit, err
	}
	sent, null, invalid, err := exchange.ReadFields(ctx, &body, userFields)
	switch {
	case err != nil:
		return body.UserEdit, err
	case len(invalid) > 0:
		return body.UserEdit, invalid
	case slices.Contains(sent, "domains"):
		var domains account.Domains
		domains, err = a.calls.DomainsNamed(caller, body.hosts)
		body.Domains = &domains
	case slices.Contains(null, "domains"):
		body.Domains = &account.Domains{}
	}
	return body.UserEdit, err
}

// addUser is POST /users.
func (a *accountCalls) addUser(ctx *fasthttp.RequestCtx, caller account.Caller) error {
	asked, err := a.readUser(ctx, caller)
	if err != nil {
		return err
	}
	u, err := a.calls.AddUser(caller, asked)
	if err != nil {
		return err
	}
	ctx.Response.Header.Set("Location", "/api/v1/users/"+strconv.FormatUint(uint64(u.ID), 10))
	return exchange.WriteJSON(ctx, fasthttp.StatusCreated, a.userObject(u))
}

// listUsers is GET /users. There are at most account.MaxUsers, so the list has one page.
func (a *accountCalls) listUsers(ctx *fasthttp.RequestCtx, _ account.Caller) error {
	if err := exchange.NoParameters(ctx); err != nil {
		return err
	}
	users, err := a.accounts.ListUsers()
	if err != nil {
		return err
	}
	list := struct {
		Data []userObject `json:"data"`
	}{make([]userObject, len(users))}
	for i, u := range users {
		list.Data[i] = a.userObject(u)
	}
	return exchange.WriteJSON(ctx, fasthttp.StatusOK, list)
}

// editUser is PATCH /users/{id}. A field that is absent or null stays as it is, but for domains: null lifts the limit.
func (a *accountCalls) editUser(ctx *fasthttp.RequestCtx, caller account.Caller) error {
	edit, err := a.readUser(ctx, caller)
	if err != nil {
		return err
	}
	id, err := userAsked(ctx)
	if err != nil {
		return err
	}
	u, err := a.accounts.EditUser(caller, id, edit)
	if err != nil {
		return err
	}
	return exchange.WriteJSON(ctx, fasthttp.StatusOK, a.userObject(u))
}

// removeUser is DELETE /users/{id}. A user who has links is removed only if the caller says what becomes of
// them: links=keep, or move_links_to=ID.
func (a *accountCalls) removeUser(ctx *fasthttp.RequestCtx, caller account.Caller) error {
	links, err := ops.ParseLinksOfRemoved(ctx.QueryArgs())
	if err != nil {
		return err
	}
	id, err := userAsked(ctx)
	if err != nil {
		return err
	}
	if err := a.calls.RemoveUser(caller, id, links); err != nil {
		return err
	}
	ctx.SetStatusCode(fasthttp.StatusNoContent)
	return nil
}

// userAsked returns the {id} of the path.
func userAsked(ctx *fasthttp.RequestCtx) (uint32, error) {
	text, _ := ctx.UserValue("id").(string)
	id, err := strconv.ParseUint(text, 10, 32)
	if err != nil || id == 0 || strconv.FormatUint(id, 10) != text {
		return 0, account.ErrNoUser
	}
	return uint32(id), nil
}
