package account

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"shunt/api/table"
	"shunt/engine"
	"shunt/engine/expect"
	"shunt/storage"
)

// folder is accounts in a store on disk, with a clock that only the test moves.
type folder struct {
	*Accounts
	dir   string
	store *storage.Store
	now   time.Time
}

func newFolder(t testing.TB) *folder {
	t.Helper()
	f := &folder{dir: filepath.Join(t.TempDir(), "store"), now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	f.open(t)
	t.Cleanup(func() {
		expect.NoError(t, f.store.Close())
	})
	return f
}

func (f *folder) open(t testing.TB) {
	t.Helper()
	store, err := storage.Open(f.dir, storage.Options{Create: true, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	expect.OK(t, err)
	f.store = store
	f.over(store.Accounts())
}

// over makes the accounts those in table.
func (f *folder) over(rows table.Table) { f.Accounts = New(rows, func() time.Time { return f.now }) }

func (f *folder) reopen(t *testing.T) {
	t.Helper()
	expect.OK(t, f.store.Close())
	f.open(t)
}

// writeRows writes rows without any check.
func (f *folder) writeRows(sets [][2][]byte, deletes [][]byte) error {
	done := make(chan error, 1)
	f.store.Accounts().Write(sets, deletes, nil, func(err error) { done <- err })
	return <-done
}

func (f *folder) admin(t testing.TB) Caller {
	t.Helper()
	u, _, err := f.EnsureAdmin()
	expect.OK(t, err)
	return CallerOf(u)
}

func (f *folder) add(t testing.TB, name string, role Role) User {
	t.Helper()
	u, err := f.AddUser(UserDraft{Email: name, Role: role})
	expect.OK(t, err)
	return u
}

func TestANewStoreGetsOneAdminUnderConcurrentCalls(t *testing.T) {
	f := newFolder(t)
	expect.Error(t, expect.Err(f.OldestAdmin()), ErrNoUser, "before")
	var askers sync.WaitGroup
	created := make(chan bool, 16)
	for range cap(created) {
		askers.Go(func() {
			u, fresh, err := f.EnsureAdmin()
			expect.That(t, err == nil && u.ID == 1 && u.Name == "admin" && u.Role == RoleAdmin, "got %+v, %v", u, err)
			created <- fresh
		})
	}
	askers.Wait()
	close(created)
	n := 0
	for fresh := range created {
		if fresh {
			n++
		}
	}
	expect.Equal(t, n, 1, "calls created an admin")
}

func TestTheOldestAdminHasTheLowestNumber(t *testing.T) {
	f := newFolder(t)
	f.add(t, "member@example.com", RoleMember)
	_, _, err := f.EnsureAdmin()
	expect.Error(t, err, ErrNoUser, "users but no admin")
	want := f.add(t, "first@example.com", RoleAdmin)
	f.add(t, "second@example.com", RoleAdmin)
	for range 2 {
		got, created, err := f.EnsureAdmin()
		expect.That(t, got == want && !created && err == nil, "got %+v, %v, %v; want %+v", got, created, err, want)
		f.reopen(t)
	}
}

func TestNamesAreUniqueInAnyCase(t *testing.T) {
	f := newFolder(t)
	want := f.add(t, "Ann@Example.com", RoleMember)
	for _, name := range []string{"ann@example.com", "ANN@EXAMPLE.COM"} {
		got, err := f.UserByName(name)
		expect.That(t, got == want && err == nil, "UserByName(%s): got %+v, %v", name, got, err)
		var invalid engine.FieldError
		_, err = f.AddUser(UserDraft{Email: name, Role: RoleMember})
		expect.That(t, errors.As(err, &invalid) && invalid.Code == "taken", "AddUser(%s): got %v, want taken", name, err)
	}
	for _, name := range []string{"", " ", "a\nb", "a\x00", "\xff", strings.Repeat("x", 255)} {
		expect.That(t, expect.Err(f.AddUser(UserDraft{Email: name, Role: RoleMember})) != nil, "AddUser(%q): got no error", name)
	}
	expect.Error(t, expect.Err(f.UserByName("nobody")), ErrNoUser, "nobody")
	expect.Equal(t, f.add(t, "next@example.com", RoleMember).ID, want.ID+1, "the next number")
}

func TestATokenAuthenticatesItsUserUntilItIsRevoked(t *testing.T) {
	f := newFolder(t)
	maker := f.admin(t)
	issued, text, err := f.IssueToken(maker, TokenDraft{Name: "ci", Scopes: []Scope{StatsRead, LinksWrite, StatsRead}})
	expect.OK(t, err)
	expect.Slices(t, issued.Scopes, []Scope{LinksWrite, StatsRead}, "scopes")
	f.reopen(t)
	c, err := f.Authenticate(text)
	expect.That(t, err == nil && c.User == maker.User && c.TokenID == issued.ID && slices.Equal(c.Scopes, issued.Scopes), "got %+v, %v", c, err)
	expect.That(t, c.Has(StatsRead) && !c.Has(Admin), "scopes of the caller: got %v", c.Scopes)
	expect.Error(t, f.RevokeToken(Caller{}, maker.User.ID+1, issued.ID), ErrNoToken, "revoking another's token")
	expect.NoError(t, f.RevokeToken(Caller{}, maker.User.ID, issued.ID))
	for _, text := range []string{text, "", "shunt_", "Bearer " + text} {
		expect.Error(t, expect.Err(f.Authenticate(text)), ErrUnauthorized, "%q", text)
	}
	f.reopen(t)
	expect.Error(t, expect.Err(f.Authenticate(text)), ErrUnauthorized, "after a restart")
}

func TestTheStoreHoldsNoTokenText(t *testing.T) {
	f := newFolder(t)
	_, text, err := f.IssueToken(f.admin(t), TokenDraft{Name: "ci"})
	expect.OK(t, err)
	rows := 0
	err = f.store.Accounts().Scan(nil, func(key, value []byte) (bool, error) {
		rows++
		for _, part := range []string{text, text[6:], text[6:36]} {
			expect.That(t, !bytes.Contains(key, []byte(part)) && !bytes.Contains(value, []byte(part)), "row %q holds the token", key)
		}
		return true, nil
	})
	expect.That(t, err == nil && rows == 5, "got %d rows, %v; want user, name, last number, token and its index", rows, err)
}

func TestATokenCanDoNoMoreThanItsMaker(t *testing.T) {
	f := newFolder(t)
	admin := f.admin(t)
	hour := f.now.Add(time.Hour)
	weak := Caller{User: admin.User, Scopes: []Scope{LinksRead, TokensWrite}, ExpiresAt: hour}
	for name, c := range map[string]struct {
		maker Caller
		draft TokenDraft
		want  string
	}{
		"foreign scope":      {weak, TokenDraft{Name: "n", Scopes: []Scope{LinksWrite}}, "exceeds"},
		"admin by a member":  {CallerOf(f.add(t, "ann@example.com", RoleMember)), TokenDraft{Name: "n", Scopes: []Scope{Admin}}, "exceeds"},
		"unknown scope":      {admin, TokenDraft{Name: "n", Scopes: []Scope{"root"}}, "unknown"},
		"no scope":           {admin, TokenDraft{Name: "n", Scopes: []Scope{}}, "required"},
		"outlives its maker": {weak, TokenDraft{Name: "n", ExpiresAt: hour.Add(time.Millisecond)}, "exceeds"},
		"expired":            {admin, TokenDraft{Name: "n", ExpiresAt: f.now}, "past"},
		"no name":            {admin, TokenDraft{}, "required"},
		"an edge by a member": {
			CallerOf(f.add(t, "joe@example.com", RoleMember)), TokenDraft{Name: "n", Scopes: []Scope{Edge}}, "exceeds",
		},
		"an edge by a token without admin": {weak, TokenDraft{Name: "n", Scopes: []Scope{Edge}}, "exceeds"},
		"an edge that may do more":         {admin, TokenDraft{Name: "n", Scopes: []Scope{LinksRead, Edge}}, "conflict"},
		"an edge twice":                    {admin, TokenDraft{Name: "n", Scopes: []Scope{Edge, Edge}}, "conflict"},
		"an edge without a good name":      {admin, TokenDraft{Name: "My edge", Scopes: []Scope{Edge}}, "invalid"},
	} {
		var invalid engine.InvalidError
		_, _, err := f.IssueToken(c.maker, c.draft)
		expect.That(t, errors.As(err, &invalid) && invalid[0].Code == c.want, "%s: got %v, want %s", name, err, c.want)
	}
	issued, _, err := f.IssueToken(weak, TokenDraft{Name: "n"})
	expect.That(t, err == nil && issued.ExpiresAt.Equal(hour) && slices.Equal(issued.Scopes, weak.Scopes),
		"by default: got %+v, %v; want the maker's scopes and expiry", issued, err)
	issued, _, err = f.IssueToken(admin, TokenDraft{Name: "n"})
	expect.That(t, err == nil && !slices.Contains(issued.Scopes, Admin) && len(issued.Scopes) == 4,
		"by default of an admin: got %+v, %v; want all scopes but admin", issued, err)
}

// TestTheTokenOfAnEdgeOpensNothingElse makes one as an admin, and looks at who its caller is: until the admin is
// demoted.
func TestTheTokenOfAnEdgeOpensNothingElse(t *testing.T) {
	f := newFolder(t)
	first, boss := f.add(t, "first@example.com", RoleAdmin), f.add(t, "boss@example.com", RoleAdmin)
	issued, text, err := f.IssueToken(CallerOf(boss), TokenDraft{Name: "frankfurt", Scopes: []Scope{Edge}})
	expect.OK(t, err)
	c, err := f.Authenticate(text)
	expect.That(t, err == nil && c.Edge == "frankfurt" && slices.Equal(c.Scopes, []Scope{Edge}), "got %+v, %v", c, err)
	for _, s := range AllScopes {
		expect.That(t, !c.Has(s), "it has the scope %s", s)
	}
	var invalid engine.InvalidError
	_, _, err = f.IssueToken(c, TokenDraft{Name: "another", Scopes: []Scope{Edge}})
	expect.That(t, errors.As(err, &invalid), "it made another token: %v", err)
	made, _, err := f.IssueToken(c, TokenDraft{Name: "another"})
	expect.That(t, err != nil || len(made.Scopes) == 0, "by default it made a token with %v, %v", made.Scopes, err)
	for _, other := range []Caller{CallerOf(boss), CallerOf(first)} {
		expect.That(t, !other.Has(Edge) && other.Edge == "", "an admin is an edge: %+v", other)
	}
	expect.OK(t, f.RevokeToken(Caller{}, boss.ID, issued.ID))
	expect.Error(t, expect.Err(f.Authenticate(text)), ErrUnauthorized, "revoked")
	_, text, err = f.IssueToken(CallerOf(boss), TokenDraft{Name: "frankfurt", Scopes: []Scope{Edge}})
	expect.OK(t, err)
	member := RoleMember
	expect.OK(t, expect.Err(f.EditUser(Caller{}, boss.ID, UserEdit{Role: &member})), "demoting")
	expect.Error(t, expect.Err(f.Authenticate(text)), ErrUnauthorized, "after its maker was demoted")
}

func TestATokenEndsAtItsExpiry(t *testing.T) {
	f := newFolder(t)
	_, text, err := f.IssueToken(f.admin(t), TokenDraft{Name: "n", ExpiresAt: f.now.Add(time.Hour)})
	expect.OK(t, err)
	f.now = f.now.Add(time.Hour - time.Millisecond)
	expect.NoError(t, expect.Err(f.Authenticate(text)), "before")
	f.now = f.now.Add(time.Millisecond)
	expect.Error(t, expect.Err(f.Authenticate(text)), ErrUnauthorized, "at its expiry")
}

func TestAUserHasABoundedNumberOfLiveTokens(t *testing.T) {
	f := newFolder(t)
	admin := f.admin(t)
	var sets [][2][]byte
	for i := range MaxTokens {
		hash := bytes.Repeat([]byte{byte(i), byte(i >> 8)}, 16)
		token := Token{ID: fmt.Sprint(i), UserID: admin.User.ID, Name: "n", CreatedAt: f.now.Add(time.Duration(i) * time.Second)}
		if i == 7 {
			token.ExpiresAt = f.now.Add(time.Hour)
		}
		sets = append(sets, [2][]byte{tokenKey(hash), encodeToken(token, hash)}, [2][]byte{tokenIndexKey(admin.User.ID, token.ID), hash})
	}
	expect.OK(t, f.writeRows(sets, nil))
	var invalid engine.FieldError
	if _, _, err := f.IssueToken(admin, TokenDraft{Name: "n"}); !errors.As(err, &invalid) || invalid.Code != "too_many" {
		t.Errorf("one too many: got %v", err)
	}
	f.now = f.now.Add(time.Hour)
	issued, _, err := f.IssueToken(admin, TokenDraft{Name: "last"})
	expect.OK(t, err)
	list, err := f.ListTokens(admin.User.ID)
	expect.That(t, err == nil && len(list) == MaxTokens && list[0].ID == "0" && slices.ContainsFunc(list, func(t Token) bool { return t.ID == issued.ID }),
		"got %d tokens, %v", len(list), err)
	expect.That(t, !slices.ContainsFunc(list, func(t Token) bool { return t.ID == "7" }), "the expired token is still there")
}

func TestARowOfANewerFormatIsAnError(t *testing.T) {
	f := newFolder(t)
	admin := f.admin(t)
	newer := [2][]byte{userKey(admin.User.ID), []byte(`{"v":3,"id":1}`)}
	expect.OK(t, f.writeRows([][2][]byte{newer}, nil))
	expect.Error(t, expect.Err(f.UserByName("admin")), errFormat)
}

// TestTheTokensOfAllAreListedPageByPage compares pages of them with the lists of each user.
func TestTheTokensOfAllAreListedPageByPage(t *testing.T) {
	f := newFolder(t)
	want := map[string]string{}
	for _, name := range []string{"a@example.com", "b@example.com", "c@example.com"} {
		u := f.add(t, name, RoleMember)
		for range 5 {
			token, text, err := f.IssueToken(CallerOf(u), TokenDraft{Name: name})
			expect.OK(t, err)
			expect.Equal(t, token.Begins, text[:10], "what is kept of a token")
			want[token.ID] = token.Begins
		}
	}
	for _, limit := range []int{1, 2, 7, 15, 16} {
		got := map[string]string{}
		for at, more := (TokenPlace{}), true; more; {
			var page []Token
			var err error
			page, at, more, err = f.AllTokens(at, "", limit)
			expect.That(t, err == nil && len(page) <= limit && (len(page) > 0 || !more), "got %d tokens, %v", len(page), err)
			for _, token := range page {
				expect.Equal(t, got[token.ID], "", "token %s comes twice", token.ID)
				got[token.ID] = token.Begins
			}
		}
		expect.Equal(t, fmt.Sprint(got), fmt.Sprint(want), "by %d", limit)
	}
	for id, begins := range want {
		found, _, _, err := f.AllTokens(TokenPlace{}, begins, 100)
		expect.That(t, err == nil && slices.ContainsFunc(found, func(t Token) bool { return t.ID == id }), "%s: got %v, %v", begins, found, err)
		one, err := f.TokenOfAnybody(id)
		expect.That(t, err == nil && one.ID == id && one.Begins == begins, "got %+v, %v", one, err)
	}
	expect.Error(t, expect.Err(f.TokenOfAnybody("")), ErrNoToken)
	expect.Error(t, expect.Err(f.TokenOfAnybody("none")), ErrNoToken)
}
