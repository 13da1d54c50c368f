package account

import (
	"crypto/sha256"
	"errors"
	"fmt"

	"shunt/api/table"
)

func (a *Accounts) readUser(id uint32) (userRecord, error) {
	value, err := a.table.Get(userKey(id))
	if err != nil {
		return userRecord{}, fmt.Errorf("read user %d: %w", id, err)
	}
	if value == nil {
		return userRecord{}, ErrNoUser
	}
	return decodeUser(value)
}

// readToken returns the token of a hash and the hash in its row, or ErrUnauthorized.
func (a *Accounts) readToken(hash []byte) (Token, []byte, error) {
	return readHashed(a.table, "token", tokenKey(hash), decodeToken, ErrUnauthorized)
}

// readSession returns the session of a hash and the hash in its row, or ErrUnauthorized.
func (a *Accounts) readSession(hash []byte) (session, []byte, error) {
	return readHashed(a.table, "session", sessionKey(hash), decodeSession, ErrUnauthorized)
}

// readSetupCode returns the setup code of a hash and the hash in its row, or ErrNoSetupCode.
func (a *Accounts) readSetupCode(hash []byte) (setupCode, []byte, error) {
	return readHashed(a.table, "setup code", setupCodeKey(hash), decodeSetupCode, ErrNoSetupCode)
}

func readHashed[T any](
	rows table.Table, what string, key []byte, decode func(value []byte) (T, []byte, error), missing error,
) (row T, hash []byte, err error) {
	value, err := rows.Get(key)
	switch {
	case err != nil:
		return row, nil, fmt.Errorf("read %s: %w", what, err)
	case value == nil:
		return row, nil, missing
	}
	return decode(value)
}

// eachUser calls fn for each user, the lowest number first, until it returns false.
func (a *Accounts) eachUser(fn func(User) (more bool)) error {
	err := a.table.Scan([]byte{'u'}, func(_, value []byte) (bool, error) {
		u, err := decodeUser(value)
		return err == nil && fn(u.User), err
	})
	if err != nil {
		return fmt.Errorf("read users: %w", err)
	}
	return nil
}

// eachToken calls fn for each token of user, including expired ones.
func (a *Accounts) eachToken(user uint32, fn func(t Token, hash [sha256.Size]byte) error) error {
	return eachOf(a.table, "tokens", tokensOf(user), a.readToken, fn)
}

// eachSession calls fn for each session of user, including expired ones.
func (a *Accounts) eachSession(user uint32, fn func(s session, hash [sha256.Size]byte) error) error {
	return eachOf(a.table, "sessions", sessionsOf(user), a.readSession, fn)
}

// eachSetupCode calls fn for each setup code of user, including expired ones.
func (a *Accounts) eachSetupCode(user uint32, fn func(s setupCode, hash [sha256.Size]byte) error) error {
	return eachOf(a.table, "setup codes", setupCodesOf(user), a.readSetupCode, fn)
}

// eachOf calls fn for each row that index rows with the prefix lead to, by a hash that is their value or ends their
// key. The scan ends before the first call, because fn may call the table and a scan must not.
func eachOf[T any](
	rows table.Table, what string, prefix []byte, read func(hash []byte) (T, []byte, error), fn func(row T, hash [sha256.Size]byte) error,
) error {
	var hashes [][sha256.Size]byte
	err := rows.Scan(prefix, func(key, hash []byte) (bool, error) {
		if len(hash) == 0 {
			hash = key[len(prefix):]
		}
		if len(hash) != sha256.Size {
			return false, errFormat
		}
		hashes = append(hashes, [sha256.Size]byte(hash))
		return true, nil
	})
	if err != nil {
		return fmt.Errorf("read %s of a user: %w", what, err)
	}
	for _, hash := range hashes {
		row, _, err := read(hash[:])
		if errors.Is(err, ErrUnauthorized) || errors.Is(err, ErrNoSetupCode) {
			continue // it is gone since the scan
		}
		if err == nil {
			err = fn(row, hash)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
