package account

import (
	"crypto/rand"
	"errors"
	"io"
	"sync/atomic"
	"time"

	"shunt/api/password"
	"shunt/api/table"
	"shunt/engine"
)

// Limits of what a user, or all users, may have.
const (
	MaxUsers    = 10_000
	MaxTokens   = 1000 // of a user; expired ones make room
	MaxSessions = 32   // of a user; one more ends the one that has been idle longest, of those that are not valid first

	MaxSetupCodes = 8 // of a user; one more ends the oldest, of those that are not valid first
)

// Limits of names, in bytes.
const (
	maxTokenNameBytes = 100
	maxEmailBytes     = 254 // RFC 5321 with its erratum 1690
)

// AdminName is the name of the user that EnsureAdmin creates.
const AdminName = "admin"

var (
	// ErrUnauthorized means that the token or the session is malformed, unknown, ended or expired,
	// or that its user is gone; or that the e-mail address or the password is wrong. The error does
	// not say which.
	ErrUnauthorized = errors.New("unauthorized")
	// ErrNoUser means that the user does not exist.
	ErrNoUser = errors.New("no such user")
	// ErrNoToken means that the user has no such token.
	ErrNoToken = errors.New("no such token")
	// ErrNoSetupCode means that the setup code is malformed, unknown, used or expired, or that its
	// user is gone. The error does not say which.
	ErrNoSetupCode = errors.New("no such setup code")
	// ErrOverloaded means that too many passwords are being hashed.
	ErrOverloaded = password.ErrOverloaded
)

// Accounts are the users, tokens and sessions of a store.
type Accounts struct {
	reads  bool          // see ReadOnly
	table  *table.Writer // by writeLock only, which tells callers
	now    func() time.Time
	random io.Reader

	hashing hashing
	uses    uses
	// sendUses sends last uses to the node that leads; nil: there is no cluster.
	sendUses func([]Use) error
	callers  *callers

	sessions atomic.Int64 // see CountSessions
}

// New returns the accounts in table. If now is nil, it is time.Now. Nothing else may write to the
// table: the accounts would neither wait for it nor see it.
func New(rows table.Table, now func() time.Time) *Accounts {
	if now == nil {
		now = time.Now
	}
	return &Accounts{
		table: table.NewWriter(rows), now: now, random: rand.Reader,
		hashing: hashing{password.New(engine.Cores(), maxHashesCaller)}, uses: newUses(), callers: newCallers(),
	}
}

// moment returns the time as rows can hold it: UTC, to the millisecond.
func (a *Accounts) moment() time.Time { return a.now().UTC().Truncate(time.Millisecond) }
