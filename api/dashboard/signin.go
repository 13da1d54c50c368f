package dashboard

import (
	"errors"
	"net/url"

	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/problem"
)

// signInView is what the page to sign in shows.
type signInView struct {
	Email string
	Next  string        // the path to go to, with its query
	Kept  []hiddenField // what was typed into the form of that page
	Lost  bool          // that was too large to keep
	Error string
	Ended bool // a session has ended while the visitor was at work
	Out   bool // the visitor has just signed out everywhere
	New   bool // the first admin has no password yet
}

// signInPage is GET /_/sign-in.
func (r *request) signInPage() error {
	next := r.nextPage(r.query("next")).String()
	if r.signedIn() {
		return r.seeOther(next)
	}
	return r.show(fasthttp.StatusOK, "sign-in", "Sign in", signInView{
		Next: next, Out: r.query("signed-out") != "", New: r.unused(),
	})
}

// unused reports whether the first admin has neither an address nor a password yet.
func (r *request) unused() bool {
	admin, err := r.accounts.OldestAdmin()
	return errors.Is(err, account.ErrNoUser) || err == nil && !admin.HasPassword && admin.Name == account.AdminName
}

// signIn is POST /_/sign-in.
func (r *request) signIn() error {
	next := r.nextPage(r.sent("next"))
	view := signInView{Email: r.sent("email"), Next: next.String(), Kept: keptFields(r.ctx.PostArgs())}
	caller, err := r.sessions.LogIn(r.ctx, view.Email, r.sent("password"))
	if err != nil {
		return r.refuseSignIn(view, err)
	}
	r.caller = caller
	if len(view.Kept) > 0 {
		r.keepForm(next.Path, view.Kept)
	}
	return r.seeOther(view.Next)
}

// refuseSignIn shows the form again with the reason.
func (r *request) refuseSignIn(view signInView, err error) error {
	p, known := problem.Of(err)
	if !known {
		return err
	}
	view.Error = sentence(p.Detail)
	if p.Kind.RetryAfter != "" {
		r.ctx.Response.Header.Set("Retry-After", p.Kind.RetryAfter)
	}
	return r.show(p.Kind.Status, "sign-in", "Sign in", view)
}

// signOut is POST /_/sign-out.
func (r *request) signOut() error {
	if err := r.sessions.LogOut(r.ctx); err != nil {
		return err
	}
	return r.seeOther(Root + "sign-in")
}

// askToSignIn answers a request of somebody who is not signed in. A form that was sent is filled in
// again after signing in, but never sent by itself.
func (r *request) askToSignIn() error {
	if !r.posts() {
		if r.fromElsewhere() {
			return r.show(fasthttp.StatusOK, "continue", "One moment", r.ctx.URI().RequestURI())
		}
		next := r.nextPage(string(r.ctx.URI().RequestURI())).String()
		if next == Root {
			return r.seeOther(Root + "sign-in")
		}
		return r.seeOther(Root + "sign-in?next=" + url.QueryEscape(next))
	}
	view := signInView{Next: r.nextPage(r.formPage()).String(), Ended: true}
	view.Kept, view.Lost = packForm(r.ctx.PostArgs())
	return r.show(fasthttp.StatusUnauthorized, "sign-in", "Sign in again", view)
}

// fromElsewhere reports whether a link on a page of another site was followed. Browsers then leave
// out the cookie of the session, because it is SameSite=Strict. They send it when a page of ours
// asks for the same address. Over plain HTTP browsers do not send Sec-Fetch-Site, so there the
// Referer decides.
func (r *request) fromElsewhere() bool {
	h := &r.ctx.Request.Header
	if site := string(h.Peek("Sec-Fetch-Site")); site != "" {
		return site == "cross-site" && string(h.Peek("Sec-Fetch-Mode")) == "navigate"
	}
	referer, err := url.Parse(string(h.Referer()))
	return err == nil && referer.Host != "" && referer.Host != string(h.Host()) &&
		referer.RequestURI() != string(r.ctx.URI().RequestURI()) // the page continue.html itself, at a name that a proxy hides
}
