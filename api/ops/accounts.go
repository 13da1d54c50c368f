package ops

import (
	"context"
	"errors"

	"shunt/api/account"
	"shunt/api/jsonbody"
	"shunt/api/problem"
	"shunt/engine"
)

// Limits of IssueToken, in all and for each caller: a request under way delays every other change of accounts while it reads
// the up to thousand tokens of the caller. Above all, a thief with a stolen token must not be able
// to block its revocation.
const (
	maxIssues       = 32
	MaxIssuesCaller = 4
)

// IssueToken makes a token of the caller and returns its text, which nobody can read again. It
// refuses a draft as account.IssueToken does.
func (c *Calls) IssueToken(caller account.Caller, draft account.TokenDraft) (account.Token, string, error) {
	end, err := c.BeginIssue(caller)
	if err != nil {
		return account.Token{}, "", err
	}
	defer end()
	return c.accounts.IssueToken(caller, draft)
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
	if asked.Role != nil {
		draft.Role = *asked.Role
	}
	if asked.Password != nil {
		if draft.Password = *asked.Password; draft.Password == "" {
			return account.User{}, jsonbody.FieldError("password", "too_short",
				"must not be empty; leave it out for a user who cannot log in")
		}
	}
	return c.accounts.AddUser(draft)
}

// RemoveUser deletes a user with all tokens and sessions. A user who has links is deleted only with
// keepLinks, otherwise the error is about the field "links". The links then go on redirecting and
// counting under the user's number, which no other user ever gets, and admins reach them by
// owner=ID. (A transfer to another user would lose the figures that are kept by owner.)
func (c *Calls) RemoveUser(caller account.Caller, id uint32, keepLinks bool) error {
	err := c.accounts.RemoveUser(caller, id, func(ctx context.Context) (settle func(gone bool), err error) {
		if keepLinks { // links that are being created at this moment stay too
			return func(bool) {}, nil
		}
		if settle, err = c.engine.RetireOwner(ctx, id); errors.Is(err, engine.ErrOverloaded) {
			err = problem.New(problem.Overloaded, "links of this user are being written; try again")
		}
		return settle, err
	})
	if errors.Is(err, engine.ErrOwnsLinks) {
		return jsonbody.FieldError("links", "required", "this user has links; send links=keep to keep them under the user's number")
	}
	return err
}

// CountLinks returns how many live links a user has, at most limit; more: there are more. It takes
// a millisecond for some thousand links. The handler must take a place with BeginHeavy before.
func (c *Calls) CountLinks(caller account.Caller, owner uint32, limit uint64) (n uint64, more bool, err error) {
	if err := mayUse(caller, engine.Guard{Owner: owner}); err != nil {
		return 0, false, err
	}
	err = c.InTurn(caller, func() error {
		n, more, err = c.engine.CountLinks(owner, limit)
		return err
	})
	return n, more, err
}
