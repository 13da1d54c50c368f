package dashboard

import (
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"strings"

	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/dashboard/visit"
	"shunt/api/jsonbody"
	"shunt/api/ops"
)

// userView is what the pages of one user show.
type userView struct {
	account.User
	Self      bool   // it is the caller
	NoAddress bool   // the name is not an e-mail address
	SetupLink string // that was just made; empty: none
	Key       string // of the form that makes another
	Form      userForm
	Links     ownedLinks
	KeepError string // at the field "keep"
	MoveTo    string // who gets the links when the user is deleted, as typed
	MoveError string // of that
}

// ownedLinks is how many links a user has. At most maxCounted are counted.
type ownedLinks struct {
	N    uint64
	More bool // there are more
}

// maxCounted is how many links are counted, which takes some milliseconds.
const maxCounted = 10_000

// ownedBy counts the links of a user.
func (r *request) ownedBy(user uint32) (o ownedLinks, err error) {
	err = r.Heavily(func() error {
		o.N, o.More, err = r.Calls.CountLinks(r.Caller, user, maxCounted)
		return err
	})
	return o, err
}

func userPath(id uint32) string { return usersPath + "/" + strconv.FormatUint(uint64(id), 10) }

// setupPurpose is the purpose of the link that the page of a user shows once.
func setupPurpose(id uint32) string { return "setup" + userPath(id) }

// userAsked returns the user that the path names, or that the page is missing.
func (r *request) userAsked() (account.User, error) {
	text := r.Segment("id")
	id, err := strconv.ParseUint(text, 10, 32)
	if err != nil || strconv.FormatUint(id, 10) != text {
		return account.User{}, r.Missing()
	}
	users, err := r.allUsers()
	if err != nil {
		return account.User{}, err
	}
	at := slices.IndexFunc(users, func(u account.User) bool { return uint64(u.ID) == id })
	if at < 0 {
		return account.User{}, r.Missing()
	}
	return users[at], nil
}

// userView returns what the pages of u show.
func (r *request) userView(u account.User) (v userView, err error) {
	v = userView{User: u, Self: u.ID == r.Caller.User.ID, NoAddress: u.Name == account.AdminName, Key: r.FormKey()}
	v.Form = userForm{Role: u.Role, Limit: r.limitForm("All domains", u.Domains), Errors: map[string]string{}}
	if !v.NoAddress {
		v.Form.Email = u.Name
	}
	v.Links, err = r.ownedBy(u.ID)
	return v, err
}

// userPage is GET /_/users/{id}.
func (r *request) userPage() error {
	u, err := r.userAsked()
	if err != nil {
		return err
	}
	return r.showUser(fasthttp.StatusOK, u, nil)
}

// showUser shows the page of u; refused is why a change was not taken, nil if none was sent.
func (r *request) showUser(status int, u account.User, refused error) error {
	view, err := r.userView(u)
	if err != nil {
		return err
	}
	if email, typed := r.Typed("email"); typed {
		role, _ := r.Typed("role")
		view.Form.Email, view.Form.Role = email, account.Role(role)
	}
	if refused != nil {
		if err := view.Form.refuse(refused); err != nil {
			return err
		}
	}
	view.SetupLink = r.TakeSecret(setupPurpose(u.ID))
	return r.Show(status, "user", visit.Name(u.Name), view)
}

// editUser is POST /_/users/{id}.
func (r *request) editUser() error {
	u, err := r.userAsked()
	if err != nil {
		return err
	}
	email, role := r.Sent("email"), account.Role(r.Sent("role"))
	edit := account.UserEdit{Role: &role}
	if email != u.Name && (email != "" || u.Name != account.AdminName) {
		edit.Email = &email
	}
	if edit.Domains, err = r.limitAsked(u.Domains); err != nil {
		return r.showUser(visit.StatusOf(err), u, err)
	}
	changed, err := r.Accounts.EditUser(r.Caller, u.ID, edit)
	if err != nil {
		return r.showUser(visit.StatusOf(err), u, err)
	}
	if changed.ID == r.Caller.User.ID && changed.Role != account.RoleAdmin {
		r.Say("done", "You are a "+string(changed.Role)+" now. The pages for admins are closed to you.")
		return r.SeeOther(Root)
	}
	r.Say("done", "The changes are saved.")
	return r.SeeOther(userPath(u.ID))
}

// renewSetupLink is POST /_/users/{id}/setup-link.
func (r *request) renewSetupLink() error {
	u, err := r.userAsked()
	if err != nil {
		return err
	}
	return r.SeeOnce(func() (string, error) { return userPath(u.ID), r.makeSetupLink(u) })
}

// deleteUserPage is GET /_/users/{id}/delete: it asks whether to delete the user.
func (r *request) deleteUserPage() error {
	u, err := r.userAsked()
	if err != nil {
		return err
	}
	return r.askToDelete(fasthttp.StatusOK, u, nil)
}

// askToDelete shows the page; refused is why the user was not deleted, nil if nobody tried.
func (r *request) askToDelete(status int, u account.User, refused error) error {
	view, err := r.userView(u)
	if err != nil {
		return err
	}
	if refused != nil {
		at, general, ok := visit.FieldErrors(refused, "links", "move_links_to")
		if !ok {
			return refused
		}
		if view.Form.Error = visit.Sentence(general); at["links"] != "" {
			view.KeepError = "This user has links. Say who gets them, choose to keep them, or delete them first."
		}
		view.MoveTo, _ = r.Typed("move_links_to")
		view.MoveError = visit.Sentence(at["move_links_to"])
	}
	return r.Show(status, "user-delete", "Delete "+u.Name, view)
}

// deleteUser is POST /_/users/{id}/delete.
func (r *request) deleteUser() error {
	var u account.User
	err := r.SeeOnce(func() (page string, err error) {
		if u, err = r.userAsked(); err != nil {
			return "", err
		}
		return r.removeUser(u)
	})
	if err != nil && u.ID != 0 {
		return r.askToDelete(visit.StatusOf(err), u, err)
	}
	return err
}

// removeUser deletes u, and returns the page to go to.
func (r *request) removeUser(u account.User) (page string, err error) {
	links := ops.LinksOfRemoved{Keep: r.Sent("links") == "keep"}
	to := account.User{}
	if text := strings.TrimSpace(r.Sent("move_links_to")); text != "" && !links.Keep {
		if to, err = r.userNamed(text); err != nil {
			return "", moveProblem(err)
		}
		links.MoveTo = to.ID
	}
	if err := r.Calls.RemoveUser(r.Caller, u.ID, links); err != nil {
		return "", err
	}
	if u.ID == r.Caller.User.ID {
		if err := r.Sessions.LogOut(r.Ctx); err != nil {
			r.logCause("the cookie of a deleted user could not be removed", err)
		}
		return Root + "sign-in", nil
	}
	text := "The user " + u.Name + " is deleted."
	if to.ID != 0 {
		r.SayWith("done", text+" The links are those of "+to.Name+" now.", visit.Option{Name: "Show the links of " + to.Name, Path: visit.Address(linksPath, "owner", strconv.FormatUint(uint64(to.ID), 10))})
		return usersPath, nil
	}
	if links.Keep {
		id := strconv.FormatUint(uint64(u.ID), 10)
		r.SayWith("done", text+" The links of user "+id+" go on redirecting.", visit.Option{Name: "Show the links of user " + id, Path: visit.Address(linksPath, "owner", id)})
		return usersPath, nil
	}
	r.Say("done", text)
	return usersPath, nil
}

// userNamed returns the user that a visitor names by e-mail address or number.
func (r *request) userNamed(text string) (account.User, error) {
	users, err := r.allUsers()
	if err != nil {
		return account.User{}, err
	}
	text = strings.TrimSpace(text)
	for _, u := range users {
		if strings.EqualFold(u.Name, text) || strconv.FormatUint(uint64(u.ID), 10) == text {
			return u, nil
		}
	}
	return account.User{}, account.ErrNoUser
}

// moveProblem returns the error of the field that says who gets the links.
func moveProblem(err error) error {
	if errors.Is(err, account.ErrNoUser) {
		return jsonbody.FieldError("move_links_to", "unknown", "there is no such user")
	}
	return err
}

// logCause logs an error that the visitor is not shown.
func (r *request) logCause(what string, err error) {
	r.Logger.Error(what, slog.String("page", r.Row.Path), slog.Any("cause", err), r.Id())
}
