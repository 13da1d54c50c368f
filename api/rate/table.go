package rate

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"sync"
	"time"

	"github.com/dchest/siphash"
)

// The size of a table, 1 MiB, and its locks.
const (
	ways  = 8       // entries of a set, of 16 bytes: two cache lines
	sets  = 1 << 13 // 65,536 entries
	locks = 64      // a set has one of them
)

// MaxCost is the most events that one Take can take.
const MaxCost = 1000

// An entry is the state of one client.
type entry struct {
	client uint64 // SipHash-2-4 of its key
	tat    int64  // see gcra; in a fresh table 0, which is the epoch
}

// A Table applies a Limit to each of its clients. Any number of goroutines may use it at once. The
// package comment says what it does when there are more clients than entries.
type Table struct {
	gcra   gcra
	epoch  time.Time
	k0, k1 uint64 // a secret, so that nobody can choose who shares a set with whom

	sets  [sets][ways]entry
	locks [locks]struct {
		sync.Mutex
		_ [56]byte // a cache line each
	}
}

// NewTable returns a table for l, nil if l is off. It takes a time before epoch for epoch.
func NewTable(l Limit, epoch time.Time) *Table {
	if l.Off() {
		return nil
	}
	var secret [16]byte
	if _, err := rand.Read(secret[:]); err != nil {
		panic(fmt.Sprintf("rate: no random bytes: %v", err)) // crypto/rand ends the process before
	}
	return &Table{
		gcra: newGCRA(l), epoch: epoch,
		k0: binary.LittleEndian.Uint64(secret[:8]), k1: binary.LittleEndian.Uint64(secret[8:]),
	}
}

// A Verdict is the result of a Take or a Peek.
type Verdict struct {
	Allowed   bool
	Remaining int           // events that are allowed at once from now on
	Wait      time.Duration // until as many are allowed; 0 if they are
	Full      time.Duration // until the full allowance is back
}

// Take takes cost events, from 1 to MaxCost, from the allowance of the client that key names, or
// nothing if they are too many. A client for which the table has no entry is allowed them and not
// counted. Take allocates nothing, and does not keep key.
func (t *Table) Take(key []byte, at time.Time, cost int) Verdict { return t.ask(key, at, cost, true) }

// Peek reports whether a Take would be allowed, and takes nothing.
func (t *Table) Peek(key []byte, at time.Time, cost int) Verdict { return t.ask(key, at, cost, false) }

// GiveBack undoes an allowed Take of cost events, because what they were for did not happen.
func (t *Table) GiveBack(key []byte, at time.Time, cost int) {
	client := siphash.Hash(t.k0, t.k1, key)
	set := client % sets
	lock := &t.locks[set%locks]
	lock.Lock()
	defer lock.Unlock()
	if e := find(&t.sets[set], client, t.gcra.time(at.Sub(t.epoch))); e != nil && e.client == client {
		e.tat = max(0, e.tat-int64(min(max(cost, 1), MaxCost))*t.gcra.interval)
	}
}

func (t *Table) ask(key []byte, at time.Time, cost int, take bool) Verdict {
	client := siphash.Hash(t.k0, t.k1, key)
	set := client % sets
	now := t.gcra.time(at.Sub(t.epoch))
	lock := &t.locks[set%locks]
	lock.Lock()
	defer lock.Unlock()
	e := find(&t.sets[set], client, now)
	if e == nil {
		e = new(entry) // for a client that is not counted; it does not escape
	}
	tat := max(e.tat, now)
	next, wait := t.gcra.take(tat, now, int64(min(max(cost, 1), MaxCost)))
	if take && wait == 0 {
		e.client, e.tat = client, next
		tat = next
	}
	return Verdict{
		Allowed:   wait == 0,
		Remaining: int(t.gcra.remaining(tat, now)),
		Wait:      t.gcra.duration(wait),
		Full:      t.gcra.duration(tat - now),
	}
}

// find returns the client's entry, or else one that is back at full allowance and so free, or nil.
func find(set *[ways]entry, client uint64, now int64) (free *entry) {
	for i := range set {
		switch e := &set[i]; {
		case e.client == client:
			return e
		case free == nil && e.tat <= now:
			free = e
		}
	}
	return free
}
