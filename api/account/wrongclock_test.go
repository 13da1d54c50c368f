package account

import (
	"testing"
	"time"

	"shunt/engine/expect"
)

const wrongBy = 500 * 24 * time.Hour

// TestAWrongClockEndsNoSessionAndNoTokenForGood logs in and issues a token while the clock is 500 days ahead, when
// all others have expired, and then the clock is right again.
func TestAWrongClockEndsNoSessionAndNoTokenForGood(t *testing.T) {
	f := newFolder(t)
	f.withPassword(t, "ann@example.com")
	caller, cookie := f.logIn(t, "ann@example.com")
	_, token, err := f.IssueToken(caller, TokenDraft{Name: "n", ExpiresAt: f.now.AddDate(1, 0, 0)})
	expect.OK(t, err)
	f.now = f.now.Add(wrongBy)
	expect.That(t, !f.live(t, cookie), "a session of a year and a half ago is valid")
	ahead, aheadCookie := f.logIn(t, "ann@example.com")
	_, _, err = f.IssueToken(ahead, TokenDraft{Name: "m"})
	expect.OK(t, err)
	f.now = f.now.Add(-wrongBy)
	expect.That(t, f.live(t, cookie), "the session is gone")
	expect.NoError(t, expect.Err(f.Authenticate(token)), "the token is gone")
	expect.That(t, !f.live(t, aheadCookie), "a session that begins in 500 days is valid")
}

// TestAWrongClockMakesNoSetupCodeLastLonger makes a code while the clock is ahead, and another before it
// goes back.
func TestAWrongClockMakesNoSetupCodeLastLonger(t *testing.T) {
	f := newFolder(t)
	u := f.add(t, "ann@example.com", RoleMember)
	f.now = f.now.Add(wrongBy)
	ahead := f.newCode(t, u)
	f.now = f.now.Add(-wrongBy)
	expect.That(t, !f.usable(t, ahead), "a code that was made in 500 days can be used until then")
	code := f.newCode(t, u)
	f.now = f.now.Add(wrongBy)
	_ = f.newCode(t, u)
	f.now = f.now.Add(-wrongBy)
	expect.That(t, f.usable(t, code), "a code is gone because the clock was ahead for a moment")
	f.now = f.now.Add(-wrongBy)
	expect.That(t, !f.usable(t, code), "a code can be used for as long as the clock is behind")
	_, _, err := f.UseSetupCode(nobody, code, "", "a new long password")
	expect.Error(t, err, ErrNoSetupCode, "a use while the clock is behind")
}

// TestUnusableSessionsMakeRoomFirst fills the places with sessions that begin in the future.
func TestUnusableSessionsMakeRoomFirst(t *testing.T) {
	f := newFolder(t)
	u := f.withPassword(t, "ann@example.com")
	checked, err := f.readUser(u.ID)
	expect.OK(t, err)
	begin := func() string {
		_, cookie, err := f.beginSession(checked, checked.password)
		expect.OK(t, err)
		return cookie
	}
	first := begin()
	f.now = f.now.Add(wrongBy)
	for range MaxSessions - 1 {
		begin()
	}
	f.now = f.now.Add(-wrongBy)
	second := begin()
	if !f.live(t, first) || !f.live(t, second) {
		t.Errorf("the first session is live: %v, the second: %v; want both", f.live(t, first), f.live(t, second))
	}
}
