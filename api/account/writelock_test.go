package account

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"shunt/api/table"
	"shunt/engine"
	"shunt/engine/expect"
)

// stalling is a table that can be stalled: then writes begin, and do not end until it is released.
type stalling struct {
	table.Table
	stalled chan struct{} // nil: the table is not stalled; closed by release
	fails   error         // the error of stalled writes, if set
}

func (s *stalling) stall() { s.stalled = make(chan struct{}) }

// release lets the stalled writes end, and waits for them.
func (s *stalling) release() {
	close(s.stalled)
	s.stalled = nil
	synctest.Wait()
}

func (s *stalling) Write(sets [][2][]byte, deletes [][]byte, entry *engine.AuditEntry, done func(error)) {
	stalled := s.stalled
	if stalled == nil {
		s.Table.Write(sets, deletes, entry, done)
		return
	}
	go func() {
		<-stalled
		if s.fails != nil {
			done(s.fails)
			return
		}
		s.Table.Write(sets, deletes, entry, done)
	}()
}

// inStall runs a test in simulated time, with accounts in a folder of its own whose table can be
// stalled.
func inStall(t *testing.T, test func(t *testing.T, f *folder, table *stalling)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := newFolder(t)
		table := &stalling{Table: f.store.Accounts()}
		f.over(table)
		test(t, f, table)
	})
}

// within fails unless call returns want after exactly the time took.
func within(t *testing.T, call func() error, want error, took time.Duration) {
	t.Helper()
	start := time.Now()
	err := call()
	expect.That(t, errors.Is(err, want) && time.Since(start) == took, "got %v after %v, want %v after %v", err, time.Since(start), want, took)
}

func adding(f *folder, email string) func() error {
	return func() error {
		_, err := f.AddUser(UserDraft{Email: email, Role: RoleMember})
		return err
	}
}

func TestAWriteKeepsTheLockAfterItsCallerGaveUp(t *testing.T) {
	inStall(t, func(t *testing.T, f *folder, table *stalling) {
		f.admin(t)
		table.stall()
		within(t, adding(f, "first@example.com"), engine.ErrOutcomeUnknown, engine.CommitTimeout)
		for range 3 {
			within(t, adding(f, "second@example.com"), engine.ErrOverloaded, engine.CommitTimeout)
		}
		table.release()
		first, err := f.UserByName("first@example.com")
		expect.That(t, err == nil && first.ID == 2, "the write that outlived its caller: got %+v, %v, want user 2", first, err)
		expect.Equal(t, f.add(t, "second@example.com", RoleMember).ID, 3, "the next")
	})
}

func TestLockAndTableShareOneTimeLimit(t *testing.T) {
	inStall(t, func(t *testing.T, f *folder, table *stalling) {
		table.stall()
		first := make(chan error, 1)
		go func() { first <- adding(f, "first@example.com")() }()
		synctest.Wait()
		time.AfterFunc(engine.CommitTimeout/2, func() {
			held := table.stalled
			table.stall() // for the second
			close(held)
		})
		within(t, adding(f, "second@example.com"), engine.ErrOutcomeUnknown, engine.CommitTimeout)
		expect.NoError(t, <-first, "the first")
		table.release()
	})
}

func TestAWriteThatFailsLateReleasesTheLock(t *testing.T) {
	inStall(t, func(t *testing.T, f *folder, table *stalling) {
		table.stall()
		table.fails = engine.ErrReadOnly
		within(t, adding(f, "first@example.com"), engine.ErrOutcomeUnknown, engine.CommitTimeout)
		table.release()
		expect.Equal(t, f.add(t, "second@example.com", RoleMember).ID, 1, "the next")
	})
}

func TestARefusalBeforeWritingReleasesTheLock(t *testing.T) {
	inStall(t, func(t *testing.T, f *folder, _ *stalling) {
		admin := f.admin(t)
		taken, role := AdminName+"@example.com", RoleMember
		f.add(t, taken, RoleMember)
		for what, call := range map[string]func() error{
			"a taken address":      adding(f, taken),
			"no such user":         func() error { return f.RemoveUser(Caller{}, 99, mayGo(nil)) },
			"a user who must stay": func() error { return f.RemoveUser(Caller{}, 2, mayGo(errors.New("no"))) },
			"the last admin":       func() error { _, err := f.EditUser(admin, 1, UserEdit{Role: &role}); return err },
			"no such token":        func() error { return f.RevokeToken(Caller{}, 1, "none") },
			"a token without name": func() error { _, _, err := f.IssueToken(admin, TokenDraft{}); return err },
		} {
			err := call()
			expect.That(t, err != nil && f.writable(), "%s: got %v, or the lock is still held", what, err)
		}
	})
}

func TestALateEditDoesNotUndoANewPassword(t *testing.T) {
	inStall(t, func(t *testing.T, f *folder, table *stalling) {
		admin := f.admin(t)
		u := f.add(t, "ann@example.com", RoleMember)
		email, password := "ben@example.com", rightPassword
		rename := func() error { _, err := f.EditUser(admin, u.ID, UserEdit{Email: &email}); return err }
		renew := func() error { _, err := f.EditUser(admin, u.ID, UserEdit{Password: &password}); return err }
		table.stall()
		within(t, rename, engine.ErrOutcomeUnknown, engine.CommitTimeout)
		within(t, renew, engine.ErrOverloaded, engine.CommitTimeout)
		table.release()
		within(t, renew, nil, 0)
		f.logIn(t, email)
	})
}

func TestRacingDemotionsLeaveAnAdmin(t *testing.T) {
	inStall(t, func(t *testing.T, f *folder, table *stalling) {
		first := f.admin(t)
		second := f.add(t, "second@example.com", RoleAdmin)
		member := RoleMember
		demote := func(id uint32) func() error {
			return func() error { _, err := f.EditUser(first, id, UserEdit{Role: &member}); return err }
		}
		table.stall()
		within(t, demote(first.User.ID), engine.ErrOutcomeUnknown, engine.CommitTimeout)
		within(t, demote(second.ID), engine.ErrOverloaded, engine.CommitTimeout)
		table.release()
		var last engine.FieldError
		err := demote(second.ID)()
		expect.That(t, errors.As(err, &last) && last.Code == "last_admin", "got %v, want that it is the last admin", err)
		left, err := f.OldestAdmin()
		expect.That(t, err == nil && left.ID == second.ID, "got %+v, %v, want user %d as the admin", left, err, second.ID)
	})
}

// used issues a token of a new admin and uses it.
func used(t *testing.T, f *folder) (admin Caller, token Token, hash [32]byte) {
	t.Helper()
	admin = f.admin(t)
	token, text, err := f.IssueToken(admin, TokenDraft{Name: "n"})
	expect.OK(t, err)
	expect.OK(t, expect.Err(f.Authenticate(text)))
	hash, _ = parseToken(text)
	return admin, token, hash
}

func TestALateLastUseDoesNotOutliveARevocation(t *testing.T) {
	inStall(t, func(t *testing.T, f *folder, table *stalling) {
		admin, token, hash := used(t, f)
		revoke := func() error { return f.RevokeToken(Caller{}, admin.User.ID, token.ID) }
		table.stall()
		within(t, f.WriteUses, engine.ErrOutcomeUnknown, engine.CommitTimeout)
		within(t, revoke, engine.ErrOverloaded, engine.CommitTimeout)
		table.release()
		within(t, revoke, nil, 0)
		row, err := f.table.Get(useKey(hash[:]))
		expect.That(t, row == nil && err == nil, "after revoking: got the use %q, %v", row, err)
	})
}

func TestALastUseIsForgottenOnlyWhenWritten(t *testing.T) {
	for name, fails := range map[string]error{"written": nil, "not written": engine.ErrReadOnly} {
		t.Run(name, func(t *testing.T) {
			inStall(t, func(t *testing.T, f *folder, table *stalling) {
				_, _, hash := used(t, f)
				table.stall()
				table.fails = fails
				within(t, f.WriteUses, engine.ErrOutcomeUnknown, engine.CommitTimeout)
				expect.That(t, !f.uses.of(hash).IsZero(), "the use is forgotten before the write has ended")
				table.release()
				expect.Equal(t, !f.uses.of(hash).IsZero(), fails != nil, "after the write: the use is still pending")
			})
		})
	}
}

// writable reports whether nobody has the write lock.
func (f *folder) writable() bool {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	return f.Lead(ctx, func() error { return nil }) == nil
}
