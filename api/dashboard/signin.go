package dashboard

import (
	"errors"
	"net/url"

	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/dashboard/visit"
	"shunt/api/problem"
)

// signInView is what the page to sign in shows.
type signInView struct {
	Email string
	Next  string              // the path to go to, with its query
	Kept  []visit.HiddenField // what was typed into the form of that page
	Lost  bool                // that was too large to keep
	Error string
	Ended bool // a session has ended while the visitor was at work
	Out   bool // the visitor has just signed out everywhere
	New   bool // the first admin has no password yet
}

// signInPage is GET /_/sign-in.
func (r *request) signInPage() error {
	next := r.NextPage(r.Query("next")).String()
	if r.SignedIn() {
		return r.SeeOther(next)
	}
	return r.Show(fasthttp.StatusOK, "sign-in", "Sign in", signInView{
		Next: next, Out: r.Query("signed-out") != "", New: r.unused(),
	})
}

// unused reports whether the first admin has neither an address nor a password yet.
func (r *request) unused() bool {
	admin, err := r.Accounts.OldestAdmin()
	return errors.Is(err, account.ErrNoUser) || err == nil && !admin.HasPassword && admin.Name == account.AdminName
}

// signIn is POST /_/sign-in.
func (r *request) signIn() error {
	next := r.NextPage(r.Sent("next"))
	view := signInView{Email: r.Sent("email"), Next: next.String(), Kept: visit.KeptFields(r.Ctx.PostArgs())}
	caller, err := r.Sessions.LogIn(r.Ctx, view.Email, r.Sent("password"))
	if err != nil {
		return r.refuseSignIn(view, err)
	}
	r.Caller = caller
	if len(view.Kept) > 0 {
		r.KeepForm(next.Path, view.Kept)
	}
	return r.SeeOther(view.Next)
}

// refuseSignIn shows the form again with the reason.
func (r *request) refuseSignIn(view signInView, err error) error {
	p, known := problem.Of(err)
	if !known {
		return err
	}
	view.Error = visit.Sentence(p.Detail)
	if p.Kind.RetryAfter != "" {
		r.Ctx.Response.Header.Set("Retry-After", p.Kind.RetryAfter)
	}
	return r.Show(p.Kind.Status, "sign-in", "Sign in", view)
}

// signOut is POST /_/sign-out.
func (r *request) signOut() error {
	if err := r.Sessions.LogOut(r.Ctx); err != nil {
		return err
	}
	return r.SeeOther(Root + "sign-in")
}

// askToSignIn answers a request of somebody who is not signed in. A form that was sent is filled in
// again after signing in, but never sent by itself.
func (r *request) askToSignIn() error {
	if !r.Posts() {
		if r.fromElsewhere() {
			return r.Show(fasthttp.StatusOK, "continue", "One moment", r.Ctx.URI().RequestURI())
		}
		next := r.NextPage(string(r.Ctx.URI().RequestURI())).String()
		if next == Root {
			return r.SeeOther(Root + "sign-in")
		}
		return r.SeeOther(Root + "sign-in?next=" + url.QueryEscape(next))
	}
	view := signInView{Next: r.NextPage(r.FormPage()).String(), Ended: true}
	view.Kept, view.Lost = visit.PackForm(r.Ctx.PostArgs())
	return r.Show(fasthttp.StatusUnauthorized, "sign-in", "Sign in again", view)
}

// fromElsewhere reports whether a link on a page of another site was followed. Browsers then leave
// out the cookie of the session, because it is SameSite=Strict. They send it when a page of ours
// asks for the same address. Over plain HTTP browsers do not send Sec-Fetch-Site, so there the
// Referer decides.
func (r *request) fromElsewhere() bool {
	h := &r.Ctx.Request.Header
	if site := string(h.Peek("Sec-Fetch-Site")); site != "" {
		return site == "cross-site" && string(h.Peek("Sec-Fetch-Mode")) == "navigate"
	}
	referer, err := url.Parse(string(h.Referer()))
	return err == nil && referer.Host != "" && referer.Host != string(h.Host()) &&
		referer.RequestURI() != string(r.Ctx.URI().RequestURI()) // the page continue.html itself, at a name that a proxy hides
}
