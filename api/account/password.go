package account

import (
	"errors"
	"fmt"

	"shunt/api/password"
	"shunt/api/turnstile"
)

// minPasswordBytes is the least length of a password; the greatest is password.MaxBytes. There are no rules about its
// characters (NIST SP 800-63B, 5.1.1.2).
const minPasswordBytes = 8

// maxHashesCaller is how many passwords of one user or network are hashed or wait at a time.
const maxHashesCaller = 8

// hashing hashes the passwords of users, a few at a time.
type hashing struct{ *password.Hasher }

// ShareCores is password.Hasher.ShareCores.
func (a *Accounts) ShareCores(cores *turnstile.Turnstile) { a.hashing.ShareCores(cores) }

// hash returns the hash of a new password for the caller from, or an engine.FieldError of
// "password".
func (h hashing) hash(from turnstile.Key, text string) (kept string, err error) {
	if err := validPassword(text); err != nil {
		return "", err
	}
	return h.Hash(from, text)
}

func validPassword(text string) error {
	switch {
	case len(text) < minPasswordBytes:
		return fieldError("password", "too_short", fmt.Sprintf("must be at least %d characters", minPasswordBytes))
	case len(text) > password.MaxBytes:
		return fieldError("password", "too_long", fmt.Sprintf("must be at most %d bytes", password.MaxBytes))
	}
	return nil
}

// matches is password.Hasher.Matches. A hash that cannot be read is a row that cannot be read.
func (h hashing) matches(from turnstile.Key, text, kept string) (ok, outdated bool, err error) {
	if ok, outdated, err = h.Matches(from, text, kept); errors.Is(err, password.ErrFormat) {
		err = errors.Join(errFormat, err)
	}
	return ok, outdated, err
}
