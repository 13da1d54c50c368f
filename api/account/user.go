package account

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"shunt/api/turnstile"
	"shunt/engine"
)

// User is a person or program that owns links.
type User struct {
	ID          uint32 // from 1; the owner number of links; never reused
	Name        string // the login name: an e-mail address, or AdminName
	Role        Role
	CreatedAt   time.Time
	HasPassword bool // without one, a user cannot log in
	Domains     Domains
}

// userRecord is a user with the hash of the password.
type userRecord struct {
	User
	password string // its argon2id hash; empty: none
}

// ReadOnly says that the table cannot be written to. It must be called before all else.
func (a *Accounts) ReadOnly() { a.reads = true }

// EnsureAdmin returns the oldest admin. If there is no user at all, it creates one: AdminName,
// without a password. If the table is ReadOnly, it returns that user and creates nothing.
func (a *Accounts) EnsureAdmin() (u User, created bool, err error) {
	lock, err := a.lockWrites()
	if err != nil {
		return User{}, false, err
	}
	defer lock.Unlock()
	u, err = a.OldestAdmin()
	if !errors.Is(err, ErrNoUser) {
		return u, false, err
	}
	last, err := a.LastUserID()
	if err != nil {
		return User{}, false, err
	}
	if last != 0 {
		return User{}, false, fmt.Errorf("none of the users is an admin: %w", ErrNoUser)
	}
	if a.reads {
		return User{ID: 1, Name: AdminName, Role: RoleAdmin}, false, nil
	}
	u, err = lock.addUser(Caller{Origin: Origin{Local: true}}, userRecord{User: User{Name: AdminName, Role: RoleAdmin}})
	return u, err == nil, err
}

// UserDraft describes a user to add.
type UserDraft struct {
	Email    string
	Role     Role
	Password string // empty: none, and the user cannot log in
	Domains  Domains
	By       Caller // who asks, whose share of hashing it takes
}

// AddUser adds a user, or returns an engine.FieldError or engine.InvalidError: the address is
// malformed or taken (case is ignored), the role is unknown, the password is too short or too long, an admin is
// limited to domains, or there are MaxUsers users.
func (a *Accounts) AddUser(d UserDraft) (User, error) {
	u := userRecord{User: User{Role: d.Role, Domains: d.Domains}}
	var invalid engine.InvalidError
	email, err := normalizeEmail(d.Email)
	invalid = appendInvalid(invalid, err)
	invalid = appendInvalid(invalid, validRole(d.Role))
	invalid = appendInvalid(invalid, u.checkDomains())
	if invalid != nil {
		return User{}, invalid
	}
	if u.Name = email; d.Password != "" {
		if u.password, err = a.hashing.hash(turnstile.Key{User: d.By.User.ID}, d.Password); err != nil {
			return User{}, err
		}
	}
	lock, err := a.lockWrites()
	if err != nil {
		return User{}, err
	}
	defer lock.Unlock()
	if err := a.checkFree(email); err != nil {
		return User{}, err
	}
	return lock.addUser(d.By, u)
}

// checkDomains returns an engine.FieldError if the user cannot be limited to those domains.
func (u User) checkDomains() error {
	if u.Role == RoleAdmin && u.Domains.Limited() {
		return errAdminLimited
	}
	return u.Domains.check()
}

func appendInvalid(invalid engine.InvalidError, err error) engine.InvalidError {
	var field engine.FieldError
	if errors.As(err, &field) {
		invalid = append(invalid, field)
	}
	return invalid
}

// checkFree returns an engine.FieldError if a user has that name.
func (a *Accounts) checkFree(name string) error {
	_, err := a.userByName(name)
	switch {
	case err == nil:
		return fieldError("email", "taken", "a user with this address exists already")
	case errors.Is(err, ErrNoUser):
		return nil
	}
	return err
}

func (l *writeLock) addUser(by Caller, u userRecord) (User, error) {
	a := l.accounts
	last, err := a.LastUserID()
	if err != nil {
		return User{}, err
	}
	if last >= engine.MaxUser {
		return User{}, errors.New("no user numbers are left")
	}
	if err := a.checkUserCount(last); err != nil {
		return User{}, err
	}
	u.ID, u.CreatedAt, u.HasPassword = last+1, a.moment(), u.password != ""
	sets := [][2][]byte{
		{userKey(u.ID), encodeUser(u)},
		{nameKey(u.Name), binary.BigEndian.AppendUint32(nil, u.ID)},
		{lastUserKey, binary.BigEndian.AppendUint32(nil, u.ID)},
	}
	l.note(by, engine.UserAdded, u.ID, auditOfUser(userRecord{}, u)...)
	if err := l.write(sets, nil); err != nil {
		return User{}, fmt.Errorf("write user %d: %w", u.ID, err)
	}
	return u.User, nil
}

// checkUserCount returns an engine.FieldError if there are MaxUsers users. It counts them only if
// at least MaxUsers numbers were ever given.
func (a *Accounts) checkUserCount(last uint32) error {
	if last < MaxUsers {
		return nil
	}
	users := 0
	err := a.eachUser(func(User) bool { users++; return true })
	if err == nil && users >= MaxUsers {
		err = fieldError("", "too_many", fmt.Sprintf("there are already %d users; delete some", users))
	}
	return err
}

// ListUsers returns all users, the lowest number first. There are at most MaxUsers.
func (a *Accounts) ListUsers() ([]User, error) {
	users := []User{}
	err := a.eachUser(func(u User) bool { users = append(users, u); return true })
	return users, err
}

// OldestAdmin returns the admin with the lowest number, or ErrNoUser.
func (a *Accounts) OldestAdmin() (User, error) { return a.adminBut(0) }

// adminBut returns the admin with the lowest number other than id, or ErrNoUser.
func (a *Accounts) adminBut(id uint32) (User, error) {
	found := User{}
	err := a.eachUser(func(u User) (more bool) {
		if u.Role == RoleAdmin && u.ID != id {
			found = u
		}
		return found.ID == 0
	})
	if err == nil && found.ID == 0 {
		err = ErrNoUser
	}
	return found, err
}

// DomainsOf returns the domains that a user may use, or ErrNoUser if no user has the id.
func (a *Accounts) DomainsOf(id uint32) (Domains, error) {
	u, err := a.readUser(id)
	return u.Domains, err
}

// UserNumbered returns the user with that number, or ErrNoUser.
func (a *Accounts) UserNumbered(id uint32) (User, error) {
	u, err := a.readUser(id)
	return u.User, err
}

// UserByName returns the user with that e-mail address, in any case, or AdminName; or ErrNoUser.
func (a *Accounts) UserByName(name string) (User, error) {
	u, err := a.userByName(name)
	return u.User, err
}

func (a *Accounts) userByName(text string) (userRecord, error) {
	name, ok := loginName(text)
	if !ok {
		return userRecord{}, ErrNoUser
	}
	id, err := a.table.Get(nameKey(name))
	if err != nil {
		return userRecord{}, fmt.Errorf("read a user by name: %w", err)
	}
	if id == nil {
		return userRecord{}, ErrNoUser
	}
	if len(id) != 4 {
		return userRecord{}, fmt.Errorf("name row of a user: %w", errFormat)
	}
	return a.readUser(binary.BigEndian.Uint32(id))
}

// LastUserID returns the highest number that a user ever had, 0 if there was none.
func (a *Accounts) LastUserID() (uint32, error) {
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

// nameProblem returns the error text for a token's name, "" if the name is valid.
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
