package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/dashboard"
	"shunt/api/exchange"
	"shunt/api/jsonbody"
	"shunt/api/problem"
)

// SetupURL returns the address at which a person uses a setup code on the server of baseURL, which
// has no path.
func SetupURL(baseURL, code string) string { return baseURL + dashboard.SetupPath + code }

// PagesURL returns the address of the pages of the server of baseURL.
func PagesURL(baseURL string) string { return baseURL + dashboard.Root }

// localEndpoints are the rows that the socket of local commands has besides those of the API.
func (a *accountCalls) localEndpoints() []endpoint {
	return []endpoint{{"POST", "/setup-links", account.Admin, a.makeSetupLink, 0}}
}

// setupLinkRequest is the body of POST /setup-links.
type setupLinkRequest struct{ user uint32 }

var setupLinkFields = jsonbody.NewFields(map[string]jsonbody.Reader[setupLinkRequest]{
	"user": func(r *setupLinkRequest, value json.RawMessage) error {
		id, err := jsonbody.Int(value)
		if err == nil && (id < 1 || id > math.MaxUint32) {
			err = jsonbody.FieldError("", "range", "must be the number of a user")
		}
		r.user = uint32(id)
		return err
	},
})

// setupLinkObject is a setup link in JSON. It is shown only once.
type setupLinkObject struct {
	URL       string    `json:"url"`
	User      uint32    `json:"user"`
	ExpiresAt time.Time `json:"expires_at"`
}

// makeSetupLink is POST /setup-links {"user": id}. Without a user it is for the oldest admin, who is
// created if there is no user yet. Only the socket of local commands offers it: whoever opens the
// link signs in as the user, and only who owns the data folder may give that away.
func (a *accountCalls) makeSetupLink(ctx *fasthttp.RequestCtx, caller account.Caller) error {
	if err := exchange.NoParameters(ctx); err != nil {
		return err
	}
	if a.noDashboard {
		return problem.New(problem.NotImplemented, "this server has no pages (--no-dashboard), so nobody can sign in")
	}
	var r setupLinkRequest
	_, invalid, err := exchange.ReadBody(ctx, &r, setupLinkFields)
	if err == nil && len(invalid) > 0 {
		err = invalid
	}
	if err != nil {
		return err
	}
	if r.user == 0 {
		u, _, err := a.accounts.EnsureAdmin()
		if err != nil {
			return err
		}
		r.user = u.ID
	}
	code, expires, err := a.accounts.NewSetupCode(caller, r.user)
	if errors.Is(err, account.ErrNoUser) {
		err = jsonbody.FieldError("user", "unknown", fmt.Sprintf("there is no user %d", r.user))
	}
	if err != nil {
		return err
	}
	return exchange.WriteJSON(ctx, fasthttp.StatusCreated, setupLinkObject{SetupURL(a.baseURL, code), r.user, expires})
}
