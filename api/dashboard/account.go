package dashboard

import (
	"github.com/valyala/fasthttp"

	"shunt/api/account"
)

// accountView is what the page of the visitor's own account shows.
type accountView struct {
	Name       string
	Admin      bool
	Sessions   []sessionView
	CurrentErr string
	NewErr     string
	Error      string
}

type sessionView struct {
	account.Session
	Current bool
}

// account is GET /_/account.
func (r *request) account() error { return r.showAccount(fasthttp.StatusOK, accountView{}) }

func (r *request) showAccount(status int, view accountView) error {
	sessions, err := r.accounts.ListSessions(r.caller.User.ID)
	if err != nil {
		return err
	}
	view.Name, view.Admin = r.caller.User.Name, r.admin()
	for _, s := range sessions {
		view.Sessions = append(view.Sessions, sessionView{s, s.ID == r.caller.SessionID})
	}
	return r.show(status, "account", "Account", view)
}

// changePassword is POST /_/account/password.
func (r *request) changePassword() error {
	err := r.sessions.ChangePassword(r.ctx, r.caller, r.sent("current-password"), r.sent("new-password"))
	if at, general, ok := fieldErrors(err, "current", "password"); err != nil && ok {
		return r.showAccount(statusOf(err), accountView{CurrentErr: sentence(at["current"]), NewErr: sentence(at["password"]), Error: sentence(general)})
	}
	if err != nil {
		return err
	}
	r.say("done", "Your password is changed. All other sessions have ended.")
	return r.seeOther(Root + "account")
}

// endSessions is POST /_/account/sessions: it ends the session that the form names, or all.
func (r *request) endSessions() error {
	id := r.sent("session")
	if id == "all" || id == r.caller.SessionID {
		return r.endOwnSession(id)
	}
	if err := r.accounts.EndSessionByID(r.caller, r.caller.User.ID, id); err != nil {
		return err
	}
	r.say("done", "The session has ended.")
	return r.seeOther(Root + "account")
}

// endOwnSession ends the session of the request, and with all every other one, too.
func (r *request) endOwnSession(id string) error {
	if id == "all" {
		if err := r.accounts.EndSessions(r.caller, r.caller.User.ID); err != nil {
			return err
		}
	}
	if err := r.sessions.LogOut(r.ctx); err != nil {
		return err
	}
	if id == "all" {
		return r.seeOther(Root + "sign-in?signed-out=everywhere")
	}
	return r.seeOther(Root + "sign-in")
}
