package account

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"shunt/engine"
)

// code returns the code of the first field error in err, "" if there is none.
func code(err error) string {
	var fields engine.InvalidError
	var field engine.FieldError
	switch {
	case errors.As(err, &fields):
		return fields[0].Code
	case errors.As(err, &field):
		return field.Code
	}
	return ""
}

func TestAnEmailAddressIsKeptInOneFormOrRefused(t *testing.T) {
	long := strings.Repeat("a", 60)
	for text, want := range map[string]string{
		"ann@example.com":          "ann@example.com",
		" Ann.Lee+x@EXAMPLE.com\n": "ann.lee+x@example.com",
		"o'hara@localhost":         "o'hara@localhost",
		"ann@bücher.example":       "ann@xn--bcher-kva.example",
		"ann@Bücher.Example":       "ann@xn--bcher-kva.example",
		"":                         "", "ann": "", "@": "", "@example.com": "", "ann@": "", "ann@.": "", "ann@example.com.": "",
		"ann@ex ample.com": "", "ann@example..com": "", "a nn@example.com": "", ".ann@example.com": "", "a..b@example.com": "",
		"ann.@example.com": "", "a@b@c": "", "ann@-x.com": "", "\"a b\"@example.com": "", "Ann <ann@example.com>": "",
		"ann\x00@example.com": "", "ann@\xff": "", "jürgen@example.com": "", strings.Repeat("a", 65) + "@b.c": "",
		"ann@" + strings.Repeat(long+".", 3) + "com":  "ann@" + strings.Repeat(long+".", 3) + "com",
		"ann@" + strings.Repeat(long+".", 4) + "comx": "ann@" + strings.Repeat(long+".", 4) + "comx",
		long + "@" + strings.Repeat(long+".", 4):      "",
		"ann@" + strings.Repeat("a", 64) + ".com":     "",
		"ann@" + strings.Repeat(long+".", 4) + long:   "",
	} {
		if got, err := normalizeEmail(text); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: got %q, %v, want %q", text, got, err, want)
		}
	}
}

func FuzzNormalizeEmail(f *testing.F) {
	f.Add("Ann@Bücher.example")
	f.Add("\u212aelly@x")
	f.Fuzz(func(t *testing.T, text string) {
		email, err := normalizeEmail(text)
		if err != nil {
			return
		}
		if again, err := normalizeEmail(email); again != email || err != nil || len(email) > maxEmailBytes {
			t.Errorf("%q became %q, and that %q, %v", text, email, again, err)
		}
	})
}

func TestAUserIsAddedCompletelyOrNotAtAll(t *testing.T) {
	f := newFolder(t)
	for name, c := range map[string]struct {
		draft UserDraft
		want  string
	}{
		"no address":        {UserDraft{Role: RoleMember}, "invalid"},
		"no role":           {UserDraft{Email: "a@b.c"}, "unknown"},
		"a role of its own": {UserDraft{Email: "a@b.c", Role: "root"}, "unknown"},
		"a short password":  {UserDraft{Email: "a@b.c", Role: RoleMember, Password: "seven77"}, "too_short"},
		"a long password":   {UserDraft{Email: "a@b.c", Role: RoleMember, Password: strings.Repeat("x", 1025)}, "too_long"},
	} {
		if _, err := f.AddUser(c.draft); code(err) != c.want {
			t.Errorf("%s: got %v, want %s", name, err, c.want)
		}
	}
	if users, err := f.ListUsers(); len(users) != 0 || err != nil {
		t.Errorf("got %v, %v, want no user", users, err)
	}
}

func TestThereIsAlwaysAnAdmin(t *testing.T) {
	f := newFolder(t)
	first := f.add(t, "first@example.com", RoleAdmin)
	member := RoleMember
	if _, err := f.EditUser(CallerOf(first), first.ID, UserEdit{Role: &member}); code(err) != "last_admin" {
		t.Errorf("demoting the last admin: got %v", err)
	}
	if err := f.RemoveUser(Caller{}, first.ID, mayGo(nil)); code(err) != "last_admin" {
		t.Errorf("deleting the last admin: got %v", err)
	}
	second := f.add(t, "second@example.com", RoleAdmin)
	if _, err := f.EditUser(CallerOf(first), first.ID, UserEdit{Role: &member}); err != nil {
		t.Error(err)
	}
	if err := f.RemoveUser(Caller{}, second.ID, mayGo(nil)); code(err) != "last_admin" {
		t.Errorf("deleting the admin that is now the last: got %v", err)
	}
}

func TestADemotedAdminsTokensLoseTheScopeAdminForGood(t *testing.T) {
	f := newFolder(t)
	f.admin(t)
	boss := f.add(t, "boss@example.com", RoleAdmin)
	_, both, err := f.IssueToken(CallerOf(boss), TokenDraft{Name: "both", Scopes: []Scope{LinksRead, Admin}})
	if err != nil {
		t.Fatal(err)
	}
	_, only, err := f.IssueToken(CallerOf(boss), TokenDraft{Name: "only", Scopes: []Scope{Admin}})
	if err != nil {
		t.Fatal(err)
	}
	for _, role := range []Role{RoleMember, RoleAdmin} {
		if _, err := f.EditUser(Caller{}, boss.ID, UserEdit{Role: &role}); err != nil {
			t.Fatal(err)
		}
		c, err := f.Authenticate(both)
		if err != nil || !slices.Equal(c.Scopes, []Scope{LinksRead}) || c.User.Role != role {
			t.Errorf("as %s: got %+v, %v, want links:read only", role, c, err)
		}
		if _, err := f.Authenticate(only); !errors.Is(err, ErrUnauthorized) {
			t.Errorf("as %s: a token with no scope left: got %v", role, err)
		}
	}
}

func TestADemotedAdminCannotIssueAnAdminToken(t *testing.T) {
	f := newFolder(t)
	f.admin(t)
	boss := f.add(t, "boss@example.com", RoleAdmin)
	_, text, err := f.IssueToken(CallerOf(boss), TokenDraft{Name: "n", Scopes: AllScopes})
	if err != nil {
		t.Fatal(err)
	}
	asked, err := f.Authenticate(text) // a request that is under way while the role changes
	if err != nil {
		t.Fatal(err)
	}
	role := RoleMember
	if _, err := f.EditUser(Caller{}, boss.ID, UserEdit{Role: &role}); err != nil {
		t.Fatal(err)
	}
	for _, maker := range []Caller{asked, CallerOf(boss)} {
		if _, _, err := f.IssueToken(maker, TokenDraft{Name: "n", Scopes: []Scope{Admin}}); code(err) != "exceeds" {
			t.Errorf("got %v, want exceeds", err)
		}
	}
	if err := f.RevokeToken(Caller{}, boss.ID, asked.TokenID); err != nil {
		t.Fatal(err)
	}
	if _, _, err := f.IssueToken(asked, TokenDraft{Name: "n"}); !errors.Is(err, ErrUnauthorized) {
		t.Errorf("with a token that was revoked meanwhile: got %v", err)
	}
}

func TestADeletedUserLeavesNothingButTheNumber(t *testing.T) {
	f := newFolder(t)
	f.admin(t)
	before := rows(t, f)
	u, err := f.AddUser(UserDraft{Email: "ann@example.com", Role: RoleMember, Password: "correct horse"})
	if err != nil {
		t.Fatal(err)
	}
	_, token, err := f.IssueToken(CallerOf(u), TokenDraft{Name: "n"})
	if err != nil {
		t.Fatal(err)
	}
	_, cookie, err := f.LogIn(nobody, "ann@example.com", "correct horse")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Authenticate(token); err != nil {
		t.Fatal(err)
	}
	if err := f.WriteUses(); err != nil {
		t.Fatal(err)
	}
	refusal := errors.New("no")
	if err := f.RemoveUser(Caller{}, u.ID, mayGo(refusal)); err != refusal {
		t.Errorf("got %v, want the error of mayGo", err)
	}
	if _, err := f.Authenticate(token); err != nil {
		t.Errorf("refused, and yet: %v", err)
	}
	if err := f.RemoveUser(Caller{}, u.ID, mayGo(nil)); err != nil {
		t.Fatal(err)
	}
	_, byToken := f.Authenticate(token)
	_, byCookie := f.AuthenticateSession(cookie)
	_, _, byPassword := f.LogIn(nobody, "ann@example.com", "correct horse")
	for _, err := range []error{byToken, byCookie, byPassword} {
		if !errors.Is(err, ErrUnauthorized) {
			t.Errorf("got %v, want %v", err, ErrUnauthorized)
		}
	}
	if err := f.WriteUses(); err != nil { // those recorded before
		t.Fatal(err)
	}
	if after := rows(t, f); after != before {
		t.Errorf("got the rows\n%s\nwant\n%s", after, before)
	}
	if err := f.RemoveUser(Caller{}, u.ID, mayGo(nil)); !errors.Is(err, ErrNoUser) {
		t.Errorf("again: got %v", err)
	}
	if again := f.add(t, "ann@example.com", RoleMember); again.ID != u.ID+1 {
		t.Errorf("the address again: got number %d, want %d", again.ID, u.ID+1)
	}
}

// rows returns the keys of the table but that of the last number.
func rows(t *testing.T, f *folder) (text string) {
	t.Helper()
	err := f.store.Accounts().Scan(nil, func(key, _ []byte) (bool, error) {
		if string(key) != string(lastUserKey) {
			text += fmt.Sprintf("%q\n", key)
		}
		return true, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestAnEditMakesAllItsChangesOrNone(t *testing.T) {
	f := newFolder(t)
	f.admin(t)
	ann, ben := f.add(t, "ann@example.com", RoleMember), f.add(t, "ben@example.com", RoleMember)
	text := func(s string) *string { return &s }
	admin, king := RoleAdmin, Role("king")
	for name, c := range map[string]struct {
		edit UserEdit
		want string
	}{
		"an address that is taken":    {UserEdit{Email: text("BEN@example.com"), Role: &admin}, "taken"},
		"a malformed address":         {UserEdit{Email: text("ann"), Role: &admin}, "invalid"},
		"an unknown role":             {UserEdit{Email: text("x@example.com"), Role: &king}, "unknown"},
		"a password that is too long": {UserEdit{Role: &admin, Password: text(strings.Repeat("x", 1025))}, "too_long"},
	} {
		if _, err := f.EditUser(Caller{}, ann.ID, c.edit); code(err) != c.want {
			t.Errorf("%s: got %v, want %s", name, err, c.want)
		}
		if got, err := f.UserByName("ann@example.com"); got != ann || err != nil {
			t.Errorf("%s: the user is now %+v, %v", name, got, err)
		}
	}
	if _, err := f.EditUser(Caller{}, ben.ID+1, UserEdit{}); !errors.Is(err, ErrNoUser) {
		t.Errorf("nobody: got %v", err)
	}
	got, err := f.EditUser(Caller{}, ann.ID, UserEdit{Email: text("Anna@example.com"), Role: &admin, Password: text("correct horse")})
	if want := (User{ann.ID, "anna@example.com", RoleAdmin, ann.CreatedAt, true}); got != want || err != nil {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	f.reopen(t)
	if again, err := f.UserByName("anna@example.com"); again != got || err != nil {
		t.Errorf("after a restart: got %+v, %v", again, err)
	}
	if _, err := f.UserByName("ann@example.com"); !errors.Is(err, ErrNoUser) {
		t.Errorf("the old address: got %v", err)
	}
}

func TestALastUseIsWrittenOnceAMinute(t *testing.T) {
	f := newFolder(t)
	admin := f.admin(t)
	_, text, err := f.IssueToken(admin, TokenDraft{Name: "n"})
	if err != nil {
		t.Fatal(err)
	}
	want := func(when string, want time.Time) {
		t.Helper()
		list, err := f.ListTokens(admin.User.ID)
		if err != nil || len(list) != 1 || !list[0].LastUsedAt.Equal(want) {
			t.Errorf("%s: got %+v, %v, want a last use of %v", when, list, err, want)
		}
	}
	want("never used", time.Time{})
	f.now = f.now.Add(time.Hour)
	if _, err := f.Authenticate(text); err != nil {
		t.Fatal(err)
	}
	used := f.now
	want("used", used)
	if value, err := f.table.Get(useKey(hashOf(text))); value != nil || err != nil {
		t.Errorf("a use was written on the path of the request: %s, %v", value, err)
	}
	if err := f.WriteUses(); err != nil {
		t.Fatal(err)
	}
	if n := len(f.uses.pending); n != 0 {
		t.Errorf("%d uses are pending after they were written", n)
	}
	f.now = f.now.Add(time.Hour)
	if _, err := f.Authenticate(text); err != nil {
		t.Fatal(err)
	}
	want("used again", f.now)
	f.reopen(t) // as after a crash
	want("after a crash", used)
}

func hashOf(token string) []byte {
	hash, _ := parseToken(token)
	return hash[:]
}

func TestFailedAttemptsLeaveNoTrace(t *testing.T) {
	f := newFolder(t)
	f.admin(t)
	before := rows(t, f)
	for range 100 {
		text, err := newToken(f.random)
		if err != nil {
			t.Fatal(err)
		}
		cookie, err := f.newCookie()
		if err != nil {
			t.Fatal(err)
		}
		_, byToken := f.Authenticate(text)
		_, bySession := f.AuthenticateSession(cookie)
		if _, err := f.LookUpSetupCode(cookie[:22]); !errors.Is(err, ErrNoSetupCode) {
			t.Fatalf("got %v, want %v", err, ErrNoSetupCode)
		}
		if !errors.Is(byToken, ErrUnauthorized) || !errors.Is(bySession, ErrUnauthorized) {
			t.Fatalf("got %v and %v", byToken, bySession)
		}
	}
	if n := len(f.uses.pending); n != 0 || rows(t, f) != before {
		t.Errorf("%d uses are recorded, and the rows are\n%s", n, rows(t, f))
	}
}

func TestUsesBeyondTheLimitWait(t *testing.T) {
	u := newUses()
	at := time.UnixMilli(1)
	for i := range maxPendingUses + 10 {
		u.note([32]byte{byte(i), byte(i >> 8), byte(i >> 16)}, at)
	}
	u.note([32]byte{}, at.Add(1))
	if len(u.pending) != maxPendingUses || !u.of([32]byte{}).Equal(at.Add(1)) {
		t.Errorf("got %d, want %d, and the pending ones updated", len(u.pending), maxPendingUses)
	}
}

// mayGo returns a Farewell that allows the deletion, or returns why if that is not nil.
func mayGo(why error) Farewell {
	return func(context.Context) (func(gone bool), error) { return func(bool) {}, why }
}
