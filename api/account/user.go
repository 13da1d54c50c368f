package account

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// EnsureAdmin returns the oldest admin. If there is no user at all, it makes one: AdminName, without a password.
func (a *Accounts) EnsureAdmin() (u User, created bool, err error) {
	a.writing.Lock()
	defer a.writing.Unlock()
	u, err = a.OldestAdmin()
	if !errors.Is(err, ErrNoUser) {
		return u, false, err
	}
	last, err := a.lastUserID()
	if err != nil {
		return User{}, false, err
	}
	if last != 0 {
		return User{}, false, fmt.Errorf("none of the users is an admin: %w", ErrNoUser)
	}
	u, err = a.addUserLocked(AdminName, RoleAdmin)
	return u, err == nil, err
}

// AddUser makes a user, or returns an engine.FieldError of "email" if the name is malformed or taken.
// Names that differ only by case are one name.
func (a *Accounts) AddUser(name string, role Role) (User, error) {
	if problem := nameProblem(name, maxUserNameBytes); problem != "" {
		return User{}, fieldError("email", "invalid", problem)
	}
	a.writing.Lock()
	defer a.writing.Unlock()
	_, err := a.UserByName(name)
	if err == nil {
		return User{}, fieldError("email", "taken", "there is a user of this name already")
	}
	if !errors.Is(err, ErrNoUser) {
		return User{}, err
	}
	return a.addUserLocked(name, role)
}

func (a *Accounts) addUserLocked(name string, role Role) (User, error) {
	last, err := a.lastUserID()
	if err != nil {
		return User{}, err
	}
	if last == math.MaxUint32 {
		return User{}, errors.New("no user numbers are left")
	}
	u := User{ID: last + 1, Name: name, Role: role, CreatedAt: a.now().UTC().Truncate(time.Millisecond)}
	sets := [][2][]byte{
		{userKey(u.ID), encodeUser(u)},
		{nameKey(name), binary.BigEndian.AppendUint32(nil, u.ID)},
		{lastUserKey, binary.BigEndian.AppendUint32(nil, u.ID)},
	}
	if err := a.table.Write(sets, nil); err != nil {
		return User{}, fmt.Errorf("write user %d: %w", u.ID, err)
	}
	return u, nil
}

// OldestAdmin returns the admin with the lowest number, or ErrNoUser.
func (a *Accounts) OldestAdmin() (User, error) {
	found := User{}
	err := a.eachUser(func(u User) (more bool) {
		if u.Role == RoleAdmin {
			found = u
		}
		return found.ID == 0
	})
	if err == nil && found.ID == 0 {
		err = ErrNoUser
	}
	return found, err
}

// UserByName returns the user of that name, whatever its case, or ErrNoUser.
func (a *Accounts) UserByName(name string) (User, error) {
	id, err := a.table.Get(nameKey(name))
	if err != nil {
		return User{}, fmt.Errorf("read user %q: %w", name, err)
	}
	if id == nil {
		return User{}, ErrNoUser
	}
	if len(id) != 4 {
		return User{}, fmt.Errorf("name row of user %q: %w", name, errFormat)
	}
	return a.readUser(binary.BigEndian.Uint32(id))
}

// lastUserID returns the highest number that a user ever had, 0 if there was none.
func (a *Accounts) lastUserID() (uint32, error) {
	last, err := a.table.Get(lastUserKey)
	switch {
	case err != nil:
		return 0, fmt.Errorf("read the last user number: %w", err)
	case last == nil:
		return 0, nil
	case len(last) != 4:
		return 0, fmt.Errorf("last user number: %w", errFormat)
	}
	return binary.BigEndian.Uint32(last), nil
}

// nameProblem says in words what is wrong with a name, "" if nothing is.
func nameProblem(name string, maxBytes int) string {
	switch {
	case strings.TrimSpace(name) == "":
		return "must not be empty"
	case len(name) > maxBytes:
		return fmt.Sprintf("must be at most %d bytes", maxBytes)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		return "must be text without control characters"
	}
	return ""
}
