package account

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// formatVersion is "v" in every value. A row of a newer version is an error, never a guess.
const formatVersion = 1

var errFormat = errors.New("account row of unknown format")

// lastUserKey holds the highest number that a user ever had: numbers own links, so none is given twice.
var lastUserKey = []byte{'s'}

func userKey(id uint32) []byte                    { return binary.BigEndian.AppendUint32([]byte{'u'}, id) }
func nameKey(name string) []byte                  { return append([]byte{'n'}, strings.ToLower(name)...) }
func tokenKey(hash []byte) []byte                 { return append([]byte{'t'}, hash...) }
func tokensOf(user uint32) []byte                 { return binary.BigEndian.AppendUint32([]byte{'x'}, user) }
func tokenIndexKey(user uint32, id string) []byte { return append(tokensOf(user), id...) }

type userRow struct {
	V         int    `json:"v"`
	ID        uint32 `json:"id"`
	Name      string `json:"name"`
	Role      Role   `json:"role"`
	CreatedMs int64  `json:"created_ms"`
}

type tokenRow struct {
	V         int     `json:"v"`
	ID        string  `json:"id"`
	Hash      []byte  `json:"hash"` // again, so that it is compared with what was asked for
	User      uint32  `json:"user"`
	Name      string  `json:"name"`
	Scopes    []Scope `json:"scopes"`
	CreatedMs int64   `json:"created_ms"`
	ExpiresMs int64   `json:"expires_ms,omitempty"` // 0: never
}

func encodeUser(u User) []byte {
	return encode(userRow{V: formatVersion, ID: u.ID, Name: u.Name, Role: u.Role, CreatedMs: u.CreatedAt.UnixMilli()})
}

func encodeToken(t Token, hash []byte) []byte {
	row := tokenRow{
		V: formatVersion, ID: t.ID, Hash: hash, User: t.UserID, Name: t.Name, Scopes: t.Scopes,
		CreatedMs: t.CreatedAt.UnixMilli(),
	}
	if !t.ExpiresAt.IsZero() {
		row.ExpiresMs = t.ExpiresAt.UnixMilli()
	}
	return encode(row)
}

func encode(row any) []byte {
	b, err := json.Marshal(row)
	if err != nil {
		panic(fmt.Sprintf("account: encoding a row: %v", err)) // its fields cannot fail
	}
	return b
}

func decodeUser(value []byte) (User, error) {
	var row userRow
	if err := json.Unmarshal(value, &row); err != nil || row.V != formatVersion {
		return User{}, fmt.Errorf("%w (version %d)", errFormat, row.V)
	}
	return User{ID: row.ID, Name: row.Name, Role: row.Role, CreatedAt: time.UnixMilli(row.CreatedMs).UTC()}, nil
}

func decodeToken(value []byte) (t Token, hash []byte, err error) {
	var row tokenRow
	if err := json.Unmarshal(value, &row); err != nil || row.V != formatVersion {
		return Token{}, nil, fmt.Errorf("%w (version %d)", errFormat, row.V)
	}
	t = Token{
		ID: row.ID, UserID: row.User, Name: row.Name, Scopes: row.Scopes,
		CreatedAt: time.UnixMilli(row.CreatedMs).UTC(),
	}
	if row.ExpiresMs != 0 {
		t.ExpiresAt = time.UnixMilli(row.ExpiresMs).UTC()
	}
	return t, row.Hash, nil
}

func (a *Accounts) readUser(id uint32) (User, error) {
	value, err := a.table.Get(userKey(id))
	if err != nil {
		return User{}, fmt.Errorf("read user %d: %w", id, err)
	}
	if value == nil {
		return User{}, ErrNoUser
	}
	return decodeUser(value)
}

// readToken returns the token of a hash and the hash that is kept in it, or ErrUnauthorized.
func (a *Accounts) readToken(hash []byte) (Token, []byte, error) {
	value, err := a.table.Get(tokenKey(hash))
	if err != nil {
		return Token{}, nil, fmt.Errorf("read token: %w", err)
	}
	if value == nil {
		return Token{}, nil, ErrUnauthorized
	}
	return decodeToken(value)
}

// eachUser calls fn for each user, the lowest number first, until it returns false.
func (a *Accounts) eachUser(fn func(User) (more bool)) error {
	err := a.table.Scan([]byte{'u'}, func(_, value []byte) (bool, error) {
		u, err := decodeUser(value)
		return err == nil && fn(u), err
	})
	if err != nil {
		return fmt.Errorf("read users: %w", err)
	}
	return nil
}

// eachToken calls fn for each token of user. The scan is over before the first call, because it must not call the table.
func (a *Accounts) eachToken(user uint32, fn func(t Token, hash []byte)) error {
	var hashes [][]byte
	err := a.table.Scan(tokensOf(user), func(_, hash []byte) (bool, error) {
		hashes = append(hashes, append([]byte(nil), hash...))
		return true, nil
	})
	if err != nil {
		return fmt.Errorf("read tokens of user %d: %w", user, err)
	}
	for _, hash := range hashes {
		t, _, err := a.readToken(hash)
		if errors.Is(err, ErrUnauthorized) {
			continue // revoked since the scan
		}
		if err != nil {
			return err
		}
		fn(t, hash)
	}
	return nil
}
