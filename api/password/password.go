package password

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/alexedwards/argon2id"
	"golang.org/x/crypto/argon2"

	"shunt/api/internal/seams"
	"shunt/api/turnstile"
)

// MaxBytes bounds a password.
const MaxBytes = 1024

// Limits of hashing. A hash takes 19 MiB and about 40 ms of a core. To leave memory and cores to other work, a Hasher
// hashes at most 4 passwords at a time (76 MiB; imported hashes may ask for 64 MiB each), on at most half of the cores.
// On a machine with two cores, a full queue of 64 takes 2.6 s.
const (
	maxHashings    = 4
	maxHashWaiters = 64

	// Patience is how long a password waits for its turn.
	Patience = 5 * time.Second
)

var (
	// ErrOverloaded means that too many passwords are being hashed.
	ErrOverloaded = errors.New("too many passwords are being checked")
	// ErrFormat means that a text is not the hash of a password. It does not hold the text.
	ErrFormat = errors.New("not the hash of a password")
)

// A Hasher limits how many passwords are hashed at a time. Any number of goroutines may use it.
type Hasher struct {
	places *turnstile.Turnstile
	cores  *turnstile.Turnstile // for all work that keeps a core busy
}

// New returns a Hasher for a machine with that many cores. perCaller is how many passwords of one user or network are
// hashed or wait at a time.
func New(cores, perCaller int) *Hasher {
	places := turnstile.HalfOf(cores)
	return &Hasher{
		places: turnstile.New(turnstile.Limits{
			Places: min(maxHashings, places), PerCaller: perCaller, Waiting: maxHashWaiters, Patience: Patience,
		}),
		cores: turnstile.New(turnstile.Limits{Places: places, Waiting: maxHashings, Patience: Patience}),
	}
}

// ShareCores makes each hash take a place of cores, which h then shares with all other work that
// keeps a core busy. Call it before the first hash.
func (h *Hasher) ShareCores(cores *turnstile.Turnstile) { h.cores = cores }

// Places returns the places that hashes take, for tests.
func (h *Hasher) Places() *turnstile.Turnstile { return h.places }

// inTurn calls fn when the turn of the caller from comes, or returns ErrOverloaded if that takes
// too long or too many wait.
func (h *Hasher) inTurn(from turnstile.Key, fn func() error) error {
	err := h.places.Do(from, func() error { return h.cores.Do(from, func() error { return aside(fn) }) })
	if errors.Is(err, turnstile.ErrFull) || errors.Is(err, turnstile.ErrShare) {
		return ErrOverloaded
	}
	return err
}

// Hash returns the hash of a new password for the caller from.
func (h *Hasher) Hash(from turnstile.Key, password string) (hash string, err error) {
	err = h.inTurn(from, func() (err error) {
		if hash, err = argon2id.CreateHash(password, &seams.Passwords); err != nil {
			err = fmt.Errorf("hash a password: %w", err)
		}
		return err
	})
	return hash, err
}

// Matches reports whether hash is that of password, which the caller from has sent, and whether it has other parameters
// than new ones. An empty hash matches nothing, in the same time. The comparison is that of argon2id.CheckHash, whose
// time does not depend on where two hashes differ.
func (h *Hasher) Matches(from turnstile.Key, password, hash string) (ok, outdated bool, err error) {
	if len(password) > MaxBytes { // nobody has such a password, so no hash is needed
		return false, false, nil
	}
	has := hash != ""
	if !has {
		hash = OfNobody()
	}
	err = h.inTurn(from, func() error {
		var params *argon2id.Params
		var err error
		if ok, params, err = argon2id.CheckHash(password, hash); err != nil {
			return errors.Join(ErrFormat, err) // neither error holds the password
		}
		outdated = *params != seams.Passwords
		return nil
	})
	return ok && has, outdated, err
}

// OfNobody returns a hash that matches no password. Comparing with it takes as long as with any other,
// so the time of an answer does not show whether an address has a user.
func OfNobody() string {
	p := &seams.Passwords
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version,
		p.Memory, p.Iterations, p.Parallelism, strings.Repeat("A", 22), strings.Repeat("A", 43))
}

// Limits of a hash that was made elsewhere: whoever sends one decides what each comparison with it costs. They are four
// times what our own cost.
const (
	maxMemory     = 64 << 10 // KiB
	maxPasses     = 8
	maxLanes      = 4
	maxWork       = maxMemory * 2 // KiB times passes
	leastKeyBytes = 16
	mostKeyBytes  = 64
)

// form is that of a hash; DecodeHash passes over what follows a number.
var form = regexp.MustCompile(`^\$argon2id\$v=19\$m=\d+,t=\d+,p=\d+\$[A-Za-z0-9+/]+\$[A-Za-z0-9+/]+$`)

// CheckHash returns ErrFormat if hash is not one that Matches takes, at a price that we pay.
func CheckHash(hash string) error {
	p, salt, key, err := argon2id.DecodeHash(hash)
	switch {
	case err != nil, !form.MatchString(hash),
		p.Memory < 8*uint32(p.Parallelism), p.Memory > maxMemory, p.Iterations < 1, p.Iterations > maxPasses, p.Memory*p.Iterations > maxWork,
		p.Parallelism < 1, p.Parallelism > maxLanes, len(salt) < 8, len(salt) > mostKeyBytes, len(key) < leastKeyBytes, len(key) > mostKeyBytes:
		return ErrFormat
	}
	return nil
}
