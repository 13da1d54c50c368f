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

	"shunt/engine"
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
		if err := f.store.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

func (f *folder) open(t testing.TB) {
	t.Helper()
	store, err := storage.Open(f.dir, storage.Options{Create: true, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		t.Fatal(err)
	}
	f.store = store
	f.over(store.Accounts())
}

// over makes the accounts those in table.
func (f *folder) over(table Table) { f.Accounts = New(table, func() time.Time { return f.now }) }

func (f *folder) reopen(t *testing.T) {
	t.Helper()
	if err := f.store.Close(); err != nil {
		t.Fatal(err)
	}
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
	if err != nil {
		t.Fatal(err)
	}
	return CallerOf(u)
}

func (f *folder) add(t testing.TB, name string, role Role) User {
	t.Helper()
	u, err := f.AddUser(UserDraft{Email: name, Role: role})
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestANewStoreGetsOneAdminUnderConcurrentCalls(t *testing.T) {
	f := newFolder(t)
	if _, err := f.OldestAdmin(); !errors.Is(err, ErrNoUser) {
		t.Errorf("before: got %v, want %v", err, ErrNoUser)
	}
	var askers sync.WaitGroup
	created := make(chan bool, 16)
	for range cap(created) {
		askers.Go(func() {
			u, fresh, err := f.EnsureAdmin()
			if err != nil || u.ID != 1 || u.Name != "admin" || u.Role != RoleAdmin {
				t.Errorf("got %+v, %v", u, err)
			}
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
	if n != 1 {
		t.Errorf("%d calls created an admin, want 1", n)
	}
}

func TestTheOldestAdminHasTheLowestNumber(t *testing.T) {
	f := newFolder(t)
	f.add(t, "member@example.com", RoleMember)
	if _, _, err := f.EnsureAdmin(); !errors.Is(err, ErrNoUser) {
		t.Errorf("users but no admin: got %v, want %v", err, ErrNoUser)
	}
	want := f.add(t, "first@example.com", RoleAdmin)
	f.add(t, "second@example.com", RoleAdmin)
	for range 2 {
		if got, created, err := f.EnsureAdmin(); got != want || created || err != nil {
			t.Errorf("got %+v, %v, %v; want %+v", got, created, err, want)
		}
		f.reopen(t)
	}
}

func TestNamesAreUniqueInAnyCase(t *testing.T) {
	f := newFolder(t)
	want := f.add(t, "Ann@Example.com", RoleMember)
	for _, name := range []string{"ann@example.com", "ANN@EXAMPLE.COM"} {
		if got, err := f.UserByName(name); got != want || err != nil {
			t.Errorf("UserByName(%s): got %+v, %v", name, got, err)
		}
		var invalid engine.FieldError
		if _, err := f.AddUser(UserDraft{Email: name, Role: RoleMember}); !errors.As(err, &invalid) || invalid.Code != "taken" {
			t.Errorf("AddUser(%s): got %v, want taken", name, err)
		}
	}
	for _, name := range []string{"", " ", "a\nb", "a\x00", "\xff", strings.Repeat("x", 255)} {
		if _, err := f.AddUser(UserDraft{Email: name, Role: RoleMember}); err == nil {
			t.Errorf("AddUser(%q): got no error", name)
		}
	}
	if _, err := f.UserByName("nobody"); !errors.Is(err, ErrNoUser) {
		t.Errorf("nobody: got %v", err)
	}
	if next := f.add(t, "next@example.com", RoleMember); next.ID != want.ID+1 {
		t.Errorf("the next number: got %d, want %d", next.ID, want.ID+1)
	}
}

func TestATokenAuthenticatesItsUserUntilItIsRevoked(t *testing.T) {
	f := newFolder(t)
	maker := f.admin(t)
	issued, text, err := f.IssueToken(maker, TokenDraft{Name: "ci", Scopes: []Scope{StatsRead, LinksWrite, StatsRead}})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(issued.Scopes, []Scope{LinksWrite, StatsRead}) {
		t.Errorf("scopes: got %v", issued.Scopes)
	}
	f.reopen(t)
	c, err := f.Authenticate(text)
	if err != nil || c.User != maker.User || c.TokenID != issued.ID || !slices.Equal(c.Scopes, issued.Scopes) {
		t.Errorf("got %+v, %v", c, err)
	}
	if !c.Has(StatsRead) || c.Has(Admin) {
		t.Errorf("scopes of the caller: got %v", c.Scopes)
	}
	if err := f.RevokeToken(Caller{}, maker.User.ID+1, issued.ID); !errors.Is(err, ErrNoToken) {
		t.Errorf("revoking another's token: got %v", err)
	}
	if err := f.RevokeToken(Caller{}, maker.User.ID, issued.ID); err != nil {
		t.Error(err)
	}
	for _, text := range []string{text, "", "shunt_", "Bearer " + text} {
		if _, err := f.Authenticate(text); !errors.Is(err, ErrUnauthorized) {
			t.Errorf("%q: got %v, want %v", text, err, ErrUnauthorized)
		}
	}
	f.reopen(t)
	if _, err := f.Authenticate(text); !errors.Is(err, ErrUnauthorized) {
		t.Errorf("after a restart: got %v, want %v", err, ErrUnauthorized)
	}
}

func TestTheStoreHoldsNoTokenText(t *testing.T) {
	f := newFolder(t)
	_, text, err := f.IssueToken(f.admin(t), TokenDraft{Name: "ci"})
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	err = f.store.Accounts().Scan(nil, func(key, value []byte) (bool, error) {
		rows++
		for _, part := range []string{text, text[6:], text[6:36]} {
			if bytes.Contains(key, []byte(part)) || bytes.Contains(value, []byte(part)) {
				t.Errorf("row %q holds the token", key)
			}
		}
		return true, nil
	})
	if err != nil || rows != 5 {
		t.Errorf("got %d rows, %v; want user, name, last number, token and its index", rows, err)
	}
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
	} {
		var invalid engine.InvalidError
		if _, _, err := f.IssueToken(c.maker, c.draft); !errors.As(err, &invalid) || invalid[0].Code != c.want {
			t.Errorf("%s: got %v, want %s", name, err, c.want)
		}
	}
	issued, _, err := f.IssueToken(weak, TokenDraft{Name: "n"})
	if err != nil || !issued.ExpiresAt.Equal(hour) || !slices.Equal(issued.Scopes, weak.Scopes) {
		t.Errorf("by default: got %+v, %v; want the maker's scopes and expiry", issued, err)
	}
	issued, _, err = f.IssueToken(admin, TokenDraft{Name: "n"})
	if err != nil || slices.Contains(issued.Scopes, Admin) || len(issued.Scopes) != 4 {
		t.Errorf("by default of an admin: got %+v, %v; want all scopes but admin", issued, err)
	}
}

func TestATokenEndsAtItsExpiry(t *testing.T) {
	f := newFolder(t)
	_, text, err := f.IssueToken(f.admin(t), TokenDraft{Name: "n", ExpiresAt: f.now.Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	f.now = f.now.Add(time.Hour - time.Millisecond)
	if _, err := f.Authenticate(text); err != nil {
		t.Errorf("before: got %v", err)
	}
	f.now = f.now.Add(time.Millisecond)
	if _, err := f.Authenticate(text); !errors.Is(err, ErrUnauthorized) {
		t.Errorf("at its expiry: got %v", err)
	}
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
	if err := f.writeRows(sets, nil); err != nil {
		t.Fatal(err)
	}
	var invalid engine.FieldError
	if _, _, err := f.IssueToken(admin, TokenDraft{Name: "n"}); !errors.As(err, &invalid) || invalid.Code != "too_many" {
		t.Errorf("one too many: got %v", err)
	}
	f.now = f.now.Add(time.Hour)
	issued, _, err := f.IssueToken(admin, TokenDraft{Name: "last"})
	if err != nil {
		t.Fatal(err)
	}
	list, err := f.ListTokens(admin.User.ID)
	if err != nil || len(list) != MaxTokens || list[0].ID != "0" || !slices.ContainsFunc(list, func(t Token) bool { return t.ID == issued.ID }) {
		t.Errorf("got %d tokens, %v", len(list), err)
	}
	if slices.ContainsFunc(list, func(t Token) bool { return t.ID == "7" }) {
		t.Error("the expired token is still there")
	}
}

func TestARowOfANewerFormatIsAnError(t *testing.T) {
	f := newFolder(t)
	admin := f.admin(t)
	newer := [2][]byte{userKey(admin.User.ID), []byte(`{"v":3,"id":1}`)}
	if err := f.writeRows([][2][]byte{newer}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := f.UserByName("admin"); !errors.Is(err, errFormat) {
		t.Errorf("got %v, want %v", err, errFormat)
	}
}
