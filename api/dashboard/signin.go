package dashboard

import (
	"errors"
	"log/slog"
	"net/url"

	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/dashboard/visit"
	"shunt/api/problem"
)

// signInView is what the page to sign in shows.
type signInView struct {
	Email string
	Next  string            // the path to go to, with its query
	Kept  []visit.Parameter // what was typed into the form of that page
	Lost  bool              // that was too large to keep
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
			return r.Show(fasthttp.StatusOK, "continue", "One moment", r.Here())
		}
		next := r.NextPage(r.Here()).String()
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
		referer.RequestURI() != r.Here() // the page continue.html itself, at a name that a proxy hides
}

// setupView is what the page of a setup link shows. The code stands in a hidden field: the form has
// no query.
type setupView struct {
	Code       string
	Name       string // of the user; empty: the page asks for an e-mail address
	Email      string // as typed
	EmailErr   string
	Password   string // the error of the password
	Error      string
	FirstToken bool // it makes a token
}

// setupPage is GET /_/setup. It does not use the code up, because programs that preview links open
// addresses, too.
func (r *request) setupPage() error {
	view, err := r.setupView(r.Query("code"))
	if err != nil {
		return r.refuseSetup(err)
	}
	return r.Show(fasthttp.StatusOK, "setup", "Choose a password", view)
}

func (r *request) setupView(code string) (view setupView, err error) {
	u, err := r.Sessions.LookUpSetup(r.Ctx, code)
	if err != nil {
		return view, err
	}
	view.Code = code
	if u.Name != account.AdminName {
		view.Name = u.Name
	}
	tokens, err := r.Accounts.ListTokens(u.ID)
	view.FirstToken = len(tokens) == 0
	return view, err
}

// setup is POST /_/setup: it sets the password and signs in. A user without a token gets one.
func (r *request) setup() error {
	code := r.Sent("code")
	view, err := r.setupView(code)
	if err != nil {
		return r.refuseSetupForm(err)
	}
	view.Email = r.Sent("email")
	caller, err := r.Sessions.SetUp(r.Ctx, code, view.Email, r.Sent("password"))
	if at, general, ok := visit.FieldErrors(err, "email", "password"); err != nil && ok && !errors.Is(err, account.ErrNoSetupCode) {
		view.EmailErr, view.Password, view.Error = visit.Sentence(at["email"]), visit.Sentence(at["password"]), visit.Sentence(general)
		return r.Show(visit.StatusOf(err), "setup", "Choose a password", view)
	}
	if err != nil {
		return r.refuseSetupForm(err)
	}
	r.Caller = caller
	if !view.FirstToken {
		r.Say("done", "Your password is set. All other sessions have ended.")
		return r.SeeOther(Root)
	}
	return r.makeFirstToken()
}

// firstTokenName is the name of the token that a new user gets.
const firstTokenName = "first"

// makeFirstToken makes a token for a new user, which the next page shows.
func (r *request) makeFirstToken() error {
	scopes := []account.Scope{account.LinksRead, account.StatsRead}
	if r.Edits() {
		scopes = append(scopes, account.LinksWrite)
	}
	_, text, err := r.Calls.IssueToken(r.Caller, account.TokenDraft{Name: firstTokenName, Scopes: scopes})
	if err != nil {
		r.Logger.Warn("the first token of a user could not be made", slog.Any("cause", err), r.Id())
		r.Say("warning", "Your password is set, but no token could be created. Create one here.")
		return r.SeeOther(Root + "tokens")
	}
	r.KeepSecret("token", text)
	return r.SeeOther(Root + "welcome")
}

// refuseSetupForm is refuseSetup for the form, which may have been sent twice.
func (r *request) refuseSetupForm(err error) error {
	if errors.Is(err, account.ErrNoSetupCode) && r.SignedIn() {
		return r.SeeOther(Root + "welcome")
	}
	return r.refuseSetup(err)
}

// refuseSetup shows why a setup link does not work.
func (r *request) refuseSetup(err error) error {
	if !errors.Is(err, account.ErrNoSetupCode) {
		return err
	}
	return r.Show(fasthttp.StatusNotFound, "setup-refused", "This link does not work", nil)
}

// welcomeView is what the page after the setup shows.
type welcomeView struct {
	Token   string // empty: it was shown before
	BaseURL string
	Creates bool // it may create links, as the visitor may
	Form    linkForm
}

// welcome is GET /_/welcome: the way to the first link, and the first token, once.
func (r *request) welcome() error {
	form, err := r.quickForm()
	if err != nil {
		return err
	}
	if r.Edits() {
		form.Fields["url"].Focus = true
	}
	return r.Show(fasthttp.StatusOK, "welcome", "Welcome", welcomeView{r.TakeSecret("token"), r.BaseURL, r.Edits(), form})
}
