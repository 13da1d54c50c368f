package account

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"shunt/engine"
	"shunt/engine/expect"
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
		got, err := normalizeEmail(text)
		expect.That(t, got == want && (err == nil) == (want != ""), "%q: got %q, %v, want %q", text, got, err, want)
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
		again, err := normalizeEmail(email)
		expect.That(t, again == email && err == nil && len(email) <= maxEmailBytes, "%q became %q, and that %q, %v", text, email, again, err)
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
		_, err := f.AddUser(c.draft)
		expect.Equal(t, code(err), c.want, "%s: got %v", name, err)
	}
	users, err := f.ListUsers()
	expect.That(t, len(users) == 0 && err == nil, "got %v, %v, want no user", users, err)
}

func TestThereIsAlwaysAnAdmin(t *testing.T) {
	f := newFolder(t)
	first := f.add(t, "first@example.com", RoleAdmin)
	member := RoleMember
	_, err := f.EditUser(CallerOf(first), first.ID, UserEdit{Role: &member})
	expect.Equal(t, code(err), "last_admin", "demoting the last admin: got %v", err)
	err = f.RemoveUser(Caller{}, first.ID, mayGo(nil))
	expect.Equal(t, code(err), "last_admin", "deleting the last admin: got %v", err)
	second := f.add(t, "second@example.com", RoleAdmin)
	expect.NoError(t, expect.Err(f.EditUser(CallerOf(first), first.ID, UserEdit{Role: &member})))
	err = f.RemoveUser(Caller{}, second.ID, mayGo(nil))
	expect.Equal(t, code(err), "last_admin", "deleting the admin that is now the last: got %v", err)
}

func TestADemotedAdminsTokensLoseTheScopeAdminForGood(t *testing.T) {
	f := newFolder(t)
	f.admin(t)
	boss := f.add(t, "boss@example.com", RoleAdmin)
	_, both, err := f.IssueToken(CallerOf(boss), TokenDraft{Name: "both", Scopes: []Scope{LinksRead, Admin}})
	expect.OK(t, err)
	_, only, err := f.IssueToken(CallerOf(boss), TokenDraft{Name: "only", Scopes: []Scope{Admin}})
	expect.OK(t, err)
	for _, role := range []Role{RoleMember, RoleAdmin} {
		expect.OK(t, expect.Err(f.EditUser(Caller{}, boss.ID, UserEdit{Role: &role})))
		c, err := f.Authenticate(both)
		expect.That(t, err == nil && slices.Equal(c.Scopes, []Scope{LinksRead}) && c.User.Role == role,
			"as %s: got %+v, %v, want links:read only", role, c, err)
		expect.Error(t, expect.Err(f.Authenticate(only)), ErrUnauthorized, "as %s: a token with no scope left", role)
	}
}

func TestADemotedAdminCannotIssueAnAdminToken(t *testing.T) {
	f := newFolder(t)
	f.admin(t)
	boss := f.add(t, "boss@example.com", RoleAdmin)
	_, text, err := f.IssueToken(CallerOf(boss), TokenDraft{Name: "n", Scopes: AllScopes})
	expect.OK(t, err)
	asked, err := f.Authenticate(text) // a request that is under way while the role changes
	expect.OK(t, err)
	role := RoleMember
	expect.OK(t, expect.Err(f.EditUser(Caller{}, boss.ID, UserEdit{Role: &role})))
	for _, maker := range []Caller{asked, CallerOf(boss)} {
		_, _, err := f.IssueToken(maker, TokenDraft{Name: "n", Scopes: []Scope{Admin}})
		expect.Equal(t, code(err), "exceeds", "got %v", err)
	}
	expect.OK(t, f.RevokeToken(Caller{}, boss.ID, asked.TokenID))
	_, _, err = f.IssueToken(asked, TokenDraft{Name: "n"})
	expect.Error(t, err, ErrUnauthorized, "with a token that was revoked meanwhile")
}

func TestADeletedUserLeavesNothingButTheNumber(t *testing.T) {
	f := newFolder(t)
	f.admin(t)
	before := rows(t, f)
	u, err := f.AddUser(UserDraft{Email: "ann@example.com", Role: RoleMember, Password: "correct horse"})
	expect.OK(t, err)
	_, token, err := f.IssueToken(CallerOf(u), TokenDraft{Name: "n"})
	expect.OK(t, err)
	_, cookie, err := f.LogIn(nobody, "ann@example.com", "correct horse")
	expect.OK(t, err)
	expect.OK(t, expect.Err(f.Authenticate(token)))
	expect.OK(t, f.WriteUses())
	refusal := errors.New("no")
	err = f.RemoveUser(Caller{}, u.ID, mayGo(refusal))
	expect.That(t, err == refusal, "got %v, want the error of mayGo", err)
	expect.NoError(t, expect.Err(f.Authenticate(token)), "refused, and yet")
	expect.OK(t, f.RemoveUser(Caller{}, u.ID, mayGo(nil)))
	_, byToken := f.Authenticate(token)
	_, byCookie := f.AuthenticateSession(cookie)
	_, _, byPassword := f.LogIn(nobody, "ann@example.com", "correct horse")
	for _, err := range []error{byToken, byCookie, byPassword} {
		expect.Error(t, err, ErrUnauthorized)
	}
	if err := f.WriteUses(); err != nil { // those recorded before
		t.Fatal(err)
	}
	after := rows(t, f)
	expect.That(t, after == before, "got the rows\n%s\nwant\n%s", after, before)
	expect.Error(t, f.RemoveUser(Caller{}, u.ID, mayGo(nil)), ErrNoUser, "again")
	expect.Equal(t, f.add(t, "ann@example.com", RoleMember).ID, u.ID+1, "the address again")
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
	expect.OK(t, err)
	return text
}

func TestNoUserHasANumberThatAnOwnerHasNoRoomFor(t *testing.T) {
	f := newFolder(t)
	f.admin(t)
	last := binary.BigEndian.AppendUint32(nil, engine.MaxUser-1)
	done := make(chan error, 1)
	f.store.Accounts().Write([][2][]byte{{lastUserKey, last}}, nil, nil, func(err error) { done <- err })
	expect.OK(t, <-done)
	expect.Equal(t, f.add(t, "ann@example.com", RoleMember).ID, engine.MaxUser, "the last user's number")
	_, err := f.AddUser(UserDraft{Email: "ben@example.com", Role: RoleMember})
	expect.That(t, err != nil && strings.Contains(err.Error(), "no user numbers are left"), "one more: %v", err)
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
		_, err := f.EditUser(Caller{}, ann.ID, c.edit)
		expect.Equal(t, code(err), c.want, "%s: got %v", name, err)
		got, err := f.UserByName("ann@example.com")
		expect.That(t, got == ann && err == nil, "%s: the user is now %+v, %v", name, got, err)
	}
	expect.Error(t, expect.Err(f.EditUser(Caller{}, ben.ID+1, UserEdit{})), ErrNoUser, "nobody")
	got, err := f.EditUser(Caller{}, ann.ID, UserEdit{Email: text("Anna@example.com"), Role: &admin, Password: text("correct horse")})
	want := (User{ann.ID, "anna@example.com", RoleAdmin, ann.CreatedAt, true, Domains{}})
	expect.That(t, got == want && err == nil, "got %+v, %v, want %+v", got, err, want)
	f.reopen(t)
	again, err := f.UserByName("anna@example.com")
	expect.That(t, again == got && err == nil, "after a restart: got %+v, %v", again, err)
	expect.Error(t, expect.Err(f.UserByName("ann@example.com")), ErrNoUser, "the old address")
}

func TestALastUseIsWrittenOnceAMinute(t *testing.T) {
	f := newFolder(t)
	admin := f.admin(t)
	_, text, err := f.IssueToken(admin, TokenDraft{Name: "n"})
	expect.OK(t, err)
	want := func(when string, want time.Time) {
		t.Helper()
		list, err := f.ListTokens(admin.User.ID)
		expect.That(t, err == nil && len(list) == 1 && list[0].LastUsedAt.Equal(want),
			"%s: got %+v, %v, want a last use of %v", when, list, err, want)
	}
	want("never used", time.Time{})
	f.now = f.now.Add(time.Hour)
	expect.OK(t, expect.Err(f.Authenticate(text)))
	used := f.now
	want("used", used)
	value, err := f.table.Get(useKey(hashOf(text)))
	expect.That(t, value == nil && err == nil, "a use was written on the path of the request: %s, %v", value, err)
	expect.OK(t, f.WriteUses())
	expect.Equal(t, len(f.uses.pending), 0, "uses are pending after they were written")
	f.now = f.now.Add(time.Hour)
	expect.OK(t, expect.Err(f.Authenticate(text)))
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
		expect.OK(t, err)
		cookie, err := f.newCookie()
		expect.OK(t, err)
		_, byToken := f.Authenticate(text)
		_, bySession := f.AuthenticateSession(cookie)
		expect.MustError(t, expect.Err(f.LookUpSetupCode(cookie[:22])), ErrNoSetupCode)
		expect.MustThat(t, errors.Is(byToken, ErrUnauthorized) && errors.Is(bySession, ErrUnauthorized), "got %v and %v", byToken, bySession)
	}
	n := len(f.uses.pending)
	expect.That(t, n == 0 && rows(t, f) == before, "%d uses are recorded, and the rows are\n%s", n, rows(t, f))
}

func TestUsesBeyondTheLimitWait(t *testing.T) {
	u := newUses()
	at := time.UnixMilli(1)
	for i := range maxPendingUses + 10 {
		u.note([32]byte{byte(i), byte(i >> 8), byte(i >> 16)}, at)
	}
	u.note([32]byte{}, at.Add(1))
	expect.That(t, len(u.pending) == maxPendingUses && u.of([32]byte{}).Equal(at.Add(1)),
		"got %d, want %d, and the pending ones updated", len(u.pending), maxPendingUses)
}

// mayGo returns a Farewell that allows the deletion, or returns why if that is not nil.
func mayGo(why error) Farewell {
	return func(context.Context) (func(gone bool), error) { return func(bool) {}, why }
}

// TestAViewerHoldsScopesThatRead looks at what a viewer may do, and what is left of the tokens of those who become one.
func TestAViewerHoldsScopesThatRead(t *testing.T) {
	f := newFolder(t)
	f.add(t, "keeper@example.com", RoleAdmin)
	viewer := CallerOf(f.add(t, "viewer@example.com", RoleViewer))
	expect.Equal(t, fmt.Sprint(viewer.Scopes, viewer.TokenScopes()), "[links:read stats:read tokens:write] [links:read stats:read]", "scopes")
	expect.That(t, viewer.ReadsAll() && !CallerOf(User{ID: 9, Role: RoleMember}).ReadsAll(), "who reads the links of all")
	expect.Equal(t, len(CallerOf(User{ID: 9, Role: "later"}).Scopes), 0, "scopes of a role that is not known")
	for _, scope := range []Scope{LinksWrite, TokensWrite, Admin, Edge} {
		_, _, err := f.IssueToken(viewer, TokenDraft{Name: "n", Scopes: []Scope{scope}})
		expect.Equal(t, code(err), "exceeds", "a token for %s: got %v", scope, err)
	}
	for _, role := range []Role{RoleAdmin, RoleMember} {
		u := f.add(t, string(role)+"@example.com", role)
		_, text, err := f.IssueToken(CallerOf(u), TokenDraft{Name: "n", Scopes: CallerOf(u).Scopes})
		expect.OK(t, err)
		_, writes, err := f.IssueToken(CallerOf(u), TokenDraft{Name: "n", Scopes: []Scope{LinksWrite}})
		expect.OK(t, err)
		expect.OK(t, expect.Err(f.EditUser(Caller{}, u.ID, UserEdit{Role: ptr(RoleViewer)})))
		c, err := f.Authenticate(text)
		expect.That(t, err == nil && slices.Equal(c.Scopes, []Scope{LinksRead, StatsRead}) && c.ReadsAll(), "the token of a former %s: got %+v, %v", role, c, err)
		expect.Error(t, expect.Err(f.Authenticate(writes)), ErrUnauthorized, "a token without a scope that is left")
	}
	_, err := f.EditUser(Caller{}, 1, UserEdit{Role: ptr(RoleViewer)})
	expect.Equal(t, code(err), "last_admin", "the last admin: got %v", err)
	report, faults := checkTable(t, f)
	expect.That(t, len(faults) == 0, "got %+v and faults %+v", report, faults)
}
