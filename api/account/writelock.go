package account

import (
	"context"

	"shunt/api/table"
	"shunt/engine"
)

// A writeLock is the right to write. Its write tells callers, and counts sessions.
type writeLock struct {
	*table.Lock
	accounts *Accounts
}

// lockWrites is table.Writer.Lock.
func (a *Accounts) lockWrites() (*writeLock, error) {
	lock, err := a.table.Lock()
	if err != nil {
		return nil, err
	}
	return &writeLock{lock, a}, nil
}

// note says who makes the write, and what it does to a user, for the audit log.
func (l *writeLock) note(by Caller, action engine.AuditAction, user uint32, changes ...engine.AuditChange) *engine.AuditEntry {
	l.Entry = &engine.AuditEntry{Action: action, By: by.By(l.accounts.now()), User: user, Changes: changes}
	return l.Entry
}

// write is writeThen without a function to call at its end.
func (l *writeLock) write(sets [][2][]byte, deletes [][]byte) error {
	return l.writeThen(sets, deletes, func(bool) {})
}

// writeThen is table.Lock.Write. All writes go through it.
func (l *writeLock) writeThen(sets [][2][]byte, deletes [][]byte, ended func(written bool)) error {
	if l.Context().Err() != nil {
		ended(false)
		return engine.ErrOverloaded
	}
	forgotten := l.accounts.callers.writing(sets, deletes)
	return l.Write(sets, deletes, func(written bool) {
		forgotten()
		if written {
			l.accounts.countWritten(sets, deletes)
		}
		ended(written)
	})
}

// Lead is table.Writer.Lead.
func (a *Accounts) Lead(ctx context.Context, begin func() error) error {
	return a.table.Lead(ctx, begin)
}

// Changed says that another node has changed rows: callers are read again.
func (a *Accounts) Changed() { a.callers.forgetAll() }
