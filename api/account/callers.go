package account

import (
	"slices"
	"strings"
	"sync"
	"time"
)

// maxKnownCallers bounds the callers in memory: more than MaxUsers, so that everybody may have a page open. They take
// 16 MiB at most, since names and scopes are bounded, and about 7 MiB as these usually are.
const maxKnownCallers = 1 << 14

// callers are callers that were read from the table, by the credential that identified them. The
// next request with that credential does not read the table.
//
// What they say is always what the table says:
//
//  1. Before a write begins, all are forgotten. While it is under way its outcome is not known, so
//     nothing is added, and each request reads the table, however long the write takes and whether
//     its caller has given up.
//  2. A reader takes a ticket before it reads the table, and can add what it read only if no write
//     was under way then and none has begun since. So a slow reader cannot add what a write has
//     changed in the meantime.
//  3. What the passing of time changes, an entry says of itself: it is good until a moment, and
//     after that the table decides.
//
// Tokens and sessions that do not exist are not remembered, because anybody can invent them. When
// there are too many callers, all are forgotten.
type callers struct {
	mu       sync.Mutex
	begun    ticket // writes that have begun, counted from 1
	underWay int    // writes that have begun and not ended
	known    map[credential]*knownCaller
}

// A ticket is the right to add what is read from the table from now on. Zero gives no right.
type ticket uint64

// A knownCaller is not changed once it was added, so it can be read without the lock.
type knownCaller struct {
	Caller
	from  time.Time // before then, which a clock that goes back may show, the table decides
	until time.Time // from then on the table decides; zero: never
}

func newCallers() *callers { return &callers{begun: 1, known: make(map[credential]*knownCaller)} }

func (k *knownCaller) good(now time.Time) bool {
	return (k.until.IsZero() || now.Before(k.until)) && !now.Before(k.from)
}

// find returns the caller with that credential, or nil and a ticket for what the table has. It
// allocates nothing.
func (c *callers) find(of credential, now time.Time) (*knownCaller, ticket) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k := c.known[of]; k != nil && k.good(now) {
		return k, 0
	}
	if c.underWay > 0 {
		return nil, 0
	}
	return nil, c.begun
}

// keep adds a caller that was read from the table with t.
func (c *callers) keep(k *knownCaller, t ticket, now time.Time) {
	if !k.good(now) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if t != c.begun {
		return
	}
	if len(c.known) == maxKnownCallers {
		clear(c.known)
	}
	c.known[k.credential] = k
}

// forgetAll forgets all callers, and what is being read at present is not added.
func (c *callers) forgetAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.begun++
	clear(c.known)
}

// writing says that rows are about to change, or not, and returns the function that says that the table now answers
// as it will from now on.
func (c *callers) writing(sets [][2][]byte, deletes [][]byte) (ended func()) {
	beside := !slices.ContainsFunc(deletes, makesCallers)
	beside = beside && !slices.ContainsFunc(sets, func(row [2][]byte) bool { return makesCallers(row[0]) })
	if beside {
		return func() {}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.begun++
	c.underWay++
	clear(c.known)
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.underWay--
	}
}

// rowsBesideCallers are the tables whose rows no caller is made of. The row of a last use is among
// them: it can only make a session last longer, and an entry of a session ends when the table may
// have a later use to tell.
const rowsBesideCallers = "snxykwlm"

// makesCallers reports whether callers may be made of the row with that key.
func makesCallers(key []byte) bool {
	return len(key) == 0 || strings.IndexByte(rowsBesideCallers, key[0]) < 0
}
