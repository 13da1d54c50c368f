package apps

import (
	"html/template"

	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/dashboard/visit"
)

const (
	// Path is the page of apps.
	Path = visit.Root + "tokens/apps"

	// NewLinkPath leads to the form for a new link. Bookmarks that people have made open it.
	NewLinkPath = visit.Root + "new"
)

// view is what the page shows.
type view struct {
	Made        *made // that was just set up; nil: none
	Apps        []app
	Key         string
	Host        string
	Bookmarklet template.URL
}

// A made is an app with its new token.
type made struct {
	Name, Token string
	setup
}

// List is GET /_/tokens/apps. After a token was made, the page shows once how its app is set up.
func List(r *visit.Request) error {
	v := view{Apps: apps, Key: r.FormKey(), Host: hostOf(r.BaseURL), Bookmarklet: bookmarklet(r.BaseURL, NewLinkPath)}
	for _, a := range apps {
		if token := r.TakeSecret(a.ID); token != "" {
			v.Made = &made{a.Name, token, a.setup(r.BaseURL, token)}
		}
	}
	return r.Show(fasthttp.StatusOK, "apps", "Apps", v)
}

// Make is POST /_/tokens/apps: it makes a token that creates links, for one app.
func Make(r *visit.Request) error {
	a := named(r.Sent("app"))
	if a == nil {
		return r.Missing()
	}
	return r.SeeOnce(func() (string, error) {
		draft := account.TokenDraft{Name: a.Name, Scopes: []account.Scope{account.LinksWrite}}
		_, text, err := r.Calls.IssueToken(r.Caller, draft)
		if err == nil {
			r.KeepSecret(a.ID, text)
		}
		return Path, err
	})
}
