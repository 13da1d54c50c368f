package account

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/alexedwards/argon2id"
	"golang.org/x/crypto/argon2"

	"shunt/api/internal/seams"
	"shunt/api/turnstile"
)

// Limits of the length of a password, in bytes. There are no rules about its characters (NIST SP
// 800-63B,
// 5.1.1.2).
const (
	minPasswordBytes = 8
	maxPasswordBytes = 1024
)

// noPassword returns a hash that matches no password. Comparing with it takes as long as with any other,
// so the time of an answer does not show whether an address has a user.
func noPassword() string {
	p := &seams.Passwords
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version,
		p.Memory, p.Iterations, p.Parallelism, strings.Repeat("A", 22), strings.Repeat("A", 43))
}

// Limits of hashing. A hash takes 19 MiB and about 40 ms of a core. To leave memory and cores to
// other work, at most 4 passwords are hashed at a time (76 MiB), on at most half of the cores. On a
// machine with two cores, a full queue of 64 takes 2.6 s.
const (
	maxHashings     = 4
	maxHashWaiters  = 64
	maxHashesCaller = 8 // of one user or network, waiting ones included
	hashingPatience = 5 * time.Second
)

// hashing limits how many passwords are hashed at a time.
type hashing struct {
	places *turnstile.Turnstile
	cores  *turnstile.Turnstile // for all work that keeps a core busy
}

// newHashing returns a hashing for a machine with that many cores.
func newHashing(cores int) hashing {
	places := turnstile.HalfOf(cores)
	return hashing{
		places: turnstile.New(turnstile.Limits{
			Places: min(maxHashings, places), PerCaller: maxHashesCaller, Waiting: maxHashWaiters, Patience: hashingPatience,
		}),
		cores: turnstile.New(turnstile.Limits{Places: places, Waiting: maxHashings, Patience: hashingPatience}),
	}
}

// ShareCores makes each hash take a place of cores, which hashing then shares with all other work
// that keeps a core busy. Call it before the first hash.
func (a *Accounts) ShareCores(cores *turnstile.Turnstile) { a.hashing.cores = cores }

// inTurn calls fn when the turn of the caller from comes, or returns ErrOverloaded if that takes
// too long or too many wait.
func (h hashing) inTurn(from turnstile.Key, fn func() error) error {
	err := h.places.Do(from, func() error { return h.cores.Do(from, fn) })
	if errors.Is(err, turnstile.ErrFull) || errors.Is(err, turnstile.ErrShare) {
		return ErrOverloaded
	}
	return err
}

// hash returns the hash of a new password for the caller from, or an engine.FieldError of
// "password".
func (h hashing) hash(from turnstile.Key, password string) (kept string, err error) {
	if err := validPassword(password); err != nil {
		return "", err
	}
	err = h.inTurn(from, func() (err error) {
		if kept, err = argon2id.CreateHash(password, &seams.Passwords); err != nil {
			err = fmt.Errorf("hash a password: %w", err)
		}
		return err
	})
	return kept, err
}

func validPassword(password string) error {
	switch {
	case len(password) < minPasswordBytes:
		return fieldError("password", "too_short", fmt.Sprintf("must be at least %d characters", minPasswordBytes))
	case len(password) > maxPasswordBytes:
		return fieldError("password", "too_long", fmt.Sprintf("must be at most %d bytes", maxPasswordBytes))
	}
	return nil
}

// matches reports whether kept is the hash of password, which the caller from has sent, and whether
// it has other parameters than new ones. An empty kept matches nothing, in the same time.
func (h hashing) matches(from turnstile.Key, password, kept string) (ok, outdated bool, err error) {
	if len(password) > maxPasswordBytes { // nobody has such a password, so no hash is needed
		return false, false, nil
	}
	has := kept != ""
	if !has {
		kept = noPassword()
	}
	err = h.inTurn(from, func() error {
		var params *argon2id.Params
		var err error
		if ok, params, err = argon2id.CheckHash(password, kept); err != nil {
			return errors.Join(errFormat, err) // neither error holds the password
		}
		outdated = *params != seams.Passwords
		return nil
	})
	return ok && has, outdated, err
}
