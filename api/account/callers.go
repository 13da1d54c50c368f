package account

import (
	"crypto/sha256"
	"encoding/binary"
	"strings"
	"sync"
	"time"

	"shunt/engine"
)

// Bounds of the callers in memory: together 16 MiB at most, about 7 MiB with names and scopes as
// they usually are.
const (
	maxKnownCallers     = 1 << 14 // more than MaxUsers, so that everybody may have a page open
	maxKnownCallerBytes = 1 << 9  // of strings and scopes; callers with more are read each time
)

// callers are callers that were read from the table, by the credential that identified them. The
// next request with that credential does not read the table.
//
// What they say is always what the table says:
//
//  1. They are told of a write before it begins, and forget whatever it touches. While it is under
//     way its outcome is not known, so nothing is added. A credential that it touches is then read
//     from the table on each request, however long the write takes and whether its caller has given
//     up.
//  2. A reader takes a ticket before it reads the table, and can add what it read only if no write
//     was under way then and none has begun since. So a slow reader cannot add what a write has
//     changed in the meantime.
//  3. What the passing of time changes, an entry says of itself: it is good until a moment, and
//     after that the table decides.
//
// Tokens and sessions that do not exist are not remembered, because anybody can invent them. When
// half of the places are taken by callers that were seen lately, the other half is emptied and the
// two change roles. So an entry stays for at least 8,191 others that are asked for after it.
type callers struct {
	mu       sync.Mutex
	begun    ticket // writes that have begun, counted from 1
	underWay int    // writes that have begun and not ended
	recent   map[credential]*knownCaller
	older    map[credential]*knownCaller
	edits    [userSlots]uint64 // writes that touched a user of that slot
}

// userSlots are the users modulo 1,024. A write to a user ends all callers of the slot, in the same
// time however many are known; to look for them would take a millisecond, for which all requests
// wait. Those of other users are read once more.
const userSlots = 1 << 10

// A ticket is the right to add what is read from the table from now on. Zero gives no right.
type ticket uint64

// A knownCaller is not changed once it was added, so it can be read without the lock.
type knownCaller struct {
	Caller
	from  time.Time // before then, which a clock that goes back may show, the table decides
	until time.Time // from then on the table decides; zero: never
	edits uint64    // of the user's slot when it was added
}

func newCallers() *callers {
	return &callers{begun: 1, recent: make(map[credential]*knownCaller), older: make(map[credential]*knownCaller)}
}

func (k *knownCaller) good(now time.Time) bool {
	return (k.until.IsZero() || now.Before(k.until)) && !now.Before(k.from)
}

// bytes returns the size of what the table, rather than this package, bounds.
func (k *knownCaller) bytes() int {
	n := len(k.User.Name) + len(k.User.Role) + len(k.TokenID) + len(k.SessionID)
	for _, s := range k.Scopes {
		n += len(s) + 16 // bytes of a string's header
	}
	return n
}

// find returns the caller with that credential, or nil and a ticket for what the table has. It
// allocates nothing.
func (c *callers) find(of credential, now time.Time) (*knownCaller, ticket) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k, recent := c.recent[of]
	if !recent {
		k = c.older[of]
	}
	switch {
	case k != nil && k.edits == c.edits[slotOf(k.User)] && k.good(now):
		if !recent {
			c.put(of, k)
		}
		return k, 0
	case c.underWay > 0:
		return nil, 0
	}
	return nil, c.begun
}

func slotOf(u User) uint32 { return u.ID % userSlots }

// keep adds a caller that was read from the table with t.
func (c *callers) keep(k *knownCaller, t ticket, now time.Time) {
	if !k.good(now) || k.bytes() > maxKnownCallerBytes {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if t == c.begun {
		k.edits = c.edits[slotOf(k.User)]
		c.put(k.credential, k)
	}
}

// forgetAll forgets all callers, and what is being read at present is not added.
func (c *callers) forgetAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.begun++
	clear(c.recent)
	clear(c.older)
}

// put adds an entry to recent, or moves it there. The lock is held.
func (c *callers) put(of credential, k *knownCaller) {
	if _, there := c.recent[of]; !there && len(c.recent) == maxKnownCallers/2 {
		c.recent, c.older = c.older, c.recent
		clear(c.recent)
	}
	delete(c.older, of)
	c.recent[of] = k
}

// writeBegins says that rows with these keys are about to change, or not.
func (c *callers) writeBegins(sets [][2][]byte, deletes [][]byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.begun++
	c.underWay++
	for _, row := range sets {
		c.forget(row[0])
	}
	for _, key := range deletes {
		c.forget(key)
	}
}

// writeEnded says that the table now answers as it will from now on.
func (c *callers) writeEnded() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.underWay--
}

// rowsBesideCallers are the tables whose rows no caller is made of. The row of a last use is among
// them: it can only make a session last longer, and an entry of a session ends when the table may
// have a later use to tell.
const rowsBesideCallers = "snxykwl"

// forget removes what is made of the row with that key; all, if it does not know. The lock is held.
func (c *callers) forget(key []byte) {
	switch {
	case len(key) == 1+sha256.Size && key[0] == 't':
		c.remove(credential{byToken, [sha256.Size]byte(key[1:])})
	case len(key) == 1+sha256.Size && key[0] == 'c':
		c.remove(credential{bySession, [sha256.Size]byte(key[1:])})
	case len(key) == 1+4 && key[0] == 'u':
		c.edits[binary.BigEndian.Uint32(key[1:])%userSlots]++
	case len(key) > 0 && strings.IndexByte(rowsBesideCallers, key[0]) >= 0:
	default:
		clear(c.recent)
		clear(c.older)
	}
}

func (c *callers) remove(of credential) {
	delete(c.recent, of)
	delete(c.older, of)
}

// A toldTable is a table that tells callers of each write, so that no write can be made without it:
// Accounts has no other.
type toldTable struct {
	Table
	callers  *callers
	sessions *sessionCount
}

// Write tells callers that the write begins, and that it has ended before it calls done.
func (t toldTable) Write(sets [][2][]byte, deletes [][]byte, entry *engine.AuditEntry, done func(error)) {
	t.callers.writeBegins(sets, deletes)
	t.Table.Write(sets, deletes, entry, func(err error) {
		t.callers.writeEnded()
		t.sessions.written(sets, deletes, err)
		done(err)
	})
}
