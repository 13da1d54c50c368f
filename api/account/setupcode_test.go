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
)

func (f *folder) newCode(t *testing.T, u User) string {
	t.Helper()
	code, _, err := f.NewSetupCode(Caller{}, u.ID)
	if err != nil {
		t.Fatal(err)
	}
	return code
}

// usable reports whether a setup code can be used.
func (f *folder) usable(t *testing.T, code string) bool {
	t.Helper()
	_, err := f.LookUpSetupCode(code)
	if err != nil && !errors.Is(err, ErrNoSetupCode) {
		t.Fatal(err)
	}
	return err == nil
}

func TestASetupCodeSetsAddressAndPasswordOnce(t *testing.T) {
	f := newFolder(t)
	admin := f.admin(t).User
	code, expires, err := f.NewSetupCode(Caller{}, admin.ID)
	if err != nil || len(code) != 22 || !expires.Equal(f.now.Add(time.Hour)) {
		t.Fatalf("got %q until %v, %v, want 128 bits for an hour", code, expires, err)
	}
	before := rows(t, f)
	f.reopen(t)
	for range 3 {
		if u, err := f.LookUpSetupCode(code); u != admin || err != nil {
			t.Fatalf("looking: got %+v, %v, want %+v", u, err, admin)
		}
	}
	if rows(t, f) != before {
		t.Error("looking has changed the table")
	}
	c, cookie, err := f.UseSetupCode(nobody, code, " Ann@Example.com", rightPassword)
	want := User{admin.ID, "ann@example.com", RoleAdmin, admin.CreatedAt, true}
	if err != nil || c.User != want || !c.Has(Admin) || c.SessionID == "" {
		t.Fatalf("got %+v, %v, want %+v", c, err, want)
	}
	if _, _, err := f.UseSetupCode(nobody, code, "", "another password"); !errors.Is(err, ErrNoSetupCode) || f.usable(t, code) {
		t.Errorf("again: got %v, want %v", err, ErrNoSetupCode)
	}
	f.reopen(t)
	if again, err := f.AuthenticateSession(cookie); err != nil || again.User != want || again.SessionID != c.SessionID {
		t.Errorf("its session after a restart: got %+v, %v", again, err)
	}
	f.logIn(t, "ann@example.com")
	if _, err := f.UserByName(AdminName); !errors.Is(err, ErrNoUser) {
		t.Errorf("the old name: got %v, want %v", err, ErrNoUser)
	}
}

func TestASetupCodeReplacesALostPassword(t *testing.T) {
	f := newFolder(t)
	f.admin(t)
	u := f.withPassword(t, "ann@example.com")
	ben := f.add(t, "ben@example.com", RoleMember)
	_, token, err := f.IssueToken(CallerOf(u), TokenDraft{Name: "n"})
	if err != nil {
		t.Fatal(err)
	}
	_, old := f.logIn(t, "ann@example.com")
	used, other, bens := f.newCode(t, u), f.newCode(t, u), f.newCode(t, ben)
	_, cookie, err := f.UseSetupCode(nobody, used, "ANN@example.com", "another password")
	if err != nil {
		t.Fatal(err)
	}
	if f.live(t, old) || !f.live(t, cookie) || f.usable(t, other) || !f.usable(t, bens) {
		t.Error("want the other sessions and codes of the user ended, and only those")
	}
	if _, err := f.Authenticate(token); err != nil {
		t.Errorf("the user's token: got %v", err)
	}
	if _, _, err := f.LogIn(nobody, "ann@example.com", rightPassword); !errors.Is(err, ErrUnauthorized) {
		t.Errorf("the lost password: got %v", err)
	}
	if _, _, err := f.UseSetupCode(nobody, bens, "", rightPassword); err != nil {
		t.Errorf("without an address: got %v", err)
	}
}

func TestASetupCodeLivesForAnHour(t *testing.T) {
	f := newFolder(t)
	code := f.newCode(t, f.admin(t).User)
	begin := f.now
	f.now = begin.Add(SetupCodeLifetime - time.Millisecond)
	if !f.usable(t, code) {
		t.Error("it ended before its time")
	}
	f.now = begin.Add(SetupCodeLifetime)
	_, _, err := f.UseSetupCode(nobody, code, "ann@example.com", rightPassword)
	if !errors.Is(err, ErrNoSetupCode) || f.usable(t, code) {
		t.Errorf("it outlives its time: got %v", err)
	}
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
		if looked != ErrNoSetupCode || used != ErrNoSetupCode {
			t.Errorf("%q: got %v and %v, want %v", wrong, looked, used, ErrNoSetupCode)
		}
	}
	if !f.usable(t, code) || rows(t, f) != before {
		t.Error("wrong codes have changed the table")
	}
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
		if _, cookie, err := f.UseSetupCode(nobody, c.setup, c.email, c.password); code(err) != c.want || cookie != "" {
			t.Errorf("%s: got %v, want %s", name, err, c.want)
		}
	}
	var both engine.InvalidError
	if _, _, err := f.UseSetupCode(nobody, admins, "x", "y"); !errors.As(err, &both) || len(both) != 2 {
		t.Errorf("two mistakes: got %v, want both", err)
	}
	if rows(t, f) != before || !f.usable(t, admins) || !f.usable(t, anns) {
		t.Error("a refusal has changed the table")
	}
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
		if got, want := f.usable(t, code), i != 0; got != want {
			t.Errorf("code %d: got usable %v, want %v", i, got, want)
		}
	}
	f.now = f.now.Add(SetupCodeLifetime)
	f.newCode(t, u)
	if n := strings.Count(rows(t, f), `"w`); n != MaxSetupCodes+1 || f.usable(t, others) {
		t.Errorf("%d codes are kept, want %d, and the expired one of the other user", n, MaxSetupCodes)
	}
	if _, _, err := f.NewSetupCode(Caller{}, 99); !errors.Is(err, ErrNoUser) {
		t.Errorf("a code of nobody: got %v, want %v", err, ErrNoUser)
	}
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
	if won.Load() != 1 {
		t.Fatalf("%d racers won, want 1", won.Load())
	}
	login := winner.Load().([2]string)
	if c, _, err := f.LogIn(nobody, login[0], login[1]); err != nil || c.User.ID != u.ID {
		t.Errorf("the winner: got %+v, %v", c, err)
	}
	if report, faults := checkTable(t, f); len(faults) > 0 || report.Sessions != 2 {
		t.Errorf("got %+v, %v, want a session of the winner and of the login", report, faults)
	}
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
		if err := change(); err != nil || f.usable(t, code) {
			t.Errorf("%s: got %v, or the code can still be used", name, err)
		}
	}
}

func TestASetupCodeEndsWithItsUser(t *testing.T) {
	f := newFolder(t)
	f.admin(t)
	before := rows(t, f)
	u := f.add(t, "ann@example.com", RoleMember)
	code := f.newCode(t, u)
	if err := f.RemoveUser(Caller{}, u.ID, mayGo(nil)); err != nil {
		t.Fatal(err)
	}
	if after := rows(t, f); after != before {
		t.Errorf("got the rows\n%s\nwant\n%s", after, before)
	}
	f.add(t, "ann@example.com", RoleMember)
	if _, _, err := f.UseSetupCode(nobody, code, "", rightPassword); !errors.Is(err, ErrNoSetupCode) {
		t.Errorf("for a new user with the address: got %v, want %v", err, ErrNoSetupCode)
	}
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
				if rows(t, f) != before {
					t.Error("a part of it was written before the rest")
				}
				within(t, use, engine.ErrOverloaded, engine.CommitTimeout)
				table.release()
				if fails != nil {
					if rows(t, f) != before || !f.live(t, old) || !f.usable(t, other) {
						t.Error("a part of it was written although it failed")
					}
					within(t, use, nil, 0)
				}
				if f.live(t, old) || f.usable(t, other) || f.usable(t, code) {
					t.Error("a session or a code has outlived the use")
				}
				if _, _, err := f.LogIn(nobody, "ann@example.com", "another password"); err != nil {
					t.Errorf("logging in: got %v", err)
				}
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
		if err := <-used; code(err) != "changed" {
			t.Errorf("got %v, want that the address has changed", err)
		}
		if _, _, err := f.UseSetupCode(nobody, setup, email, rightPassword); err != nil {
			t.Errorf("again, with that address: got %v", err)
		}
	})
}

func TestTheStoreHoldsNoSetupCode(t *testing.T) {
	f := newFolder(t)
	code := f.newCode(t, f.admin(t).User)
	err := f.store.Accounts().Scan(nil, func(key, value []byte) (bool, error) {
		if bytes.Contains(fmt.Appendf(nil, "%s%s", key, value), []byte(code[:12])) {
			t.Errorf("row %q holds the code", key)
		}
		return true, nil
	})
	if err != nil {
		t.Error(err)
	}
}
