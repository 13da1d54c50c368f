package account

import "testing"

func TestSessionsAreCountedOverEveryWriteAndRestart(t *testing.T) {
	f := newFolder(t)
	u := f.withPassword(t, "ann@example.com")
	want := func(when string, n uint64) {
		t.Helper()
		if got := f.CountSessions(); got != n {
			t.Errorf("%s: %d sessions are counted, want %d", when, got, n)
		}
	}
	want("at first", 0)
	_, first := f.logIn(t, "ann@example.com")
	f.logIn(t, "ann@example.com")
	want("after two logins", 2)
	f.reopen(t)
	if err := f.beginCount(); err != nil {
		t.Fatal(err)
	}
	want("after a restart", 2)
	for range 2 { // the second time there is none to end
		if err := f.EndSession(first); err != nil {
			t.Fatal(err)
		}
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
	if err := f.EndSessions(Caller{}, u.ID); err != nil {
		t.Fatal(err)
	}
	want("after the end of all", 0)
}

// wantCounted compares the count with the table.
func (f *folder) wantCounted(t testing.TB) {
	n := uint64(0)
	err := f.table.Scan([]byte{sessionTable}, func([]byte, []byte) (bool, error) {
		n++
		return true, nil
	})
	if got := f.CountSessions(); err != nil || got != n {
		t.Errorf("%d sessions are counted, and the table has %d (%v)", got, n, err)
	}
}
