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
	value, err := a.table.Get(tokenKey(hash))
	if err != nil {
		return Token{}, nil, fmt.Errorf("read token: %w", err)
	}
	if value == nil {
		return Token{}, nil, ErrUnauthorized
	}
	return decodeToken(value)
}

// readSession returns the session of a hash and the hash in its row, or ErrUnauthorized.
func (a *Accounts) readSession(hash []byte) (session, []byte, error) {
	value, err := a.table.Get(sessionKey(hash))
	if err != nil {
		return session{}, nil, fmt.Errorf("read session: %w", err)
	}
	if value == nil {
		return session{}, nil, ErrUnauthorized
	}
	return decodeSession(value)
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
	var hashes [][sha256.Size]byte
	prefix := sessionsOf(user)
	err := a.table.Scan(prefix, func(key, _ []byte) (bool, error) {
		if len(key) != len(prefix)+sha256.Size {
			return false, errFormat
		}
		hashes = append(hashes, [sha256.Size]byte(key[len(prefix):]))
		return true, nil
	})
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
