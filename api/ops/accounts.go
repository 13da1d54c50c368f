package ops

import (
	"context"
	"errors"
	"strconv"
	"time"

	"shunt/api/account"
	"shunt/api/jsonbody"
	"shunt/api/problem"
	"shunt/engine"
)

// Limits of IssueToken, in all and for each caller: a request under way delays every other change of accounts while it
// reads the up to thousand tokens of the caller. Above all, a thief with a stolen token must not be able
// to block its revocation.
const (
	maxIssues       = 32
	MaxIssuesCaller = 4
)

// DomainsNamed returns the domains of a user or a token that have those hosts, or aliases. The caller must be allowed
// to use them. Errors are an engine.InvalidError of domains[i].
func (c *Calls) DomainsNamed(caller account.Caller, hosts []string) (account.Domains, error) {
	var invalid engine.InvalidError
	numbers := make([]engine.Domain, 0, len(hosts))
	for i, host := range hosts {
		d, err := c.DomainNamed(caller, host)
		if err != nil {
			field := "domains[" + strconv.Itoa(i) + "]"
			invalid = append(invalid, jsonbody.FieldError(field, unknownCode, named(host)+"is not a domain of this server that you may use"))
			continue
		}
		numbers = append(numbers, d.Number)
	}
	if len(invalid) > 0 {
		return account.Domains{}, invalid
	}
	return account.OnlyIn(numbers...), nil
}

// HostsOf returns the hosts of the domains to which somebody is limited, without those that were removed; nil: there is
// no limit.
func (c *Calls) HostsOf(may account.Domains) []string {
	if !may.Limited() {
		return nil
	}
	hosts := []string{}
	for _, d := range c.o.Domains.All() {
		if may.Has(d.Number) {
			hosts = append(hosts, d.Host)
		}
	}
	return hosts
}

// IssueToken makes a token of the caller and returns its text, which nobody can read again. It
// refuses a draft as account.IssueToken does.
func (c *Calls) IssueToken(caller account.Caller, draft account.TokenDraft) (account.Token, string, error) {
	end, err := c.BeginIssue(caller)
	if err != nil {
		return account.Token{}, "", err
	}
	defer end()
	return c.o.Accounts.IssueToken(caller, draft)
}

// BeginIssue takes a place for a request for a token, until end is called. IssueToken takes its
// own.
func (c *Calls) BeginIssue(caller account.Caller) (end func(), err error) {
	key := KeyOf(caller)
	if err := c.issues.Take(key); err != nil {
		return nil, err
	}
	return func() { c.issues.Leave(key) }, nil
}

// AddUser adds a user with the fields of asked. Without a role the user is a member; without a
// password the user cannot log in.
func (c *Calls) AddUser(caller account.Caller, asked account.UserEdit) (account.User, error) {
	if asked.Email == nil {
		return account.User{}, jsonbody.FieldError("email", "required", "is missing")
	}
	draft := account.UserDraft{Email: *asked.Email, Role: account.RoleMember, By: caller}
	if asked.Domains != nil {
		draft.Domains = *asked.Domains
	}
	if asked.Role != nil {
		draft.Role = *asked.Role
	}
	if asked.Password != nil {
		if draft.Password = *asked.Password; draft.Password == "" {
			return account.User{}, jsonbody.FieldError("password", "too_short",
				"must not be empty; leave it out for a user who cannot log in")
		}
	}
	return c.o.Accounts.AddUser(draft)
}

// LinksOfRemoved says what becomes of the links of a user who is deleted. By default, a user who has links
// is not deleted.
type LinksOfRemoved struct {
	Keep   bool   // they go on under the user's number
	MoveTo uint32 // this user gets them; 0: nobody
}

// RemoveUser deletes a user with all tokens and sessions. A user who has links is deleted only if links says
// whether to delete, keep or move them; otherwise the error is about the field "links". Links that are kept go on
// redirecting and counting under the user's number, which no other user ever gets, and admins reach them by
// owner=ID.
func (c *Calls) RemoveUser(caller account.Caller, id uint32, links LinksOfRemoved) error {
	moved := uint64(0)
	if links.MoveTo != 0 {
		var err error
		if moved, err = c.moveLinks(caller, id, links.MoveTo); err != nil {
			return err
		}
	}
	err := c.removeUser(caller, id, links.Keep)
	if p, known := problem.Of(err); err != nil && moved > 0 && known {
		p.Detail = movedSoFar(moved, p.Detail)
		return p
	}
	return err
}

// ParseLinksOfRemoved reads the query parameters of DELETE /users/{id}.
func ParseLinksOfRemoved(p Parameters) (links LinksOfRemoved, err error) {
	seen := make(map[string]bool)
	for nameBytes, value := range p.All() {
		name, text := string(nameBytes), string(value)
		id, errID := strconv.ParseUint(text, 10, 32)
		switch {
		case name != "links" && name != moveField:
			return links, UnknownParameter(nameBytes)
		case seen[name]:
			return links, jsonbody.FieldError(name, "duplicate", "must not be given twice")
		case len(seen) > 0:
			return links, jsonbody.FieldError(moveField, "range", "must not be given with links=keep")
		case name == "links" && text != "keep":
			return links, jsonbody.FieldError(name, "range", "must be keep")
		case name == moveField && (errID != nil || id == 0):
			return links, jsonbody.FieldError(name, "range", "must be the id of a user")
		case name == "links":
			links.Keep = true
		default:
			links.MoveTo = uint32(id)
		}
		seen[name] = true
	}
	return links, nil
}

// movingTime is how long one request may move links: a repeat goes on.
const movingTime = 5 * time.Second

// moveLinks gives the links of a user who may be deleted to another user.
func (c *Calls) moveLinks(caller account.Caller, id, to uint32) (moved uint64, err error) {
	if err := c.o.Accounts.MayRemoveUser(id); err != nil {
		return 0, err
	}
	from, err := c.o.Accounts.DomainsOf(id)
	if err != nil {
		return 0, err
	}
	may, err := c.o.Accounts.DomainsOf(to)
	switch {
	case errors.Is(err, account.ErrNoUser):
		return 0, jsonbody.FieldError(moveField, "unknown", "is not the id of a user")
	case err != nil:
		return 0, err
	case !from.In(may):
		return 0, jsonbody.FieldError(moveField, "conflict", "is a user who may not use all domains of the one who is deleted")
	case to == id:
		return 0, jsonbody.FieldError(moveField, "range", "must be another user than the one who is deleted")
	}
	ctx, cancel := context.WithTimeout(context.Background(), movingTime)
	defer cancel()
	moved, err = c.o.Engine.MoveLinks(ctx, id, to, c.by(caller))
	c.o.Wrote("update", int(moved), nil)
	switch {
	case errors.Is(err, engine.ErrOwnerGone):
		return moved, jsonbody.FieldError(moveField, "unknown", "is not the id of a user")
	case errors.Is(err, engine.ErrOverloaded):
		return moved, problem.New(problem.Overloaded, "%s", movedSoFar(moved, "there are more; send the request again"))
	}
	return moved, err
}

// moveField is the name of the parameter that says who gets the links of a user who is deleted.
const moveField = "move_links_to"

func movedSoFar(n uint64, detail string) string {
	if n == 1 {
		return "1 link was moved; " + detail
	}
	return strconv.FormatUint(n, 10) + " links were moved; " + detail
}

// removeUser is RemoveUser for a user whose links are not moved. What is in the trash of the user goes, too: most of it
// before other changes of accounts have to wait.
func (c *Calls) removeUser(caller account.Caller, id uint32, keepLinks bool) error {
	err := c.o.Accounts.MayRemoveUser(id)
	if err == nil {
		err = c.mayEmptyTrash(id, keepLinks)
	}
	if err == nil {
		err = c.emptyTrash(context.Background(), caller, id)
	}
	if err == nil {
		err = c.o.Accounts.RemoveUser(caller, id, func(ctx context.Context) (settle func(gone bool), err error) {
			settle = func(bool) {} // links that are kept, and those that are being created at this moment, stay
			if !keepLinks {
				settle, err = c.o.Engine.RetireUser(ctx, id)
			}
			switch {
			case errors.Is(err, engine.ErrOverloaded):
				return nil, problem.New(problem.Overloaded, "links of this user are being written; try again")
			case err != nil:
				return nil, err
			}
			if err := c.emptyTrash(ctx, caller, id); err != nil {
				settle(false)
				return nil, err
			}
			return settle, nil
		})
	}
	if errors.Is(err, engine.ErrOwnsLinks) {
		return jsonbody.FieldError("links", "required", "this user has links; send "+moveField+"=ID to give them to another user, or links=keep to keep them under the user's number")
	}
	return err
}

// mayEmptyTrash returns engine.ErrOwnsLinks for a user who is not deleted because of live links.
func (c *Calls) mayEmptyTrash(id uint32, keepLinks bool) error {
	if keepLinks {
		return nil
	}
	owners, err := c.o.Engine.Owners(engine.AllOwners, id)
	if err == nil && len(owners) > 0 {
		err = engine.ErrOwnsLinks
	}
	return err
}

// emptyTrash purges what is in the trash of a user who is deleted.
func (c *Calls) emptyTrash(ctx context.Context, caller account.Caller, id uint32) error {
	ctx, cancel := context.WithTimeout(ctx, movingTime)
	defer cancel()
	purged, err := c.o.Engine.EmptyTrash(ctx, id, engine.DefaultDomain, c.by(caller))
	c.o.Wrote("delete", int(purged), nil)
	if errors.Is(err, engine.ErrOverloaded) {
		err = problem.New(problem.Overloaded, "the trash of this user is being emptied; send the request again")
	}
	return err
}

// CountLinks returns how many live links a user has that the caller may use, at most limit; more: there are more. It
// takes a millisecond for some thousand links. The handler must take a place with BeginHeavy before.
func (c *Calls) CountLinks(caller account.Caller, owner uint32, limit uint64) (n uint64, more bool, err error) {
	if err := mayUse(caller, Whose{User: owner, Every: true}); err != nil {
		return 0, false, err
	}
	err = c.InTurn(caller, func() error {
		n, more, err = c.o.Engine.CountLinks(owner, limit, caller.Domains.Has)
		return err
	})
	return n, more, err
}
