package account

import (
	"log/slog"
	"sync/atomic"
)

// sessionCount is the number of rows of sessions in the table. It is counted once, and then follows
// the writes: a row is set once, under a new key, and only rows that were read under the write lock
// are deleted. What other nodes write it does not see, so it is counted again after that.
type sessionCount struct {
	n     atomic.Int64
	stale atomic.Bool // another node has changed rows since the last count began, or that has failed
}

func newSessionCount() *sessionCount { return new(sessionCount) }

// written follows a write that has ended with err, before the next one begins.
func (c *sessionCount) written(sets [][2][]byte, deletes [][]byte, err error) {
	if err != nil {
		return
	}
	n := 0
	for _, row := range sets {
		n += isSession(row[0])
	}
	for _, key := range deletes {
		n -= isSession(key)
	}
	if n != 0 {
		c.n.Add(int64(n))
	}
}

func isSession(key []byte) int {
	if len(key) > 0 && key[0] == sessionTable {
		return 1
	}
	return 0
}

// sessionTable is the first byte of the keys of sessions; see sessionKey.
const sessionTable = 'c'

// CountSessions returns the number of sessions in the table, those included that have expired and
// are not deleted yet. Until Run has counted those of earlier runs, it is too low. Changes of other nodes show
// up to a minute later. A call is one atomic read.
func (a *Accounts) CountSessions() uint64 { return uint64(max(0, a.sessions.n.Load())) }

// countSessions counts the sessions and logs an error; then countAgain tries again.
func (a *Accounts) countSessions(log *slog.Logger) {
	if err := a.beginCount(); err != nil {
		a.sessions.stale.Store(true)
		log.Warn("the sessions of logins could not be counted, so their metric is wrong; trying again", slog.Any("cause", err))
	}
}

// countAgain counts the sessions if another node has changed rows since the last count, or if that has failed.
func (a *Accounts) countAgain(log *slog.Logger) {
	if a.sessions.stale.Load() {
		a.countSessions(log)
	}
}

// beginCount counts the sessions that the table has. Writers wait for it: 320,000 sessions, which
// are all that MaxUsers can have, take some 0.1 s.
func (a *Accounts) beginCount() error {
	lock, err := a.lockWrites()
	if err != nil {
		return err
	}
	defer lock.unlock()
	a.sessions.stale.Store(false) // before the scan, which may not see what is changed meanwhile
	n := int64(0)
	err = a.table.Scan([]byte{sessionTable}, func([]byte, []byte) (bool, error) {
		n++
		return true, nil
	})
	if err == nil {
		a.sessions.n.Store(n)
	}
	return err
}
