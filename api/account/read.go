package account

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
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
	table Table, what string, key []byte, decode func(value []byte) (T, []byte, error), missing error,
) (row T, hash []byte, err error) {
	value, err := table.Get(key)
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

// eachToken calls fn for each token of user. The scan ends before the first call, because fn may
// call the table and a scan must not.
func (a *Accounts) eachToken(user uint32, fn func(t Token, hash []byte)) error {
	var hashes [][]byte
	err := a.table.Scan(tokensOf(user), func(_, hash []byte) (bool, error) {
		hashes = append(hashes, bytes.Clone(hash))
		if len(hash) != sha256.Size {
			return false, errFormat
		}
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

// eachSession calls fn for each session of user, including expired ones. The scan ends before the
// first call.
func (a *Accounts) eachSession(user uint32, fn func(s session, hash [sha256.Size]byte) error) error {
	hashes, err := a.hashesUnder(sessionsOf(user))
	if err != nil {
		return fmt.Errorf("read sessions of user %d: %w", user, err)
	}
	for _, hash := range hashes {
		s, _, err := a.readSession(hash[:])
		if errors.Is(err, ErrUnauthorized) {
			continue // ended since the scan
		}
		if err == nil {
			err = fn(s, hash)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// eachSetupCode calls fn for each setup code of user, including expired ones. The scan ends before
// the first call.
func (a *Accounts) eachSetupCode(user uint32, fn func(s setupCode, hash [sha256.Size]byte)) error {
	hashes, err := a.hashesUnder(setupCodesOf(user))
	if err != nil {
		return fmt.Errorf("read setup codes of user %d: %w", user, err)
	}
	for _, hash := range hashes {
		s, _, err := a.readSetupCode(hash[:])
		if errors.Is(err, ErrNoSetupCode) {
			continue // used since the scan
		}
		if err != nil {
			return err
		}
		fn(s, hash)
	}
	return nil
}

// hashesUnder returns the hashes that follow prefix in the keys of rows.
func (a *Accounts) hashesUnder(prefix []byte) (hashes [][sha256.Size]byte, err error) {
	err = a.table.Scan(prefix, func(key, _ []byte) (bool, error) {
		if len(key) != len(prefix)+sha256.Size {
			return false, errFormat
		}
		hashes = append(hashes, [sha256.Size]byte(key[len(prefix):]))
		return true, nil
	})
	return hashes, err
}
