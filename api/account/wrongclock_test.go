package account

import (
	"errors"
	"testing"
	"time"
)

const wrongBy = 500 * 24 * time.Hour

// TestAWrongClockEndsNoSessionAndNoTokenForGood logs in and issues a token while the clock is 500 days ahead, when
// all others have expired, and then the clock is right again.
func TestAWrongClockEndsNoSessionAndNoTokenForGood(t *testing.T) {
	f := newFolder(t)
	f.withPassword(t, "ann@example.com")
	caller, cookie := f.logIn(t, "ann@example.com")
	_, token, err := f.IssueToken(caller, TokenDraft{Name: "n", ExpiresAt: f.now.AddDate(1, 0, 0)})
	if err != nil {
		t.Fatal(err)
	}
	f.now = f.now.Add(wrongBy)
	if f.live(t, cookie) {
		t.Error("a session of a year and a half ago is valid")
	}
	ahead, aheadCookie := f.logIn(t, "ann@example.com")
	if _, _, err := f.IssueToken(ahead, TokenDraft{Name: "m"}); err != nil {
		t.Fatal(err)
	}
	f.now = f.now.Add(-wrongBy)
	if !f.live(t, cookie) {
		t.Error("the session is gone")
	}
	if _, err := f.Authenticate(token); err != nil {
		t.Errorf("the token is gone: %v", err)
	}
	if f.live(t, aheadCookie) {
		t.Error("a session that begins in 500 days is valid")
	}
}

// TestAWrongClockMakesNoSetupCodeLastLonger makes a code while the clock is ahead, and another before it
// goes back.
func TestAWrongClockMakesNoSetupCodeLastLonger(t *testing.T) {
	f := newFolder(t)
	u := f.add(t, "ann@example.com", RoleMember)
	f.now = f.now.Add(wrongBy)
	ahead := f.newCode(t, u)
	f.now = f.now.Add(-wrongBy)
	if f.usable(t, ahead) {
		t.Error("a code that was made in 500 days can be used until then")
	}
	code := f.newCode(t, u)
	f.now = f.now.Add(wrongBy)
	_ = f.newCode(t, u)
	f.now = f.now.Add(-wrongBy)
	if !f.usable(t, code) {
		t.Error("a code is gone because the clock was ahead for a moment")
	}
	f.now = f.now.Add(-wrongBy)
	if f.usable(t, code) {
		t.Error("a code can be used for as long as the clock is behind")
	}
	if _, _, err := f.UseSetupCode(nobody, code, "", "a new long password"); !errors.Is(err, ErrNoSetupCode) {
		t.Errorf("a use while the clock is behind: got %v, want %v", err, ErrNoSetupCode)
	}
}

// TestUnusableSessionsMakeRoomFirst fills the places with sessions that begin in the future.
func TestUnusableSessionsMakeRoomFirst(t *testing.T) {
	f := newFolder(t)
	u := f.withPassword(t, "ann@example.com")
	checked, err := f.readUser(u.ID)
	if err != nil {
		t.Fatal(err)
	}
	begin := func() string {
		_, cookie, err := f.beginSession(checked, checked.password)
		if err != nil {
			t.Fatal(err)
		}
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
