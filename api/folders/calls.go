package folders

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"shunt/api/account"
	"shunt/api/folder"
	"shunt/api/jsonbody"
	"shunt/api/ops"
	"shunt/api/problem"
	"shunt/engine"
)

// Calls are the calls on folders.
type Calls struct {
	Folders  *folder.Folders // nil: there are none
	Accounts *account.Accounts
	Ops      *ops.Calls
}

// What the caller may do with a folder, as objects say it: a folder.Right, or manage, which its owner and admins do.
const manage folder.Right = "manage"

// An Object is a folder as the API shows it.
type Object struct {
	ID        uint32       `json:"id"`
	Name      string       `json:"name"`
	Owner     uint32       `json:"owner"`
	May       folder.Right `json:"may"`
	CreatedAt time.Time    `json:"created_at"`
	Version   uint64       `json:"version"`
	Members   []Member     `json:"members,omitzero"` // only for those who manage it
}

// Manages reports whether the caller may change the folder itself.
func (o *Object) Manages() bool { return o.May == manage }

// A Member is a user with a right.
type Member struct {
	User  uint32       `json:"user"`
	Email string       `json:"email"`
	May   folder.Right `json:"may"`
}

// Shown returns a folder as a caller sees it who may list its links. Members who were deleted are left out.
func (c *Calls) Shown(caller account.Caller, f *folder.Folder) (o Object, err error) {
	o = Object{ID: f.Number, Name: f.Name, Owner: f.Owner, May: c.rightOf(caller, f), CreatedAt: f.CreatedAt, Version: f.Version}
	if o.May != manage {
		return o, nil
	}
	o.Members = []Member{}
	for _, m := range f.Members {
		u, err := c.Accounts.UserNumbered(m.User)
		switch {
		case err == nil:
			o.Members = append(o.Members, Member{m.User, u.Name, m.May})
		case !errors.Is(err, account.ErrNoUser):
			return o, err
		}
	}
	return o, nil
}

// rightOf returns what the caller may do.
func (c *Calls) rightOf(caller account.Caller, f *folder.Folder) folder.Right {
	switch right := f.Right(caller.User.ID); {
	case caller.User.Role == account.RoleViewer:
		return folder.Read
	case f.Owner == caller.User.ID || caller.Has(account.Admin):
		return manage
	default:
		return right
	}
}

// List returns the folders in which the caller has a right, by name; all: every one, for those who may read all links.
func (c *Calls) List(caller account.Caller, all bool) ([]Object, error) {
	list := []Object{}
	found, err := c.Ops.Folders(caller, all)
	for _, f := range found {
		o, err := c.Shown(caller, f)
		if err != nil {
			return nil, err
		}
		list = append(list, o)
	}
	return list, err
}

// Read returns a folder whose links the caller may list.
func (c *Calls) Read(caller account.Caller, n uint32) (o Object, err error) {
	f, err := c.Ops.FolderFor(caller, n)
	if err != nil {
		return o, err
	}
	return c.Shown(caller, f)
}

// asked is the body of POST and PATCH /folders.
type asked struct {
	name    string
	owner   uint32
	members []askedMember
}

type askedMember struct {
	user  uint32
	email string
	may   folder.Right
}

var fields = jsonbody.NewFields(map[string]jsonbody.Reader[asked]{
	"name": func(a *asked, value json.RawMessage) (err error) {
		a.name, err = jsonbody.String(value)
		return err
	},
	"owner":   func(a *asked, value json.RawMessage) (err error) { a.owner, err = userNumber(value); return err },
	"members": readMembers,
})

var memberFields = jsonbody.NewFields(map[string]jsonbody.Reader[askedMember]{
	"user": func(m *askedMember, value json.RawMessage) (err error) { m.user, err = userNumber(value); return err },
	"email": func(m *askedMember, value json.RawMessage) (err error) {
		m.email, err = jsonbody.String(value)
		return err
	},
	"may": func(m *askedMember, value json.RawMessage) error {
		text, err := jsonbody.String(value)
		if m.may = folder.Right(text); err == nil && m.may != folder.Read && m.may != folder.Edit {
			err = jsonbody.FieldError("", "range", "must be read or edit")
		}
		return err
	},
})

func userNumber(value json.RawMessage) (uint32, error) {
	n, err := jsonbody.Int(value)
	if err == nil && (n < 1 || n > engine.MaxUser) {
		err = jsonbody.FieldError("", "unknown", "is not the id of a user")
	}
	return uint32(n), err
}

// readMembers reads who may do what. A member is named by number or by e-mail address.
func readMembers(a *asked, value json.RawMessage) error {
	items, err := jsonbody.Array(value, folder.MaxMembers+1)
	if err != nil {
		return err
	}
	if len(items) > folder.MaxMembers {
		return jsonbody.FieldError("", "too_many", fmt.Sprintf("must be at most %d", folder.MaxMembers))
	}
	a.members = make([]askedMember, len(items))
	for i, item := range items {
		field := "members[" + strconv.Itoa(i) + "]"
		members, err := jsonbody.Object(item)
		if err != nil {
			return jsonbody.FieldError(field, "type", "must be an object with user or email, and may")
		}
		sent, _, invalid := jsonbody.Read(members, &a.members[i], memberFields)
		switch named := slices.Contains(sent, "user") || slices.Contains(sent, "email"); {
		case len(invalid) > 0:
			return jsonbody.FieldError(field+"."+invalid[0].Field, invalid[0].Code, invalid[0].Message)
		case !named:
			return jsonbody.FieldError(field+".user", "required", "must be given, or email")
		case a.members[i].may == folder.None:
			return jsonbody.FieldError(field+".may", "required", "must be given: read or edit")
		}
	}
	return nil
}

// read reads a body, and the names of its fields.
func (c *Calls) read(body jsonbody.Body) (a asked, sent []string, err error) {
	members, err := jsonbody.Object(body.Text)
	if err != nil {
		return a, nil, err
	}
	sent, null, invalid := jsonbody.Read(members, &a, fields)
	for _, name := range null {
		invalid = append(invalid, jsonbody.FieldError(name, "required", "must not be null"))
	}
	if len(invalid) > 0 {
		return a, nil, invalid
	}
	return a, sent, nil
}

// put makes the members of f those that were asked for, who must be users. Only admins, who see all addresses, may name
// somebody new by a number alone: others would learn the address of each number.
func (c *Calls) put(caller account.Caller, f *folder.Folder, members []askedMember) error {
	before := f.Members
	f.Members = nil
	for i, m := range members {
		u, err := c.userOf(&m)
		known := slices.ContainsFunc(before, func(b folder.Member) bool { return b.User == m.user })
		if err == nil && m.email == "" && !known && !caller.Has(account.Admin) {
			err = account.ErrNoUser
		}
		if errors.Is(err, account.ErrNoUser) {
			return jsonbody.FieldError("members["+strconv.Itoa(i)+"]", "unknown", "is nobody who has an account here")
		}
		if err != nil {
			return err
		}
		f.Members = append(f.Members, folder.Member{User: u.ID, May: m.may})
	}
	return nil
}

func (c *Calls) userOf(m *askedMember) (account.User, error) {
	if m.email == "" {
		return c.Accounts.UserNumbered(m.user)
	}
	u, err := c.Accounts.UserByName(m.email)
	if err == nil && m.user != 0 && m.user != u.ID { // an object as it was read, of another user
		err = account.ErrNoUser
	}
	return u, err
}

var errNoFolders = problem.New(problem.Forbidden, "there are no folders on this server")

// Add makes a folder of the caller.
func (c *Calls) Add(caller account.Caller, body jsonbody.Body) (o Object, err error) {
	if err := body.WantJSON(); err != nil {
		return o, err
	}
	a, sent, err := c.read(body)
	switch {
	case err != nil:
		return o, err
	case slices.Contains(sent, "owner"):
		return o, jsonbody.FieldError("owner", "unknown", "is not a field of a new folder, which is yours")
	case !slices.Contains(sent, "name"):
		return o, jsonbody.FieldError("name", "required", "must be given")
	case c.Folders == nil:
		return o, errNoFolders
	}
	f := folder.Folder{Name: a.name, Owner: caller.User.ID}
	if err := c.put(caller, &f, a.members); err != nil {
		return o, err
	}
	made, err := c.Folders.Add(caller, f)
	if err != nil {
		return o, err
	}
	return c.Shown(caller, made)
}

// managed returns a folder that the caller manages. Other members know that it is there, and are told so.
func (c *Calls) managed(caller account.Caller, n uint32) (*folder.Folder, error) {
	f, err := c.Ops.FolderFor(caller, n)
	switch {
	case err != nil:
		return nil, err
	case c.rightOf(caller, f) != manage:
		return nil, errNotYours
	case !caller.User.Domains.In(caller.Domains):
		return nil, errSomeDomains
	}
	return f, nil
}

var (
	errNotYours    = problem.New(problem.Forbidden, "only the owner of a folder and admins change it")
	errSomeDomains = problem.New(problem.Forbidden, "a folder may have links of all domains, and this token may use some only")
)

// TakeOut takes one member out of a folder, and nobody else. Its owner and admins take out anybody, a member himself. A
// viewer, who changes nothing, does not: a membership gives him nothing anyway.
func (c *Calls) TakeOut(caller account.Caller, n, user uint32) error {
	f, err := c.Ops.FolderFor(caller, n)
	switch {
	case err != nil:
		return err
	case caller.User.Role == account.RoleViewer:
		return problem.New(problem.Forbidden, "a viewer changes no folders")
	case c.rightOf(caller, f) != manage && user != caller.User.ID:
		return problem.New(problem.Forbidden, "only the owner of a folder and admins take out somebody else")
	case !caller.User.Domains.In(caller.Domains):
		return errSomeDomains
	}
	return c.Folders.TakeOut(caller, n, user)
}

// wants returns an error unless the caller manages f, which may be another's since it was looked up, and f has one of
// versions, or there are none.
func (c *Calls) wants(caller account.Caller, versions []uint64, f *folder.Folder) error {
	switch {
	case c.rightOf(caller, f) != manage:
		return errNotYours
	case len(versions) > 0 && !slices.Contains(versions, f.Version):
		return folder.ErrVersion
	}
	return nil
}

// Edit applies body, a JSON merge patch (RFC 7396), to a folder. Members are replaced as a whole. If versions is not
// empty, the folder must have one of them.
func (c *Calls) Edit(caller account.Caller, n uint32, versions []uint64, body jsonbody.Body) (o Object, err error) {
	if !body.Is(ops.PatchTypes...) {
		return o, problem.New(problem.MediaType, "Content-Type must be %s or %s", ops.PatchTypes[0], ops.PatchTypes[1])
	}
	if _, err := c.managed(caller, n); err != nil {
		return o, err
	}
	a, sent, err := c.read(body)
	if err != nil {
		return o, err
	}
	edited, err := c.Folders.Edit(caller, n, func(f *folder.Folder) error {
		if err := c.wants(caller, versions, f); err != nil {
			return err
		}
		return c.change(caller, f, &a, sent)
	})
	if err != nil {
		return o, err
	}
	return c.Shown(caller, edited)
}

// change makes a folder what was asked for.
func (c *Calls) change(caller account.Caller, f *folder.Folder, a *asked, sent []string) error {
	if slices.Contains(sent, "name") {
		f.Name = a.name
	}
	if a.owner != 0 && a.owner != f.Owner {
		if !caller.Has(account.Admin) {
			return jsonbody.FieldError("owner", "exceeds", "is changed by admins only")
		}
		if _, err := c.Accounts.UserNumbered(a.owner); errors.Is(err, account.ErrNoUser) {
			return jsonbody.FieldError("owner", "unknown", "is not the id of a user")
		} else if err != nil {
			return err
		}
		f.Owner = a.owner
	}
	if slices.Contains(sent, "members") {
		return c.put(caller, f, a.members)
	}
	return nil
}

// Remove removes a folder without links. If versions is not empty, it must have one of them.
func (c *Calls) Remove(caller account.Caller, n uint32, versions []uint64) error {
	f, err := c.managed(caller, n)
	if err == nil {
		err = c.wants(caller, versions, f)
	}
	if err != nil {
		return err
	}
	links, err := c.Ops.CountInFolder(caller, n)
	switch {
	case err != nil:
		return err
	case links > 0:
		return inUse(links)
	}
	return c.Folders.Remove(caller, n, func(f *folder.Folder) error { // others wait meanwhile
		if err := c.wants(caller, versions, f); err != nil {
			return err
		}
		if empty, err := c.Ops.IsFolderEmpty(n); err != nil || empty {
			return err
		}
		return inUse(1)
	})
}

func inUse(links uint64) error {
	if links == 1 {
		return problem.New(problem.FolderInUse, "1 link is in the folder: take it out first")
	}
	return problem.New(problem.FolderInUse, "%d links are in the folder: take them out first", links)
}
