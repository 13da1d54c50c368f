package account

import (
	"crypto/rand"
	"errors"
	"io"
	"sync/atomic"
	"time"

	"shunt/engine"
)

// Table keeps rows of bytes. storage.Store.Accounts returns the one in use. Any number of
// goroutines may call its methods at once.
type Table interface {
	// Get returns the value of key, nil if there is none. The caller may keep it.
	Get(key []byte) ([]byte, error)
	// Scan calls fn for each row whose key begins with prefix, in the order of keys, until fn
	// returns false or an error. Key and value are valid only during the call, which must not call
	// the table.
	Scan(prefix []byte, fn func(key, value []byte) (more bool, err error)) error
	// Write applies all sets (key, value) and deletes, and adds entry to the audit log if it is not nil,
	// as one atomic batch. It does not wait for the
	// end of the write. At the end, however late, done is called exactly once, by any goroutine and
	// maybe before Write returns: with nil if the batch is durable and every later Get and Scan
	// sees it, with an error if nothing of it will ever be seen. A write that has begun must not be
	// abandoned before that. done returns soon, and does not call the table. The slices must not
	// change until done is called.
	Write(sets [][2][]byte, deletes [][]byte, entry *engine.AuditEntry, done func(error))
}

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
	ErrOverloaded = errors.New("too many passwords are being checked")
)

// Accounts are the users, tokens and sessions of a store.
type Accounts struct {
	reads  bool  // see ReadOnly
	table  Table // written to by writeLock only, which tells callers
	now    func() time.Time
	random io.Reader

	writes  chan struct{} // one may write; see writeLock
	hashing hashing
	uses    uses
	// sendUses sends last uses to the node that leads; nil: there is no cluster.
	sendUses func([]Use) error
	callers  *callers

	sessions atomic.Int64 // see CountSessions
}

// New returns the accounts in table. If now is nil, it is time.Now. Nothing else may write to the
// table: the accounts would neither wait for it nor see it.
func New(table Table, now func() time.Time) *Accounts {
	if now == nil {
		now = time.Now
	}
	return &Accounts{
		table: table, now: now, random: rand.Reader, writes: make(chan struct{}, 1),
		hashing: newHashing(engine.Cores()), uses: newUses(), callers: newCallers(),
	}
}

// moment returns the time as rows can hold it: UTC, to the millisecond.
func (a *Accounts) moment() time.Time { return a.now().UTC().Truncate(time.Millisecond) }
