package account

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/alexedwards/argon2id"
	"golang.org/x/crypto/argon2"
)

// Bounds of a password, in bytes. There are no rules of what must be in it (NIST SP 800-63B, 5.1.1.2).
const (
	minPasswordBytes = 8
	maxPasswordBytes = 1024
)

// passwordParams are what OWASP's cheat sheet on password storage asks for at least (2024): 19 MiB, twice, one lane.
// A hash of others is replaced when its user logs in.
var passwordParams = argon2id.Params{Memory: 19 << 10, Iterations: 2, Parallelism: 1, SaltLength: 16, KeyLength: 32}

// noPassword is a hash that no password has, as dear to compare with as any: who asks whether there is a user of some address
// learns nothing from how long the answer takes.
var noPassword = fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version,
	passwordParams.Memory, passwordParams.Iterations, passwordParams.Parallelism, strings.Repeat("A", 22), strings.Repeat("A", 43))

// Limits of hashing, so that whoever sends passwords takes neither all memory (76 MiB at most) nor all time.
const (
	maxHashings     = 4
	maxHashWaiters  = 64
	hashingPatience = 2 * time.Second
)

// hashing lets maxHashings passwords be hashed at a time.
type hashing struct {
	slots   chan struct{}
	waiting *atomic.Int32
}

func newHashing() hashing { return hashing{make(chan struct{}, maxHashings), new(atomic.Int32)} }

// take waits for a slot, to be given back with release; ErrOverloaded if that takes too long or too many wait.
func (h hashing) take() error {
	select {
	case h.slots <- struct{}{}:
		return nil
	default:
	}
	defer h.waiting.Add(-1)
	if h.waiting.Add(1) > maxHashWaiters {
		return ErrOverloaded
	}
	patience := time.NewTimer(hashingPatience)
	defer patience.Stop()
	select {
	case h.slots <- struct{}{}:
		return nil
	case <-patience.C:
		return ErrOverloaded
	}
}

func (h hashing) release() { <-h.slots }

// hash returns what is kept of a password, or an engine.FieldError of "password".
func (h hashing) hash(password string) (string, error) {
	switch {
	case len(password) < minPasswordBytes:
		return "", fieldError("password", "too_short", fmt.Sprintf("must be at least %d bytes", minPasswordBytes))
	case len(password) > maxPasswordBytes:
		return "", fieldError("password", "too_long", fmt.Sprintf("must be at most %d bytes", maxPasswordBytes))
	}
	if err := h.take(); err != nil {
		return "", err
	}
	defer h.release()
	kept, err := argon2id.CreateHash(password, &passwordParams)
	if err != nil {
		return "", fmt.Errorf("hash a password: %w", err)
	}
	return kept, nil
}

// matches tells whether kept is the hash of password, and whether it is of other parameters than today's. An empty kept
// matches nothing, in the same time.
func (h hashing) matches(password, kept string) (ok, outdated bool, err error) {
	if len(password) > maxPasswordBytes { // nobody's, and known without hashing
		return false, false, nil
	}
	if err := h.take(); err != nil {
		return false, false, err
	}
	defer h.release()
	has := kept != ""
	if !has {
		kept = noPassword
	}
	ok, params, err := argon2id.CheckHash(password, kept)
	if err != nil {
		return false, false, errors.Join(errFormat, err) // neither holds the password
	}
	return ok && has, *params != passwordParams, nil
}
