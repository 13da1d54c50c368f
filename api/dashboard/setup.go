package dashboard

import (
	"errors"
	"log/slog"

	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/dashboard/visit"
)

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
	scopes := []account.Scope{account.LinksRead, account.LinksWrite, account.StatsRead}
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
	Creates bool // it may create links
	Form    linkForm
}

// welcome is GET /_/welcome: the way to the first link, and the first token, once.
func (r *request) welcome() error {
	form, err := r.newForm(linksPath, nil)
	if err != nil {
		return err
	}
	form.Fields["url"].Focus = true
	return r.Show(fasthttp.StatusOK, "welcome", "Welcome", welcomeView{r.TakeSecret("token"), r.BaseURL, true, form})
}
