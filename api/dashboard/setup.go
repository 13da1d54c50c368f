package dashboard

import (
	"errors"
	"log/slog"

	"github.com/valyala/fasthttp"

	"shunt/api/account"
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
	view, err := r.setupView(r.query("code"))
	if err != nil {
		return r.refuseSetup(err)
	}
	return r.show(fasthttp.StatusOK, "setup", "Choose a password", view)
}

func (r *request) setupView(code string) (view setupView, err error) {
	u, err := r.sessions.LookUpSetup(r.ctx, code)
	if err != nil {
		return view, err
	}
	view.Code = code
	if u.Name != account.AdminName {
		view.Name = u.Name
	}
	tokens, err := r.accounts.ListTokens(u.ID)
	view.FirstToken = len(tokens) == 0
	return view, err
}

// setup is POST /_/setup: it sets the password and signs in. A user without a token gets one.
func (r *request) setup() error {
	code := r.sent("code")
	view, err := r.setupView(code)
	if err != nil {
		return r.refuseSetupForm(err)
	}
	view.Email = r.sent("email")
	caller, err := r.sessions.SetUp(r.ctx, code, view.Email, r.sent("password"))
	if at, general, ok := fieldErrors(err, "email", "password"); err != nil && ok && !errors.Is(err, account.ErrNoSetupCode) {
		view.EmailErr, view.Password, view.Error = sentence(at["email"]), sentence(at["password"]), sentence(general)
		return r.show(statusOf(err), "setup", "Choose a password", view)
	}
	if err != nil {
		return r.refuseSetupForm(err)
	}
	r.caller = caller
	if !view.FirstToken {
		r.say("done", "Your password is set. All other sessions have ended.")
		return r.seeOther(Root)
	}
	return r.makeFirstToken()
}

// firstTokenName is the name of the token that a new user gets.
const firstTokenName = "first"

// makeFirstToken makes a token for a new user, which the next page shows.
func (r *request) makeFirstToken() error {
	scopes := []account.Scope{account.LinksRead, account.LinksWrite, account.StatsRead}
	_, text, err := r.calls.IssueToken(r.caller, account.TokenDraft{Name: firstTokenName, Scopes: scopes})
	if err != nil {
		r.log.Warn("the first token of a user could not be made", slog.Any("cause", err), r.id())
		r.say("warning", "Your password is set, but no token could be created. Create one here.")
		return r.seeOther(Root + "tokens")
	}
	r.keepSecret("token", text)
	return r.seeOther(Root + "welcome")
}

// refuseSetupForm is refuseSetup for the form, which may have been sent twice.
func (r *request) refuseSetupForm(err error) error {
	if errors.Is(err, account.ErrNoSetupCode) && r.signedIn() {
		return r.seeOther(Root + "welcome")
	}
	return r.refuseSetup(err)
}

// refuseSetup shows why a setup link does not work.
func (r *request) refuseSetup(err error) error {
	if !errors.Is(err, account.ErrNoSetupCode) {
		return err
	}
	return r.show(fasthttp.StatusNotFound, "setup-refused", "This link does not work", nil)
}

// welcomeView is what the page after the setup shows.
type welcomeView struct {
	Token   string // empty: it was shown before
	BaseURL string
	Creates bool // it may create links
}

// welcome is GET /_/welcome: the first token, once.
func (r *request) welcome() error {
	return r.show(fasthttp.StatusOK, "welcome", "Welcome", welcomeView{r.takeSecret("token"), r.baseURL, true})
}
