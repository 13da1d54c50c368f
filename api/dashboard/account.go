package dashboard

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/dashboard/visit"
	"shunt/api/problem"
	"shunt/api/words"
	"shunt/engine/zone"
)

// accountView is what the page of the visitor's own account shows.
type accountView struct {
	Name       string
	Role       account.Role
	Only       string // the limit to domains; empty: none
	Sessions   []sessionView
	CurrentErr string
	NewErr     string
	Error      string

	Chosen, ZoneErr string // the zone of days that this browser has chosen, or what was typed, and why it is none
	Days            string // the zone of days now, where hours are kept
	StoreDays       string // the zone of days of which only days are kept

	Languages []languageView
}

// A languageView is a language that can be chosen.
type languageView struct {
	Tag, Title string
	Chosen     bool
}

type sessionView struct {
	account.Session
	Current bool
}

// account is GET /_/account.
func (r *request) account() error { return r.showAccount(fasthttp.StatusOK, accountView{}) }

func (r *request) showAccount(status int, view accountView) error {
	if r.Caller.Domains.Limited() {
		view.Only = r.only(r.Caller.Domains)
	}
	sessions, err := r.Accounts.ListSessions(r.Caller.User.ID)
	if err != nil {
		return err
	}
	view.Name, view.Role = r.Caller.User.Name, r.Caller.User.Role
	if view.ZoneErr == "" {
		view.Chosen = r.Remembered(visit.ChosenZone)
	}
	view.StoreDays = r.Engine.Zone().Name()
	if view.Days = view.StoreDays; r.Zone() != nil {
		view.Days = r.Zone().Name()
	}
	chosen := r.Remembered(visit.Language)
	for _, c := range r.Languages.All() {
		view.Languages = append(view.Languages, languageView{c.Tag(), c.Title(), c.Tag() == chosen})
	}
	for _, s := range sessions {
		view.Sessions = append(view.Sessions, sessionView{s, s.ID == r.Caller.SessionID})
	}
	return r.Show(status, "account", "Account", view)
}

// changePassword is POST /_/account/password.
func (r *request) changePassword() error {
	err := r.Sessions.ChangePassword(r.Ctx, r.Caller, r.Sent("current-password"), r.Sent("new-password"))
	if at, general, ok := visit.FieldErrors(err, "current", "password"); err != nil && ok {
		return r.showAccount(visit.StatusOf(err), accountView{CurrentErr: visit.Sentence(at["current"]), NewErr: visit.Sentence(at["password"]), Error: visit.Sentence(general)})
	}
	if err != nil {
		return err
	}
	r.Say("done", "Your password is changed. All other sessions have ended.")
	return r.SeeOther(Root + "account")
}

// zoneName matches names of IANA's zones, none of which means something in a cookie.
var zoneName = regexp.MustCompile(`^[A-Za-z0-9_+/-]+$`)

// tellZone is POST /_/zone: the script says which zone the browser is in.
func (r *request) tellZone() error {
	name := r.Sent("zone")
	if len(name) > zone.MaxNameBytes || !zoneName.MatchString(name) {
		r.Ctx.SetStatusCode(fasthttp.StatusUnprocessableEntity)
		return nil
	}
	r.Remember(visit.ToldZone, name, rememberedFor) // one that this machine does not know, too, or each page would tell it
	r.Ctx.SetStatusCode(fasthttp.StatusNoContent)
	return nil
}

// chooseZone is POST /_/account/zone: it chooses whose days figures have in this browser.
func (r *request) chooseZone() error {
	name := strings.TrimSpace(r.Sent("zone"))
	if name == "" {
		r.Remember(visit.ChosenZone, "", -1)
		r.Say("done", "Days are those of the browser's time zone again.")
		return r.SeeOther(Root + "account")
	}
	switch _, err := zone.Load(name); {
	case errors.Is(err, zone.ErrOffTheHour):
		return r.showAccount(fasthttp.StatusUnprocessableEntity, accountView{Chosen: name, ZoneErr: "Days of this time zone do not begin on the hour, and figures are kept by the hour. Figures have days of " + r.Engine.Zone().Name() + "."})
	case err != nil:
		return r.showAccount(fasthttp.StatusUnprocessableEntity, accountView{Chosen: name, ZoneErr: "This is not the name of a time zone."})
	}
	r.Remember(visit.ChosenZone, name, rememberedFor)
	r.Say("done", "Figures have days of "+name+" now, where hours are kept.")
	return r.SeeOther(Root + "account")
}

// chooseLanguage is POST /_/account/language: it chooses the language of the pages in this browser.
func (r *request) chooseLanguage() error {
	chosen := r.Sent("language")
	known := slices.ContainsFunc(r.Languages.All(), func(c *words.Catalog) bool { return c.Tag() == chosen })
	switch {
	case known:
		r.Remember(visit.Language, chosen, rememberedFor)
	case chosen == "":
		r.Remember(visit.Language, "", -1)
	default:
		return problem.New(problem.Invalid, "there is no such language")
	}
	r.Say("done", "The pages have the language that you chose.")
	return r.SeeOther(Root + "account")
}

// endSessions is POST /_/account/sessions: it ends the session that the form names, or all.
func (r *request) endSessions() error {
	id := r.Sent("session")
	if id == "all" || id == r.Caller.SessionID {
		return r.endOwnSession(id)
	}
	if err := r.Accounts.EndSessionByID(r.Caller, r.Caller.User.ID, id); err != nil {
		return err
	}
	r.Say("done", "The session has ended.")
	return r.SeeOther(Root + "account")
}

// endOwnSession ends the session of the request, and with all every other one, too.
func (r *request) endOwnSession(id string) error {
	if id == "all" {
		if err := r.Accounts.EndSessions(r.Caller, r.Caller.User.ID); err != nil {
			return err
		}
	}
	if err := r.Sessions.LogOut(r.Ctx); err != nil {
		return err
	}
	if id == "all" {
		return r.SeeOther(Root + "sign-in?signed-out=everywhere")
	}
	return r.SeeOther(Root + "sign-in")
}
