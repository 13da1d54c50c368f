package account

import (
	"bytes"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"shunt/engine"
	"shunt/engine/expect"
)

func TestLiveSessionsAreListedByLastUse(t *testing.T) {
	f := newFolder(t)
	u := f.withPassword(t, "ann@example.com")
	f.withPassword(t, "ben@example.com")
	f.logIn(t, "ben@example.com")
	expired, _ := f.logIn(t, "ann@example.com")
	f.now = f.now.Add(sessionIdle - time.Hour)
	first, firstCookie := f.logIn(t, "ann@example.com")
	begin := f.now
	f.now = f.now.Add(time.Hour)
	second, _ := f.logIn(t, "ann@example.com")
	want := func(when string, want ...Session) {
		t.Helper()
		got, err := f.ListSessions(u.ID)
		expect.That(t, slices.Equal(got, want) && err == nil, "%s: got %+v, %v, want %+v", when, got, err, want)
	}
	want("by their beginning",
		Session{second.SessionID, begin.Add(time.Hour), begin.Add(time.Hour)}, Session{first.SessionID, begin, begin})
	f.now = f.now.Add(time.Hour)
	c, err := f.AuthenticateSession(firstCookie)
	expect.That(t, err == nil && c.SessionID == first.SessionID, "the session of %q is now %q, %v", first.SessionID, c.SessionID, err)
	used := []Session{{first.SessionID, begin, f.now}, {second.SessionID, begin.Add(time.Hour), begin.Add(time.Hour)}}
	want("after a use", used...)
	expect.OK(t, f.WriteUses())
	f.reopen(t)
	want("after a restart", used...)
	ids := []string{expired.SessionID, first.SessionID, second.SessionID}
	if slices.Sort(ids); len(slices.Compact(ids)) != 3 || len(ids[0]) != 16 {
		t.Errorf("got the IDs %q, want three of 16 digits", ids)
	}
}

// A session's ID stands on pages, so it must not lead to the session.
func TestTheIDOfASessionIsOfNoUse(t *testing.T) {
	f := newFolder(t)
	f.withPassword(t, "ann@example.com")
	c, cookie := f.logIn(t, "ann@example.com")
	expect.That(t, !f.live(t, c.SessionID) && !strings.Contains(cookie, c.SessionID), "the ID is a part of the cookie")
	id, err := hex.DecodeString(c.SessionID)
	expect.OK(t, err)
	err = f.store.Accounts().Scan(nil, func(key, value []byte) (bool, error) {
		expect.That(t, !bytes.Contains(key, id) && !bytes.Contains(value, id), "row %q holds the ID", key)
		return true, nil
	})
	expect.NoError(t, err)
}

func TestAUserEndsOneSessionOrAll(t *testing.T) {
	f := newFolder(t)
	u := f.withPassword(t, "ann@example.com")
	ben := f.withPassword(t, "ben@example.com")
	bens, bensCookie := f.logIn(t, "ben@example.com")
	first, firstCookie := f.logIn(t, "ann@example.com")
	_, second := f.logIn(t, "ann@example.com")
	_, third := f.logIn(t, "ann@example.com")
	code := f.newCode(t, u)
	before := rows(t, f)
	for _, id := range []string{bens.SessionID, "", "0123456789abcdef", first.SessionID[:15]} {
		err := f.EndSessionByID(Caller{}, u.ID, id)
		expect.That(t, err == nil && rows(t, f) == before, "%q, which is no session of the user: got %v, or rows have changed", id, err)
	}
	err := f.EndSessionByID(Caller{}, u.ID, first.SessionID)
	expect.That(t, err == nil && !f.live(t, firstCookie) && f.live(t, second), "one: got %v, want only that session ended", err)
	expect.Error(t, expect.Err(f.Recheck(first)), ErrUnauthorized, "its caller")
	err = f.EndSessions(Caller{}, u.ID)
	expect.That(t, err == nil && !f.live(t, second) && !f.live(t, third) && f.live(t, bensCookie), "all: got %v, want all sessions of the user ended, and only those", err)
	left, err := f.ListSessions(u.ID)
	expect.That(t, len(left) == 0 && left != nil && err == nil, "got %+v, %v, want an empty list", left, err)
	expect.That(t, f.usable(t, code), "a setup code has ended with the sessions")
	err = errors.Join(f.EndSessions(Caller{}, u.ID), f.EndSessions(Caller{}, 99))
	expect.That(t, err == nil && f.writable(), "without sessions: got %v, or the lock is still held", err)
	if left, err := f.ListSessions(ben.ID); len(left) != 1 || err != nil {
		t.Errorf("the other user: got %+v, %v", left, err)
	}
}

func TestOnlyWhoKnowsThePasswordChangesIt(t *testing.T) {
	f := newFolder(t)
	admin := f.admin(t)
	u := f.withPassword(t, "ann@example.com")
	own, ownCookie := f.logIn(t, "ann@example.com")
	_, other := f.logIn(t, "ann@example.com")
	code := f.newCode(t, u)
	_, token, err := f.IssueToken(own, TokenDraft{Name: "n"})
	expect.OK(t, err)
	before := rows(t, f)
	for name, c := range map[string]struct {
		caller               Caller
		current, next, field string
	}{
		"a wrong password":           {own, rightPassword + ".", "another password", "current"},
		"no password":                {own, "", "another password", "current"},
		"too long a password":        {own, strings.Repeat("x", 1025), "another password", "current"},
		"a short new one":            {own, rightPassword, "seven77", "password"},
		"a long new one":             {own, rightPassword, strings.Repeat("x", 1025), "password"},
		"a user without a password":  {admin, "", "another password", "current"},
		"the hash of no password":    {admin, "A", "another password", "current"},
		"somebody else's password":   {admin, rightPassword, "another password", "current"},
		"nothing that could be used": {own, "", "", "password"},
	} {
		err := f.ChangePassword(c.caller, nobody, c.current, c.next)
		expect.That(t, fieldOf(err) == c.field, "%s: got %v, want an error of %q", name, err, c.field)
	}
	expect.That(t, rows(t, f) == before && f.live(t, other), "a refusal has changed the table")
	expect.OK(t, f.ChangePassword(own, nobody, rightPassword, "another password"))
	expect.That(t, f.live(t, ownCookie) && !f.live(t, other) && !f.usable(t, code),
		"want the other sessions and the codes ended, and this session alive")
	expect.NoError(t, expect.Err(f.Authenticate(token)), "the user's token")
	_, _, err = f.LogIn(nobody, "ann@example.com", "another password")
	expect.NoError(t, err, "the new password")
	err = f.ChangePassword(own, nobody, rightPassword, "a third password")
	expect.Equal(t, fieldOf(err), "current", "sent twice: got %v", err)
	expect.NoError(t, f.RemoveUser(Caller{}, u.ID, mayGo(nil)))
	expect.Error(t, f.ChangePassword(own, nobody, "another password", "a third password"), ErrUnauthorized, "a user who is gone")
}

// fieldOf returns the field of the first field error in err, "" if there is none.
func fieldOf(err error) string {
	var fields engine.InvalidError
	var field engine.FieldError
	switch {
	case errors.As(err, &fields):
		return fields[0].Field
	case errors.As(err, &field):
		return field.Field
	}
	return ""
}

// A password that was set meanwhile, for example by an admin because the old one is known to a
// thief, is not overwritten by who knows only the old one.
func TestALateChangeDoesNotUndoANewPassword(t *testing.T) {
	inStall(t, func(t *testing.T, f *folder, table *stalling) {
		admin := f.admin(t)
		u := f.withPassword(t, "ann@example.com")
		thief, _ := f.logIn(t, "ann@example.com")
		fresh := "set by an admin"
		table.stall()
		within(t, func() error { _, err := f.EditUser(admin, u.ID, UserEdit{Password: &fresh}); return err },
			engine.ErrOutcomeUnknown, engine.CommitTimeout)
		changed := make(chan error, 1)
		go func() { changed <- f.ChangePassword(thief, nobody, rightPassword, "set by a thief") }()
		synctest.Wait() // it waits for the lock
		table.release()
		err := <-changed
		expect.Equal(t, fieldOf(err), "current", "got %v", err)
		_, _, err = f.LogIn(nobody, "ann@example.com", fresh)
		expect.NoError(t, err, "the new password")
	})
}

func TestAChangeOfAnEndedSessionIsRefused(t *testing.T) {
	inStall(t, func(t *testing.T, f *folder, table *stalling) {
		u := f.withPassword(t, "ann@example.com")
		c, _ := f.logIn(t, "ann@example.com")
		table.stall()
		within(t, func() error { return f.EndSessions(Caller{}, u.ID) }, engine.ErrOutcomeUnknown, engine.CommitTimeout)
		changed := make(chan error, 1)
		go func() { changed <- f.ChangePassword(c, nobody, rightPassword, "another password") }()
		synctest.Wait() // it waits for the lock
		table.release()
		expect.Error(t, <-changed, ErrUnauthorized)
		f.logIn(t, "ann@example.com")
	})
}
