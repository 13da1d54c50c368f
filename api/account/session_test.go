package account

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alexedwards/argon2id"

	"shunt/api/password"
	"shunt/api/turnstile"
	"shunt/engine"
	"shunt/engine/expect"
)

const rightPassword = "correct horse battery"

// nobody has no share of hashing.
var nobody = turnstile.Key{}

// withPassword adds a member who can log in.
func (f *folder) withPassword(t testing.TB, email string) User {
	t.Helper()
	u, err := f.AddUser(UserDraft{Email: email, Role: RoleMember, Password: rightPassword})
	expect.OK(t, err)
	return u
}

func (f *folder) logIn(t testing.TB, email string) (Caller, string) {
	t.Helper()
	c, cookie, err := f.LogIn(nobody, email, rightPassword)
	expect.OK(t, err)
	return c, cookie
}

// live reports whether a cookie belongs to a session.
func (f *folder) live(t *testing.T, cookie string) bool {
	t.Helper()
	_, err := f.AuthenticateSession(cookie)
	expect.MustThat(t, err == nil || errors.Is(err, ErrUnauthorized), "%v", err)
	return err == nil
}

func TestOnlyTheRightPasswordLogsIn(t *testing.T) {
	f := newFolder(t)
	f.admin(t) // has no password
	u := f.withPassword(t, "ann@example.com")
	for name, c := range map[string]struct{ email, password string }{
		"wrong password":                     {"ann@example.com", "correct horse batterY"},
		"a part of it":                       {"ann@example.com", rightPassword[:8]},
		"no password":                        {"ann@example.com", ""},
		"too long a password":                {"ann@example.com", strings.Repeat("x", 1025)},
		"an unknown user":                    {"ben@example.com", rightPassword},
		"an unknown user, by its fake hash":  {"ben@example.com", "A"},
		"a user without a password":          {"admin", ""},
		"a user without a password, guessed": {"admin", rightPassword},
		"too long an address":                {strings.Repeat("a", 1000) + "@example.com", rightPassword},
		"no address":                         {"", rightPassword},
	} {
		_, cookie, err := f.LogIn(nobody, c.email, c.password)
		expect.That(t, errors.Is(err, ErrUnauthorized) && cookie == "", "%s: got %v, want %v", name, err, ErrUnauthorized)
	}
	c, cookie, err := f.LogIn(nobody, " ANN@Example.com", rightPassword)
	expect.MustThat(t, err == nil && c.User == u && !c.Has(Admin) && c.Has(TokensWrite), "got %+v, %v", c, err)
	f.reopen(t)
	again, err := f.AuthenticateSession(cookie)
	expect.That(t, err == nil && again.User == u && again.TokenID == "", "after a restart: got %+v, %v", again, err)
	for _, wrong := range []string{"", cookie[1:], cookie + "A", "A" + cookie[1:], cookie[:42] + "=", strings.Repeat("-", 43)} {
		expect.That(t, wrong == cookie || !f.live(t, wrong), "the cookie %q passes", wrong)
	}
	expect.That(t, f.live(t, cookie) != false && f.EndSession(cookie) == nil && !f.live(t, cookie) && f.EndSession(cookie) == nil,
		"the session does not end when it is ended")
}

// A login must cost the same whether or not the user exists: a hash is computed for both. That
// shows when there is no slot for a hash.
func TestAnUnknownUserCostsAHashToo(t *testing.T) {
	f := newFolder(t)
	f.admin(t)
	f.withPassword(t, "ann@example.com")
	ok, outdated, err := f.hashing.matches(nobody, rightPassword, "")
	expect.That(t, !ok && !outdated && err == nil, "no password: got %v, outdated %v, %v; want the work of today's parameters", ok, outdated, err)
	synctest.Test(t, func(t *testing.T) {
		f.hashing = hashing{password.New(engine.Cores(), maxHashesCaller)}
		places := f.hashing.Places()
		for range places.Limits().Places {
			expect.OK(t, places.Enter(nobody))
		}
		for _, name := range []string{"ann@example.com", "ben@example.com", "admin", "no address"} {
			start := time.Now()
			if _, _, err := f.LogIn(nobody, name, rightPassword); !errors.Is(err, ErrOverloaded) || time.Since(start) != password.Patience {
				t.Errorf("%s: got %v after %v, want %v after %v", name, err, time.Since(start), ErrOverloaded, password.Patience)
			}
		}
		places.Leave(nobody)
		_, _, err := f.LogIn(nobody, "ben@example.com", rightPassword)
		expect.Error(t, err, ErrUnauthorized, "with a slot")
	})
}

func TestAHashOfOtherParametersIsReplacedAtLogin(t *testing.T) {
	f := newFolder(t)
	u := f.withPassword(t, "ann@example.com")
	old, err := argon2id.CreateHash(rightPassword, &argon2id.Params{Memory: 1 << 10, Iterations: 1, Parallelism: 1, SaltLength: 16, KeyLength: 32})
	expect.OK(t, err)
	row := [2][]byte{userKey(u.ID), encodeUser(userRecord{u, old})}
	expect.OK(t, f.writeRows([][2][]byte{row}, nil))
	f.logIn(t, "ann@example.com")
	kept, err := f.readUser(u.ID)
	expect.That(t, err == nil && strings.HasPrefix(kept.password, "$argon2id$v=19$m=19456,t=2,p=1$"),
		"got %s, %v, want a hash of today's parameters", kept.password, err)
	f.logIn(t, "ann@example.com")
	again, err := f.readUser(u.ID)
	expect.That(t, again == kept && err == nil, "a second login changed the hash")
}

func TestASessionEndsAfterAWeekIdleOrAMonth(t *testing.T) {
	f := newFolder(t)
	f.withPassword(t, "ann@example.com")
	_, idle := f.logIn(t, "ann@example.com")
	_, used := f.logIn(t, "ann@example.com")
	begin := f.now
	for f.now.Sub(begin) < SessionLifetime-time.Hour {
		f.now = f.now.Add(24*time.Hour - time.Minute)
		if !f.live(t, used) {
			t.Fatalf("a session that is used daily ended after %v", f.now.Sub(begin))
		}
		expect.OK(t, f.WriteUses())
	}
	f.now = begin.Add(SessionLifetime - time.Millisecond)
	expect.That(t, f.live(t, used), "it ended before its time")
	f.now = begin.Add(SessionLifetime)
	expect.That(t, !f.live(t, used), "it lives longer than its time")
	f.now = begin.Add(sessionIdle)
	expect.That(t, !f.live(t, idle), "an idle session lives for longer than a week")
	f.now = begin.Add(sessionIdle - time.Millisecond)
	expect.That(t, f.live(t, idle), "an idle session lives for less than a week")
}

func TestTheUseOfASessionIsRecordedOnceAnHour(t *testing.T) {
	f := newFolder(t)
	f.withPassword(t, "ann@example.com")
	_, cookie := f.logIn(t, "ann@example.com")
	for minute := range 60 {
		f.live(t, cookie)
		expect.MustEqual(t, len(f.uses.pending), 0, "noted after %d minutes", minute)
		f.now = f.now.Add(time.Minute)
	}
	f.live(t, cookie)
	expect.Equal(t, len(f.uses.pending), 1, "after an hour uses are recorded")
}

func TestAUserHasABoundedNumberOfSessions(t *testing.T) {
	f := newFolder(t)
	u := f.withPassword(t, "ann@example.com")
	checked, err := f.readUser(u.ID)
	expect.OK(t, err)
	cookies := make([]string, MaxSessions+1)
	for i := range cookies {
		f.now = f.now.Add(time.Hour)
		if i == MaxSessions && !f.live(t, cookies[0]) { // so that the second is idle longest
			t.Fatal("a session ended too early")
		}
		if _, cookies[i], err = f.beginSession(checked, checked.password); err != nil {
			t.Fatal(err)
		}
	}
	for i, cookie := range cookies {
		expect.Equal(t, f.live(t, cookie), i != 1, "session %d", i)
	}
	f.now = f.now.Add(SessionLifetime)
	if _, _, err = f.beginSession(checked, checked.password); err != nil {
		t.Fatal(err)
	}
	expect.Equal(t, strings.Count("\n"+rows(t, f), "\n\"y"), MaxSessions, "sessions are kept")
}

func TestANewPasswordEndsAllSessionsButItsOwn(t *testing.T) {
	f := newFolder(t)
	u := f.withPassword(t, "ann@example.com")
	f.withPassword(t, "ben@example.com")
	own, ownCookie := f.logIn(t, "ann@example.com")
	_, other := f.logIn(t, "ann@example.com")
	_, bens := f.logIn(t, "ben@example.com")
	checked, err := f.readUser(u.ID) // a login that is under way
	expect.OK(t, err)
	password := "another password"
	expect.OK(t, expect.Err(f.EditUser(own, u.ID, UserEdit{Password: &password})))
	for name, got := range map[string]bool{
		"own": f.live(t, ownCookie), "other": !f.live(t, other), "somebody else's": f.live(t, bens),
	} {
		expect.That(t, got, "the %s session: it lives or has ended, and should not", name)
	}
	_, _, err = f.beginSession(checked, checked.password)
	expect.Error(t, err, ErrUnauthorized, "a login whose password was changed under it")
	_, _, err = f.LogIn(nobody, "ann@example.com", rightPassword)
	expect.Error(t, err, ErrUnauthorized, "the old password")
	_, err = f.EditUser(Caller{}, u.ID, UserEdit{Password: &password})
	expect.That(t, err == nil && !f.live(t, ownCookie), "set by somebody else: %v, or the session lives", err)
}

func TestTheStoreHoldsNeitherPasswordsNorCookies(t *testing.T) {
	f := newFolder(t)
	f.withPassword(t, "ann@example.com")
	_, cookie := f.logIn(t, "ann@example.com")
	err := f.store.Accounts().Scan(nil, func(key, value []byte) (bool, error) {
		for _, secret := range []string{rightPassword, cookie, cookie[:20]} {
			expect.That(t, !bytes.Contains(fmt.Appendf(nil, "%s%s", key, value), []byte(secret)), "row %q holds %q", key, secret)
		}
		return true, nil
	})
	expect.NoError(t, err)
}
