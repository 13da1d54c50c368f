package account

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

	"shunt/engine"
)

// CheckReport counts what Check has read.
type CheckReport struct {
	Users  uint64 `json:"users"`
	Tokens uint64 `json:"tokens"`
}

// Check reads every row of the table and verifies it: its key, that its value is what this package writes, and that users and
// names, and tokens and their index rows, belong to each other both ways. What it finds goes to faults; an error is
// something that kept it from looking. The table must be at rest, and bear a Get during a Scan.
func Check(table Table, faults *engine.Faults) (CheckReport, error) {
	c := tableCheck{table: table, faults: faults}
	err := table.Scan(nil, func(key, value []byte) (bool, error) {
		why, err := c.row(key, value)
		if why != "" {
			faults.Add(fmt.Sprintf("accounts, key %x", key), "%s", why)
		}
		return true, err
	})
	if err == nil && c.highest > 0 {
		err = c.checkLast()
	}
	if err != nil {
		return c.report, fmt.Errorf("check accounts: %w", err)
	}
	return c.report, nil
}

// Known tells whether there is a user of that number. Its row may be malformed: that is for Check to say.
func Known(table Table, user uint32) (bool, error) {
	value, err := table.Get(userKey(user))
	if err != nil {
		return false, fmt.Errorf("read user %d: %w", user, err)
	}
	return value != nil, nil
}

type tableCheck struct {
	table   Table
	faults  *engine.Faults
	report  CheckReport
	highest uint32 // number of a user
}

// row says what is wrong with a row, "" if nothing is.
func (c *tableCheck) row(key, value []byte) (why string, err error) {
	if len(key) == 0 {
		return "it has no key", nil
	}
	rest := key[1:]
	switch {
	case key[0] == 'u' && len(rest) == 4:
		return c.user(binary.BigEndian.Uint32(rest), value)
	case key[0] == 's' && len(rest) == 0:
		return wantWidth(value, 4), nil
	case key[0] == 'n':
		return c.name(key, value)
	case key[0] == 't' && len(rest) == sha256.Size:
		return c.token(rest, value)
	case key[0] == 'x' && len(rest) > 4:
		return c.tokenIndex(binary.BigEndian.Uint32(rest), string(rest[4:]), value)
	}
	return "a row of no known form", nil
}

func wantWidth(value []byte, width int) string {
	if len(value) != width {
		return fmt.Sprintf("it has %d bytes instead of %d", len(value), width)
	}
	return ""
}

func (c *tableCheck) user(id uint32, value []byte) (string, error) {
	c.report.Users++
	c.highest = max(c.highest, id)
	u, err := decodeUser(value)
	switch {
	case err != nil:
		return err.Error(), nil
	case !bytes.Equal(encodeUser(u), value):
		return "it is not written as this program writes it", nil
	case u.ID != id || id == 0:
		return fmt.Sprintf("it is of user %d", u.ID), nil
	case u.Role != RoleAdmin && u.Role != RoleMember:
		return fmt.Sprintf("its role %q is none", u.Role), nil
	}
	owner, err := c.table.Get(nameKey(u.Name))
	if err == nil && (len(owner) != 4 || binary.BigEndian.Uint32(owner) != id) {
		return fmt.Sprintf("the name %q does not lead to it", u.Name), nil
	}
	return "", err
}

func (c *tableCheck) name(key, value []byte) (string, error) {
	if why := wantWidth(value, 4); why != "" {
		return why, nil
	}
	id := binary.BigEndian.Uint32(value)
	text, err := c.table.Get(userKey(id))
	if err != nil {
		return "", err
	}
	if u, err := decodeUser(text); text == nil || err == nil && !bytes.Equal(nameKey(u.Name), key) {
		return fmt.Sprintf("it leads to user %d, who has not this name", id), nil
	}
	return "", nil
}

func (c *tableCheck) token(hash, value []byte) (string, error) {
	c.report.Tokens++
	t, kept, err := decodeToken(value)
	switch {
	case err != nil:
		return err.Error(), nil
	case !bytes.Equal(encodeToken(t, kept), value):
		return "it is not written as this program writes it", nil
	case !bytes.Equal(kept, hash):
		return "it is of another hash", nil
	}
	indexed, err := c.table.Get(tokenIndexKey(t.UserID, t.ID))
	if err == nil && !bytes.Equal(indexed, hash) {
		return fmt.Sprintf("it is not among the tokens of user %d", t.UserID), nil
	}
	if err != nil {
		return "", err
	}
	known, err := Known(c.table, t.UserID)
	if err == nil && !known {
		return fmt.Sprintf("there is no user %d", t.UserID), nil
	}
	return "", err
}

func (c *tableCheck) tokenIndex(user uint32, id string, hash []byte) (string, error) {
	if why := wantWidth(hash, sha256.Size); why != "" {
		return why, nil
	}
	t, _, err := (&Accounts{table: c.table}).readToken(hash)
	switch {
	case errors.Is(err, ErrUnauthorized):
		return "there is no token of its hash", nil
	case errors.Is(err, errFormat):
		return "", nil // told where the token is
	case err == nil && (t.UserID != user || t.ID != id):
		return fmt.Sprintf("its token is %s of user %d", t.ID, t.UserID), nil
	}
	return "", err
}

// checkLast wants the highest number that was ever given to be no lower than one that is there.
func (c *tableCheck) checkLast() error {
	last, err := c.table.Get(lastUserKey)
	if err == nil && (len(last) != 4 || binary.BigEndian.Uint32(last) < c.highest) {
		c.faults.Add("accounts, last user number", "%x, although there is a user %d", last, c.highest)
	}
	return err
}
