package account

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

	"shunt/api/turnstile"
	"shunt/engine"
)

// UserEdit is a change of a user. A nil field stays as it is.
type UserEdit struct {
	Email    *string
	Role     *Role
	Password *string
	Domains  *Domains
}

// EditUser changes a user for the caller by: it makes all changes or none. A new password ends the user's sessions,
// except the one that asked for it, and setup codes. The tokens of a user who gets another role lose the scopes that it
// does not allow; those without another scope are revoked. Sessions have the scopes of the new role at once. A limit to
// domains is in force for the user's tokens and sessions, too. Errors: ErrNoUser, those of AddUser, and an
// engine.FieldError of "role" if there would be no admin.
func (a *Accounts) EditUser(by Caller, id uint32, e UserEdit) (User, error) {
	if _, err := a.readUser(id); err != nil {
		return User{}, err
	}
	return a.edit(by, turnstile.Key{User: by.User.ID}, id, e, func(*userWrite) error { return nil })
}

// ChangePassword gives caller's own user a new password, if current is the password of the user.
// It ends the user's setup codes and sessions except caller's. from is the caller whose share of
// hashing it takes, for each of the two passwords. Errors: an engine.FieldError of "current" if that
// is not the password; one in an engine.InvalidError of "password" if the new one is too short or
// too long; ErrUnauthorized if caller's session has ended; ErrOverloaded.
func (a *Accounts) ChangePassword(caller Caller, from turnstile.Key, current, password string) error {
	u, err := a.callersRecord(caller.User.ID)
	if err != nil {
		return err
	}
	edit := UserEdit{Password: &password}
	if _, invalid := edit.check(); invalid != nil {
		return invalid
	}
	wrong := fieldError("current", "wrong", "is not your password")
	ok, _, err := a.hashing.matches(from, current, u.password)
	if err != nil {
		return err
	}
	if !ok {
		return wrong
	}
	_, err = a.edit(caller, from, u.ID, edit, func(w *userWrite) error {
		if w.old.password != u.password { // changed since
			return wrong
		}
		_, err := a.Recheck(caller)
		return err
	})
	if errors.Is(err, ErrNoUser) {
		err = ErrUnauthorized
	}
	return err
}

// edit makes the changes e of a user for the caller by. Before it writes, it calls also, which has
// the write lock and sees what is about to be written: also may refuse, and add rows.
func (a *Accounts) edit(
	by Caller, from turnstile.Key, id uint32, e UserEdit, also func(w *userWrite) error,
) (User, error) {
	email, invalid := e.check()
	if invalid != nil {
		return User{}, invalid
	}
	password := ""
	if e.Password != nil {
		var err error
		if password, err = a.hashing.hash(from, *e.Password); err != nil {
			return User{}, err
		}
	}
	lock, err := a.lockWrites()
	if err != nil {
		return User{}, err
	}
	defer lock.Unlock()
	u, err := a.readUser(id)
	if err != nil {
		return User{}, err
	}
	w := &userWrite{old: u, new: u, action: engine.UserEdited}
	for _, change := range []func() error{
		func() error { return a.changeName(w, email) },
		func() error { return a.changeRole(w, e.Role) },
		func() error { return a.changePassword(w, by, password) },
		func() error { return w.changeDomains(e.Domains) },
		func() error { return also(w) },
	} {
		if err := change(); err != nil {
			return User{}, err
		}
	}
	w.sets = append(w.sets, [2][]byte{userKey(id), encodeUser(w.new)})
	if changes := auditOfUser(w.old, w.new); len(changes) > 0 || w.action != engine.UserEdited {
		lock.note(by, w.action, id, changes...)
	}
	if err := lock.write(w.sets, w.deletes); err != nil {
		return User{}, fmt.Errorf("write user %d: %w", id, err)
	}
	return w.new.User, nil
}

// check returns the new address in its stored form, "" if there is none, and the errors of e.
func (e UserEdit) check() (email string, invalid engine.InvalidError) {
	if e.Email != nil {
		var err error
		email, err = normalizeEmail(*e.Email)
		invalid = appendInvalid(invalid, err)
	}
	if e.Role != nil {
		invalid = appendInvalid(invalid, validRole(*e.Role))
	}
	if e.Password != nil {
		invalid = appendInvalid(invalid, validPassword(*e.Password))
	}
	return email, invalid
}

// userWrite gathers the rows of one edit.
type userWrite struct {
	old, new userRecord
	action   engine.AuditAction
	sets     [][2][]byte
	deletes  [][]byte
}

func (a *Accounts) changeName(w *userWrite, name string) error {
	if name == "" || name == w.old.Name {
		return nil
	}
	if err := a.checkFree(name); err != nil {
		return err
	}
	w.new.Name = name
	w.sets = append(w.sets, [2][]byte{nameKey(name), binary.BigEndian.AppendUint32(nil, w.old.ID)})
	w.deletes = append(w.deletes, nameKey(w.old.Name))
	return nil
}

func (a *Accounts) changeRole(w *userWrite, role *Role) error {
	if role == nil || *role == w.old.Role {
		return nil
	}
	if w.new.Role = *role; *role == RoleAdmin {
		return nil
	}
	if err := a.checkNotLast(w.old.User, "role"); err != nil {
		return err
	}
	return a.eachToken(w.old.ID, func(t Token, hash [sha256.Size]byte) error {
		scopes := role.limitToken(t.Scopes)
		switch {
		case len(scopes) == 0:
			w.deletes = append(w.deletes, tokenRows(t.UserID, t.ID, hash[:])...)
		case len(scopes) < len(t.Scopes):
			t.Scopes = scopes
			w.sets = append(w.sets, [2][]byte{tokenKey(hash[:]), encodeToken(t, hash[:])})
		}
		return nil
	})
}

// changeDomains limits the user. It comes after the role, because no admin is limited.
func (w *userWrite) changeDomains(domains *Domains) error {
	if domains != nil {
		w.new.Domains = *domains
	}
	return w.new.checkDomains()
}

func (a *Accounts) changePassword(w *userWrite, by Caller, hash string) error {
	if hash == "" {
		return nil
	}
	w.new.password, w.new.HasPassword = hash, true
	ended, err := a.waysIn(w.old.ID, by)
	w.deletes = append(w.deletes, ended...)
	return err
}

// waysIn returns the rows of all setup codes and sessions of user, except the session of by, if it
// has one.
func (a *Accounts) waysIn(user uint32, by Caller) ([][]byte, error) {
	rows, err := a.otherSessions(user, by)
	if err != nil {
		return nil, err
	}
	err = a.eachSetupCode(user, func(_ setupCode, hash [sha256.Size]byte) error {
		rows = append(rows, setupCodeRows(user, hash)...)
		return nil
	})
	return rows, err
}

// checkNotLast returns an engine.FieldError of field if u is the only admin.
func (a *Accounts) checkNotLast(u User, field string) error {
	if u.Role != RoleAdmin {
		return nil
	}
	_, err := a.adminBut(u.ID)
	if errors.Is(err, ErrNoUser) {
		return fieldError(field, "last_admin", "this is the last admin; make somebody else an admin first")
	}
	return err
}

// A Farewell decides whether a user may be deleted, because it knows what the user owns elsewhere.
// It returns an error if not. Otherwise nothing more is created for the user until settle is
// called: once, by any goroutine; gone reports whether the user was deleted. ctx is done when it is
// too late to delete the user. settle returns soon.
type Farewell func(ctx context.Context) (settle func(gone bool), err error)

// MayRemoveUser returns the error with which RemoveUser would refuse, without a Farewell. By the time of RemoveUser
// it may be another.
func (a *Accounts) MayRemoveUser(id uint32) error {
	u, err := a.readUser(id)
	if err != nil {
		return err
	}
	return a.checkNotLast(u.User, "")
}

// RemoveUser deletes a user for the caller by, with all tokens, sessions and setup codes, at once. It calls mayGo last,
// and returns its error. The number is never given to another user. Errors: ErrNoUser, and an engine.FieldError
// if it is the last admin.
func (a *Accounts) RemoveUser(by Caller, id uint32, mayGo Farewell) error {
	lock, err := a.lockWrites()
	if err != nil {
		return err
	}
	defer lock.Unlock()
	u, err := a.readUser(id)
	if err != nil {
		return err
	}
	if err := a.checkNotLast(u.User, ""); err != nil {
		return err
	}
	rows, err := a.waysIn(id, Caller{})
	if err != nil {
		return err
	}
	err = a.eachToken(id, func(t Token, hash [sha256.Size]byte) error {
		rows = append(rows, tokenRows(id, t.ID, hash[:])...)
		return nil
	})
	if err != nil {
		return err
	}
	settle, err := mayGo(lock.Context())
	if err != nil {
		return err
	}
	lock.note(by, engine.UserDeleted, id, auditOfUser(u, userRecord{})...)
	if err := lock.writeThen(nil, append(rows, userKey(id), nameKey(u.Name), campaignsKey(id), filtersKey(id)), settle); err != nil {
		return fmt.Errorf("delete user %d: %w", id, err)
	}
	return nil
}
