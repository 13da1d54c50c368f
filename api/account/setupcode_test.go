package account

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"shunt/engine"
	"shunt/engine/expect"
)

func (f *folder) newCode(t *testing.T, u User) string {
	t.Helper()
	code, _, err := f.NewSetupCode(Caller{}, u.ID)
	expect.OK(t, err)
	return code
}

// usable reports whether a setup code can be used.
func (f *folder) usable(t *testing.T, code string) bool {
	t.Helper()
	_, err := f.LookUpSetupCode(code)
	expect.MustThat(t, err == nil || errors.Is(err, ErrNoSetupCode), "%v", err)
	return err == nil
}

func TestASetupCodeSetsAddressAndPasswordOnce(t *testing.T) {
	f := newFolder(t)
	admin := f.admin(t).User
	code, expires, err := f.NewSetupCode(Caller{}, admin.ID)
	expect.MustThat(t, err == nil && len(code) == 22 && expires.Equal(f.now.Add(time.Hour)),
		"got %q until %v, %v, want 128 bits for an hour", code, expires, err)
	before := rows(t, f)
	f.reopen(t)
	for range 3 {
		u, err := f.LookUpSetupCode(code)
		expect.MustThat(t, u == admin && err == nil, "looking: got %+v, %v, want %+v", u, err, admin)
	}
	expect.Equal(t, rows(t, f), before, "looking has changed the table")
	c, cookie, err := f.UseSetupCode(nobody, code, " Ann@Example.com", rightPassword)
	want := User{admin.ID, "ann@example.com", RoleAdmin, admin.CreatedAt, true, Domains{}}
	expect.MustThat(t, err == nil && c.User == want && c.Has(Admin) && c.SessionID != "", "got %+v, %v, want %+v", c, err, want)
	_, _, err = f.UseSetupCode(nobody, code, "", "another password")
	expect.That(t, errors.Is(err, ErrNoSetupCode) && !f.usable(t, code), "again: got %v, want %v", err, ErrNoSetupCode)
	f.reopen(t)
	again, err := f.AuthenticateSession(cookie)
	expect.That(t, err == nil && again.User == want && again.SessionID == c.SessionID, "its session after a restart: got %+v, %v", again, err)
	f.logIn(t, "ann@example.com")
	expect.Error(t, expect.Err(f.UserByName(AdminName)), ErrNoUser, "the old name")
}

func TestASetupCodeReplacesALostPassword(t *testing.T) {
	f := newFolder(t)
	f.admin(t)
	u := f.withPassword(t, "ann@example.com")
	ben := f.add(t, "ben@example.com", RoleMember)
	_, token, err := f.IssueToken(CallerOf(u), TokenDraft{Name: "n"})
	expect.OK(t, err)
	_, old := f.logIn(t, "ann@example.com")
	used, other, bens := f.newCode(t, u), f.newCode(t, u), f.newCode(t, ben)
	_, cookie, err := f.UseSetupCode(nobody, used, "ANN@example.com", "another password")
	expect.OK(t, err)
	expect.That(t, !f.live(t, old) && f.live(t, cookie) && !f.usable(t, other) && f.usable(t, bens),
		"want the other sessions and codes of the user ended, and only those")
	expect.NoError(t, expect.Err(f.Authenticate(token)), "the user's token")
	_, _, err = f.LogIn(nobody, "ann@example.com", rightPassword)
	expect.Error(t, err, ErrUnauthorized, "the lost password")
	_, _, err = f.UseSetupCode(nobody, bens, "", rightPassword)
	expect.NoError(t, err, "without an address")
}

func TestASetupCodeLivesForAnHour(t *testing.T) {
	f := newFolder(t)
	code := f.newCode(t, f.admin(t).User)
	begin := f.now
	f.now = begin.Add(SetupCodeLifetime - time.Millisecond)
	expect.That(t, f.usable(t, code), "it ended before its time")
	f.now = begin.Add(SetupCodeLifetime)
	_, _, err := f.UseSetupCode(nobody, code, "ann@example.com", rightPassword)
	expect.That(t, errors.Is(err, ErrNoSetupCode) && !f.usable(t, code), "it outlives its time: got %v", err)
}

func TestNoOtherTextIsASetupCode(t *testing.T) {
	f := newFolder(t)
	u := f.withPassword(t, "ann@example.com")
	code := f.newCode(t, u)
	_, cookie := f.logIn(t, "ann@example.com")
	before := rows(t, f)
	for _, wrong := range []string{
		"", code[1:], code + "A", code + "=", "A" + code[1:], " " + code, strings.Repeat("-", 22), cookie, cookie[:22], "ann@example.com",
	} {
		if wrong == code { // by chance it begins with A
			continue
		}
		_, looked := f.LookUpSetupCode(wrong)
		_, _, used := f.UseSetupCode(nobody, wrong, "", "another password")
		expect.That(t, looked == ErrNoSetupCode && used == ErrNoSetupCode, "%q: got %v and %v, want %v", wrong, looked, used, ErrNoSetupCode)
	}
	expect.That(t, f.usable(t, code) && rows(t, f) == before, "wrong codes have changed the table")
}

func TestARefusedSetupLeavesTheCodeUsable(t *testing.T) {
	f := newFolder(t)
	admin, ann := f.admin(t).User, f.add(t, "ann@example.com", RoleMember)
	admins, anns := f.newCode(t, admin), f.newCode(t, ann)
	before := rows(t, f)
	for name, c := range map[string]struct{ setup, email, password, want string }{
		"no address":               {admins, "", rightPassword, "invalid"},
		"the name admin":           {admins, "admin", rightPassword, "invalid"},
		"a malformed address":      {admins, "ann", "short", "invalid"},
		"an address that is taken": {admins, "Ann@example.com", rightPassword, "taken"},
		"a short password":         {admins, "boss@example.com", "seven77", "too_short"},
		"a long password":          {anns, "", strings.Repeat("x", 1025), "too_long"},
		"another address":          {anns, "anna@example.com", rightPassword, "fixed"},
		"no password":              {anns, "ann@example.com", "", "too_short"},
	} {
		_, cookie, err := f.UseSetupCode(nobody, c.setup, c.email, c.password)
		expect.That(t, code(err) == c.want && cookie == "", "%s: got %v, want %s", name, err, c.want)
	}
	var both engine.InvalidError
	_, _, err := f.UseSetupCode(nobody, admins, "x", "y")
	expect.That(t, errors.As(err, &both) && len(both) == 2, "two mistakes: got %v, want both", err)
	expect.That(t, rows(t, f) == before && f.usable(t, admins) && f.usable(t, anns), "a refusal has changed the table")
}

func TestAUserHasABoundedNumberOfSetupCodes(t *testing.T) {
	f := newFolder(t)
	u, other := f.admin(t).User, f.add(t, "ann@example.com", RoleMember)
	others := f.newCode(t, other)
	codes := make([]string, MaxSetupCodes+1)
	for i := range codes {
		codes[i] = f.newCode(t, u)
		f.now = f.now.Add(time.Minute)
	}
	for i, code := range codes {
		expect.Equal(t, f.usable(t, code), i != 0, "code %d", i)
	}
	f.now = f.now.Add(SetupCodeLifetime)
	f.newCode(t, u)
	n := strings.Count(rows(t, f), `"w`)
	expect.That(t, n == MaxSetupCodes+1 && !f.usable(t, others), "%d codes are kept, want %d, and the expired one of the other user", n, MaxSetupCodes)
	_, _, err := f.NewSetupCode(Caller{}, 99)
	expect.Error(t, err, ErrNoUser, "a code of nobody")
}

func TestRacingUsesOfASetupCodeHaveOneWinner(t *testing.T) {
	f := newFolder(t)
	u := f.admin(t).User
	code := f.newCode(t, u)
	var winner atomic.Value
	var won atomic.Int32
	var racers sync.WaitGroup
	for i := range maxHashesCaller {
		racers.Go(func() {
			password := fmt.Sprint("the password of racer ", i)
			_, _, err := f.UseSetupCode(nobody, code, fmt.Sprintf("racer%d@example.com", i), password)
			switch {
			case err == nil:
				won.Add(1)
				winner.Store([2]string{fmt.Sprintf("racer%d@example.com", i), password})
			case !errors.Is(err, ErrNoSetupCode):
				t.Errorf("racer %d: got %v, want %v", i, err, ErrNoSetupCode)
			}
		})
	}
	racers.Wait()
	expect.MustEqual(t, won.Load(), 1, "racers won")
	login := winner.Load().([2]string)
	c, _, err := f.LogIn(nobody, login[0], login[1])
	expect.That(t, err == nil && c.User.ID == u.ID, "the winner: got %+v, %v", c, err)
	report, faults := checkTable(t, f)
	expect.That(t, len(faults) == 0 && report.Sessions == 2, "got %+v, %v, want a session of the winner and of the login", report, faults)
}

func TestANewPasswordEndsSetupCodes(t *testing.T) {
	f := newFolder(t)
	u := f.withPassword(t, "ann@example.com")
	c, _ := f.logIn(t, "ann@example.com")
	password := "another password"
	for name, change := range map[string]func() error{
		"set by an admin":    func() error { _, err := f.EditUser(Caller{}, u.ID, UserEdit{Password: &password}); return err },
		"set by the command": func() error { _, err := f.EditUser(c, u.ID, UserEdit{Password: &password}); return err },
	} {
		code := f.newCode(t, u)
		err := change()
		expect.That(t, err == nil && !f.usable(t, code), "%s: got %v, or the code can still be used", name, err)
	}
}

func TestASetupCodeEndsWithItsUser(t *testing.T) {
	f := newFolder(t)
	f.admin(t)
	before := rows(t, f)
	u := f.add(t, "ann@example.com", RoleMember)
	code := f.newCode(t, u)
	expect.OK(t, f.RemoveUser(Caller{}, u.ID, mayGo(nil)))
	after := rows(t, f)
	expect.That(t, after == before, "got the rows\n%s\nwant\n%s", after, before)
	f.add(t, "ann@example.com", RoleMember)
	_, _, err := f.UseSetupCode(nobody, code, "", rightPassword)
	expect.Error(t, err, ErrNoSetupCode, "for a new user with the address")
}

func TestASetupIsDoneWholeOrNotAtAll(t *testing.T) {
	for name, fails := range map[string]error{"written late": nil, "not written": engine.ErrReadOnly} {
		t.Run(name, func(t *testing.T) {
			inStall(t, func(t *testing.T, f *folder, table *stalling) {
				u := f.withPassword(t, "ann@example.com")
				_, old := f.logIn(t, "ann@example.com")
				code, other := f.newCode(t, u), f.newCode(t, u)
				before := rows(t, f)
				use := func() error {
					_, _, err := f.UseSetupCode(nobody, code, "", "another password")
					return err
				}
				table.stall()
				table.fails = fails
				within(t, use, engine.ErrOutcomeUnknown, engine.CommitTimeout)
				expect.Equal(t, rows(t, f), before, "a part of it was written before the rest")
				within(t, use, engine.ErrOverloaded, engine.CommitTimeout)
				table.release()
				if fails != nil {
					expect.That(t, rows(t, f) == before && f.live(t, old) && f.usable(t, other), "a part of it was written although it failed")
					within(t, use, nil, 0)
				}
				expect.That(t, !f.live(t, old) && !f.usable(t, other) && !f.usable(t, code), "a session or a code has outlived the use")
				_, _, err := f.LogIn(nobody, "ann@example.com", "another password")
				expect.NoError(t, err, "logging in")
			})
		})
	}
}

func TestAnAddressThatChangedMeanwhileIsNotOverwritten(t *testing.T) {
	inStall(t, func(t *testing.T, f *folder, table *stalling) {
		admin := f.admin(t)
		setup := f.newCode(t, admin.User)
		email := "boss@example.com"
		table.stall()
		within(t, func() error { _, err := f.EditUser(admin, 1, UserEdit{Email: &email}); return err },
			engine.ErrOutcomeUnknown, engine.CommitTimeout)
		used := make(chan error, 1)
		go func() {
			_, _, err := f.UseSetupCode(nobody, setup, "ann@example.com", rightPassword)
			used <- err
		}()
		synctest.Wait() // it waits for the lock
		table.release()
		err := <-used
		expect.Equal(t, code(err), "changed", "got %v", err)
		_, _, err = f.UseSetupCode(nobody, setup, email, rightPassword)
		expect.NoError(t, err, "again, with that address")
	})
}

func TestTheStoreHoldsNoSetupCode(t *testing.T) {
	f := newFolder(t)
	code := f.newCode(t, f.admin(t).User)
	err := f.store.Accounts().Scan(nil, func(key, value []byte) (bool, error) {
		expect.That(t, !bytes.Contains(fmt.Appendf(nil, "%s%s", key, value), []byte(code[:12])), "row %q holds the code", key)
		return true, nil
	})
	expect.NoError(t, err)
}
