package account

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"shunt/api/table"
	"shunt/engine"
)

// CheckReport counts the rows that Check has read.
type CheckReport struct {
	Users    uint64 `json:"users"`
	Tokens   uint64 `json:"tokens"`
	Sessions uint64 `json:"sessions"`
}

// Check reads every row of the table and verifies it: its key, that its value is what this package
// writes, and that users and names, and tokens, sessions and their index rows, refer to each other
// both ways. It adds every fault to faults; an error means that it could not read the table.
// Nothing may write to the table meanwhile, and the table must allow a Get during a Scan.
func Check(rows table.Table, faults *engine.Faults) (CheckReport, error) {
	c := tableCheck{table: rows, faults: faults}
	err := rows.Scan(nil, func(key, value []byte) (bool, error) {
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

// Known reports whether there is or was a user with that number: the links of a deleted user may
// stay.
func Known(rows table.Table, user uint32) (bool, error) {
	last, err := rows.Get(lastUserKey)
	if err != nil {
		return false, fmt.Errorf("read the last user's number: %w", err)
	}
	return user > 0 && len(last) == 4 && user <= binary.BigEndian.Uint32(last), nil
}

func (c *tableCheck) there(user uint32) (string, error) {
	value, err := c.table.Get(userKey(user))
	if err == nil && value == nil {
		return fmt.Sprintf("there is no user %d", user), nil
	}
	return "", err
}

// canonical reports whether value is exactly the bytes that this program writes for row, in its
// version. row is a pointer.
func canonical(row any, value []byte) bool {
	return json.Unmarshal(value, row) == nil && bytes.Equal(encode(row), value)
}

type tableCheck struct {
	table   table.Table
	faults  *engine.Faults
	report  CheckReport
	highest uint32 // highest number of a user so far
}

// row returns the fault of a row, "" if it has none.
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
	case key[0] == 'c' && len(rest) == sha256.Size:
		return c.session(rest, value)
	case key[0] == 'y' && len(rest) == 4+sha256.Size:
		s, _, err := c.accounts().readSession(rest[4:])
		return indexFault(err, "session", s.UserID, binary.BigEndian.Uint32(rest), value)
	case key[0] == 'k' && len(rest) == sha256.Size:
		return c.setupCode(rest, value)
	case key[0] == 'w' && len(rest) == 4+sha256.Size:
		s, _, err := c.accounts().readSetupCode(rest[4:])
		return indexFault(err, "setup code", s.UserID, binary.BigEndian.Uint32(rest), value)
	case key[0] == 'm' && len(rest) == 4:
		return c.campaigns(binary.BigEndian.Uint32(rest), value)
	case key[0] == 'f' && len(rest) == 4:
		return c.filters(binary.BigEndian.Uint32(rest), value)
	case key[0] == 'l' && len(rest) == sha256.Size:
		return c.use(rest, value)
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
	case !canonical(new(userRow), value):
		return "it is not written as this program writes it", nil
	case u.ID != id || id == 0:
		return fmt.Sprintf("it is of user %d", u.ID), nil
	case validRole(u.Role) != nil:
		return fmt.Sprintf("its role %q does not exist", u.Role), nil
	case u.checkDomains() != nil:
		return fmt.Sprintf("its role is %s, and it is limited to the domains %v", u.Role, u.Domains.Numbers()), nil
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
		return fmt.Sprintf("it leads to user %d, who has another name", id), nil
	}
	return "", nil
}

func (c *tableCheck) token(hash, value []byte) (string, error) {
	c.report.Tokens++
	t, kept, err := decodeToken(value)
	if why := hashFault(err, new(tokenRow), value, kept, hash); why != "" {
		return why, nil
	}
	if t.Begins != "" && (len(t.Begins) != ShownTokenBytes || !strings.HasPrefix(t.Begins, tokenPrefix)) {
		return "it keeps more or less of its text than the beginning", nil
	}
	return c.indexed(tokenIndexKey(t.UserID, t.ID), hash, "tokens", t.UserID)
}

func (c *tableCheck) session(hash, value []byte) (string, error) {
	c.report.Sessions++
	s, kept, err := decodeSession(value)
	if why := hashFault(err, new(sessionRow), value, kept, hash); why != "" {
		return why, nil
	}
	return c.indexed(sessionIndexKey(s.UserID, hash), nil, "sessions", s.UserID)
}

func (c *tableCheck) setupCode(hash, value []byte) (string, error) {
	s, kept, err := decodeSetupCode(value)
	if why := hashFault(err, new(setupCodeRow), value, kept, hash); why != "" {
		return why, nil
	}
	return c.indexed(setupCodeIndexKey(s.UserID, hash), nil, "setup codes", s.UserID)
}

func (c *tableCheck) campaigns(user uint32, value []byte) (string, error) {
	var row campaignsRow
	if err := decode(value, &row, &row.V); err != nil {
		return err.Error(), nil
	}
	switch {
	case !canonical(new(campaignsRow), value):
		return "it is not written as this program writes it", nil
	case row.User != user:
		return fmt.Sprintf("it is of user %d", row.User), nil
	case len(row.Campaigns) == 0 || len(row.Campaigns) > MaxCampaigns:
		return fmt.Sprintf("it has %d campaigns", len(row.Campaigns)), nil
	}
	return c.there(user)
}

func (c *tableCheck) filters(user uint32, value []byte) (string, error) {
	var row filtersRow
	if err := decode(value, &row, &row.V); err != nil {
		return err.Error(), nil
	}
	switch {
	case !canonical(new(filtersRow), value):
		return "it is not written as this program writes it", nil
	case row.User != user:
		return fmt.Sprintf("it is of user %d", row.User), nil
	case len(row.Filters) == 0 || len(row.Filters) > MaxFilters:
		return fmt.Sprintf("it has %d filters", len(row.Filters)), nil
	}
	return c.there(user)
}

// accounts reads the table as others do.
func (c *tableCheck) accounts() *Accounts { return &Accounts{table: table.NewWriter(c.table)} }

// hashFault returns the fault of a row that has a hash, "" if it has none. err is the error of decoding it, row
// points to its form, and kept is the hash in it.
func hashFault(err error, row any, value, kept, hash []byte) string {
	switch {
	case err != nil:
		return err.Error()
	case !canonical(row, value):
		return "it is not written as this program writes it"
	case !bytes.Equal(kept, hash):
		return "it is of another hash"
	}
	return ""
}

// indexed checks that a row is in the index by user, with a value unless that is nil, and that its user is there.
func (c *tableCheck) indexed(key, value []byte, rows string, user uint32) (string, error) {
	found, err := c.table.Get(key)
	switch {
	case err != nil:
		return "", err
	case found == nil || value != nil && !bytes.Equal(found, value):
		return fmt.Sprintf("it is not among the %s of user %d", rows, user), nil
	}
	return c.there(user)
}

// indexFault returns the fault of a row in the index of user. Its value must be empty. err is the error of reading the
// row that it leads to, and of is the user of that row.
func indexFault(err error, what string, of, user uint32, value []byte) (string, error) {
	switch why := wantWidth(value, 0); {
	case why != "":
		return why, nil
	case errors.Is(err, ErrUnauthorized), errors.Is(err, ErrNoSetupCode):
		return "there is no " + what + " of its hash", nil
	case errors.Is(err, errFormat):
		return "", nil // reported where it is
	case err == nil && of != user:
		return fmt.Sprintf("its %s is of user %d", what, of), nil
	}
	return "", err
}

// use allows a row without a token or session. Such a row is left if the token or session is
// removed while its use is being recorded; it holds no personal data.
func (c *tableCheck) use(_, value []byte) (string, error) {
	if _, err := decodeUse(value); err != nil {
		return err.Error(), nil
	}
	if !canonical(new(useRow), value) {
		return "it is not written as this program writes it", nil
	}
	return "", nil
}

func (c *tableCheck) tokenIndex(user uint32, id string, hash []byte) (string, error) {
	if why := wantWidth(hash, sha256.Size); why != "" {
		return why, nil
	}
	t, _, err := c.accounts().readToken(hash)
	if err == nil && (t.UserID != user || t.ID != id) {
		return fmt.Sprintf("its token is %s of user %d", t.ID, t.UserID), nil
	}
	return indexFault(err, "token", t.UserID, user, nil)
}

// checkLast checks that the highest number that was ever given is at least as high as every number
// in use.
func (c *tableCheck) checkLast() error {
	last, err := c.table.Get(lastUserKey)
	if err == nil && (len(last) != 4 || binary.BigEndian.Uint32(last) < c.highest) {
		c.faults.Add("accounts, last user number", "%x, although there is a user %d", last, c.highest)
	}
	return err
}
