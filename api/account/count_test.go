package account

import (
	"errors"
	"log/slog"
	"testing"

	"shunt/api/table"
	"shunt/engine/expect"
)

func TestSessionsAreCountedOverEveryWriteAndRestart(t *testing.T) {
	f := newFolder(t)
	u := f.withPassword(t, "ann@example.com")
	want := func(when string, n uint64) {
		t.Helper()
		expect.Equal(t, f.CountSessions(), n, "%s sessions are counted", when)
	}
	want("at first", 0)
	_, first := f.logIn(t, "ann@example.com")
	f.logIn(t, "ann@example.com")
	want("after two logins", 2)
	f.reopen(t)
	f.countSessions(slog.New(slog.DiscardHandler))
	want("after a restart", 2)
	for range 2 { // the second time there is none to end
		expect.OK(t, f.EndSession(first))
	}
	want("after a log-out", 1)
	for range MaxSessions + 3 {
		f.logIn(t, "ann@example.com")
	}
	want("after more logins than a user may have sessions", MaxSessions)
	f.now = f.now.Add(sessionIdle)
	want("when all have expired", MaxSessions)
	f.logIn(t, "ann@example.com")
	want("after the next login", MaxSessions)
	expect.OK(t, f.EndSessions(Caller{}, u.ID))
	want("after the end of all", 0)
}

// wantCounted compares the count with the table.
func (f *folder) wantCounted(t testing.TB) {
	got := f.CountSessions()
	f.countSessions(slog.New(slog.DiscardHandler))
	n := f.CountSessions()
	expect.That(t, got == n, "%d sessions are counted, and the table has %d", got, n)
}

func TestSessionsThatAnotherNodeHasEndedAreCountedAgain(t *testing.T) {
	s, log := newShared(t), slog.New(slog.DiscardHandler)
	expect.NoError(t, s.another.EndSession(s.cookie))
	if s.countSessions(log); s.CountSessions() != 0 {
		t.Errorf("%d sessions are counted, want none", s.CountSessions())
	}
}

// unreadable is a table that cannot be read.
type unreadable struct{ table.Table }

func (unreadable) Scan([]byte, func(key, value []byte) (bool, error)) error {
	return errors.New("the disk is gone")
}

func TestACountOfSessionsThatFailsKeepsTheLastOne(t *testing.T) {
	f, log := newFolder(t), slog.New(slog.DiscardHandler)
	f.begin(t, f.admin(t).User)
	rows := f.table
	f.table = table.NewWriter(unreadable{rows})
	if f.countSessions(log); f.CountSessions() != 1 {
		t.Errorf("%d sessions are counted by a count that failed, want what there was", f.CountSessions())
	}
	f.table = rows
	f.wantCounted(t)
}
