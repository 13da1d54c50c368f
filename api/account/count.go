package account

import "log/slog"

// The number of sessions is counted once a minute, and between two counts it follows the writes: a row is set once,
// under a new key, and only rows that were read under the write lock are deleted. What other nodes write shows with
// the next count.

// CountSessions returns the number of sessions in the table, those included that have expired and
// are not deleted yet. Until Run has counted those of earlier runs, it is too low. A call is one atomic read.
func (a *Accounts) CountSessions() uint64 { return uint64(max(0, a.sessions.Load())) }

// countSessions counts the sessions that the table has. Writers wait for it: 320,000 sessions, which
// are all that MaxUsers can have, take some 0.1 s.
func (a *Accounts) countSessions(log *slog.Logger) {
	lock, err := a.lockWrites()
	if err == nil {
		defer lock.Unlock()
		n := int64(0)
		err = a.table.Scan(sessionKey(nil), func(key, _ []byte) (bool, error) {
			n += isSession(key)
			return true, nil
		})
		if err == nil {
			a.sessions.Store(n)
		}
	}
	if err != nil {
		log.Warn("the sessions of logins could not be counted, so their metric may be wrong; trying again", slog.Any("cause", err))
	}
}

// countWritten follows a write that has ended, before the next one begins.
func (a *Accounts) countWritten(sets [][2][]byte, deletes [][]byte) {
	for _, row := range sets {
		a.sessions.Add(isSession(row[0]))
	}
	for _, key := range deletes {
		a.sessions.Add(-isSession(key))
	}
}

// isSession returns 1 for the key of a session, 0 for others.
func isSession(key []byte) int64 {
	if len(key) > 0 && key[0] == sessionKey(nil)[0] {
		return 1
	}
	return 0
}
