package dashboard

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/dashboard/visit"
	"shunt/api/jsonbody"
	"shunt/api/problem"
)

const usersPath = Root + "users"

// SetupPath is where a setup code is used: with the code after it.
const SetupPath = Root + "setup?code="

// A limitForm is the part of a form that limits a user or a token to domains.
type limitForm struct {
	All     string // what there is without a limit
	Some    bool   // there is one
	Hosts   string // what was typed, or the limit
	Example string
	Error   string
}

// limitForm returns the part, with what was typed, for a limit as it is; nil: the visitor may use one domain only, and
// there is no limit.
func (r *request) limitForm(all string, now account.Domains) *limitForm {
	may := r.Calls.DomainsOf(r.Caller)
	if len(may) < 2 && !now.Limited() {
		return nil
	}
	f := &limitForm{All: all, Some: now.Limited(), Hosts: r.hostsOf(now)}
	if len(may) > 0 {
		f.Example = may[len(may)-1].Host
	}
	if limit, _ := r.Typed("limit"); limit != "" {
		f.Some = limit == limitSome
		f.Hosts, _ = r.Typed("domains")
	}
	return f
}

// limitSome is the choice of a limit.
const limitSome = "some"

func (r *request) hostsOf(d account.Domains) string { return strings.Join(r.Calls.HostsOf(d), ", ") }

// only returns the limit as lists show it.
func (r *request) only(d account.Domains) string {
	if hosts := r.hostsOf(d); hosts != "" || !d.Limited() {
		return "only " + hosts
	}
	return "no domain: those of the limit were removed"
}

// limitAsked returns the limit that a form asks for; nil: it stays as it is. A limit that is sent as the form has shown
// it stays, too, so that one to domains that were removed is not lifted by an edit of something else.
func (r *request) limitAsked(now account.Domains) (*account.Domains, error) {
	hosts := strings.FieldsFunc(r.Sent("domains"), func(c rune) bool { return c == ',' || c == ' ' })
	same := slices.Equal(hosts, r.Calls.HostsOf(now))
	switch limit := r.Sent("limit"); {
	case limit == "" || limit == limitSome && now.Limited() && same:
		return nil, nil
	case limit != limitSome && len(hosts) > 0 && !same: // whoever types hosts wants a limit
		return nil, jsonbody.FieldError("domains", "conflict", "choose “Only these”, or leave this empty")
	case limit != limitSome:
		return new(account.Domains), nil
	case len(hosts) == 0:
		return nil, jsonbody.FieldError("domains", "required", "name a domain, or choose all")
	}
	d, err := r.Calls.DomainsNamed(r.Caller, hosts)
	if p, _ := problem.Of(err); err != nil && len(p.Fields) > 0 {
		err = jsonbody.FieldError("domains", p.Fields[0].Code, "each must be the host of a domain that you may use")
	}
	return &d, err
}

// A userRow is a user as the list shows it.
type userRow struct {
	account.User
	Only string // the limit to domains
}

// usersView is what the page of users shows.
type usersView struct {
	Users    []userRow
	Total    uint64
	Found    uint64 // by the search
	Search   string
	Pager    visit.CutPager
	Form     userForm
	Filtered bool
	Place    *time.Location // of days
}

// A userForm is the form that invites or changes a user, with what was typed.
type userForm struct {
	Key, Email string
	Role       account.Role
	Limit      *limitForm // nil: there is one domain
	Errors     map[string]string
	Error      string
}

// refuse adds the errors of the form. It returns err if it is not about the form.
func (f *userForm) refuse(err error) error {
	at, general, ok := visit.FieldErrors(err, "email", "role", "domains")
	if !ok {
		return err
	}
	if f.Limit != nil {
		f.Limit.Error = visit.Sentence(at["domains"])
	}
	f.Errors, f.Error = visit.Sentences(at), visit.Sentence(general)
	return nil
}

// usersPage is GET /_/users.
func (r *request) usersPage() error { return r.showUsers(fasthttp.StatusOK, nil) }

// showUsers shows the page of users; refused is why an invitation was not taken, nil if none was
// sent.
func (r *request) showUsers(status int, refused error) error {
	view := usersView{Place: r.Place(), Search: r.Query("q"), Form: userForm{Key: r.FormKey(), Errors: map[string]string{}}}
	view.Form.Email, _ = r.Typed("email")
	role, _ := r.Typed("role")
	view.Form.Role = cmp.Or(account.Role(role), account.RoleMember)
	view.Form.Limit = r.limitForm("All domains", account.Domains{})
	if refused != nil {
		if err := view.Form.refuse(refused); err != nil {
			return err
		}
	}
	users, err := r.allUsers()
	if err != nil {
		return err
	}
	view.Total, view.Filtered = uint64(len(users)), view.Search != ""
	found := users[:0]
	for _, u := range users {
		if strings.Contains(u.Name, strings.ToLower(strings.TrimSpace(view.Search))) {
			found = append(found, u)
		}
	}
	view.Found = uint64(len(found))
	found, view.Pager = visit.Cut(r.Request, found)
	for _, u := range found {
		view.Users = append(view.Users, userRow{u, r.only(u.Domains)})
	}
	return r.Show(status, "users", "Users", view)
}

// allUsers returns all users, the lowest number first.
func (r *request) allUsers() (users []account.User, err error) {
	err = r.Calls.InTurn(r.Caller, func() error {
		users, err = r.Accounts.ListUsers()
		return err
	})
	return users, err
}

// inviteUser is POST /_/users: it makes a user, and a link with which that person sets a password.
func (r *request) inviteUser() error {
	err := r.SeeOnce(func() (string, error) {
		email, role := r.Sent("email"), account.Role(r.Sent("role"))
		limit, err := r.limitAsked(account.Domains{})
		if err != nil {
			return "", err
		}
		u, err := r.Calls.AddUser(r.Caller, account.UserEdit{Email: &email, Role: &role, Domains: limit})
		if err != nil {
			return "", err
		}
		if err := r.makeSetupLink(u); err != nil {
			r.logCause("a setup link could not be made", err)
			r.Say("warning", "The user "+u.Name+" is added, but the setup link could not be created. Try again below.")
		} else {
			r.Say("done", "The user "+u.Name+" is added. Now pass on the link below.")
		}
		return userPath(u.ID), nil
	})
	if err != nil {
		return r.showUsers(visit.StatusOf(err), err)
	}
	return nil
}

// makeSetupLink makes a link with which the user can set a password once, and keeps it for the page
// of the user.
func (r *request) makeSetupLink(u account.User) error {
	code, _, err := r.Accounts.NewSetupCode(r.Caller, u.ID)
	if err == nil {
		r.KeepSecret(setupPurpose(u.ID), r.BaseURL+SetupPath+code)
	}
	return err
}

// listedOwners is the most users that the choice of an owner lists. If there are more, it is a field for an address.
const listedOwners = 100

// namedOwners is the most users that an error names.
const namedOwners = 5

// An ownerChoice is the choice of whose links a list has. Only admins have one.
type ownerChoice struct {
	Users []account.User // without the visitor, by address
	Gone  string         // the number of the owner who is asked for and deleted; empty: none
	Many  bool           // Users are too many for a list
	Typed string         // if so: what the field has, an address or all
	Error string         // why what was typed is nobody
}

// ownerAsked returns the parameter owner as calls take it, and the choice of others.
func (r *request) ownerAsked() (owner string, c *ownerChoice, err error) {
	owner = strings.TrimSpace(r.Whose().Owner)
	if !r.Admin() {
		return owner, nil, nil
	}
	users, err := r.allUsers()
	if err != nil {
		return owner, nil, err
	}
	users = slices.DeleteFunc(users, func(u account.User) bool { return u.ID == r.Caller.User.ID })
	slices.SortFunc(users, func(a, b account.User) int { return cmp.Compare(a.Name, b.Name) })
	c = &ownerChoice{Users: users, Many: len(users) > listedOwners, Typed: owner}
	if owner == "" || owner == "all" {
		return owner, c, nil
	}
	if _, err := strconv.ParseUint(owner, 10, 32); err != nil {
		owner, c.Error = ownerNamed(users, owner)
	}
	if at := slices.IndexFunc(users, func(u account.User) bool { return numberOf(u) == owner }); at >= 0 {
		c.Typed = users[at].Name
	} else if c.Error == "" && owner != numberOf(r.Caller.User) {
		c.Gone = owner
	}
	return owner, c, nil
}

func numberOf(u account.User) string { return strconv.FormatUint(uint64(u.ID), 10) }

// ownerNamed returns the number of the one user whose address is text, or has text in it; otherwise text, and why.
func ownerNamed(users []account.User, text string) (owner, wrong string) {
	var found []string
	owner = text
	for _, u := range users {
		name, part := strings.ToLower(u.Name), strings.ToLower(text)
		if name == part {
			return numberOf(u), ""
		}
		if strings.Contains(name, part) {
			found = append(found, u.Name)
			owner = numberOf(u)
		}
	}
	switch len(found) {
	case 0:
		return text, "No other user has this address."
	case 1:
		return owner, ""
	}
	list := strings.Join(found[:min(len(found), namedOwners)], ", ")
	if len(found) > namedOwners {
		list += ", …"
	}
	return text, fmt.Sprintf("%d users have this in their address: %s.", len(found), list)
}
