package account

import (
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"shunt/api/table"
	"shunt/engine"
	"shunt/engine/expect"
)

// counting is a table that counts what is read from it, and can hold one Get after it has read.
type counting struct {
	table.Table
	reads atomic.Int64

	held    byte          // the first byte of the key of the Get to hold; 0: none
	arrived chan struct{} // closed when that Get has read
	release chan struct{} // lets it return
}

func (c *counting) Get(key []byte) ([]byte, error) {
	c.reads.Add(1)
	value, err := c.Table.Get(key)
	if c.held != 0 && key[0] == c.held {
		c.held = 0
		close(c.arrived)
		<-c.release
	}
	return value, err
}

// hold makes the next Get of a key with that first byte wait until c.release is closed.
func (c *counting) hold(first byte) {
	c.held, c.arrived, c.release = first, make(chan struct{}), make(chan struct{})
}

// counted makes f's accounts those in a counting table.
func (f *folder) counted() *counting {
	c := &counting{Table: f.store.Accounts()}
	f.over(c)
	return c
}

// issue issues a token of u with all scopes of u's role.
func (f *folder) issue(t testing.TB, u User) (Token, string) {
	t.Helper()
	token, text, err := f.IssueToken(CallerOf(u), TokenDraft{Name: "n", Scopes: u.Role.scopes()})
	expect.OK(t, err)
	return token, text
}

// begin begins a session of u without a password.
func (f *folder) begin(t testing.TB, u User) (cookie string) {
	t.Helper()
	checked, err := f.readUser(u.ID)
	if err == nil {
		_, cookie, err = f.beginSession(checked, checked.password)
	}
	expect.OK(t, err)
	return cookie
}

// ofToken and ofCookie return the credential that a text is.
func ofToken(text string) credential {
	hash, _ := parseToken(text)
	return credential{byToken, hash}
}

func ofCookie(text string) credential {
	hash, _ := parseCookie(text)
	return credential{bySession, hash}
}

// inTable returns the caller of a credential as the table has it.
func (a *Accounts) inTable(of credential) (Caller, error) {
	read := a.readCallerByToken
	if of.kind == bySession {
		read = a.readCallerBySession
	}
	k, err := read(of.hash, a.now())
	if err != nil {
		return Caller{}, err
	}
	return k.Caller, nil
}

// agrees fails unless requests with the credentials are answered as the table has it.
func (a *Accounts) agrees(t interface {
	Helper()
	Errorf(string, ...any)
}, when string, all ...credential) {
	t.Helper()
	for _, of := range all {
		want, wantErr := a.inTable(of)
		got, err := a.Recheck(Caller{credential: of})
		if !errors.Is(err, wantErr) || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: credential %x of kind %d: got %+v, %v, but the table has %+v, %v",
				when, of.hash[:4], of.kind, got, err, want, wantErr)
		}
	}
}

func TestAKnownCallerIsNotReadAgain(t *testing.T) {
	f := newFolder(t)
	u := f.admin(t).User
	table := f.counted()
	_, token := f.issue(t, u)
	cookie := f.begin(t, u)
	for name, ask := range map[string]func() (Caller, error){
		"a token":   func() (Caller, error) { return f.Authenticate(token) },
		"a session": func() (Caller, error) { return f.AuthenticateSession(cookie) },
	} {
		first, err := ask()
		if err != nil || first.User != u {
			t.Fatalf("%s: got %+v, %v", name, first, err)
		}
		before := table.reads.Load()
		if again, err := ask(); err != nil || !reflect.DeepEqual(again, first) {
			t.Errorf("%s, again: got %+v, %v, want %+v", name, again, err, first)
		}
		if n := table.reads.Load() - before; n != 0 {
			t.Errorf("%s: %d rows were read, want none", name, n)
		}
		if n := testing.AllocsPerRun(200, func() { _, _ = ask() }); n != 0 {
			t.Errorf("%s: got %v allocations, want 0", name, n)
		}
	}
}

func TestAKnownTokenKeepsItsLastUse(t *testing.T) {
	f := newFolder(t)
	u := f.admin(t).User
	_, text := f.issue(t, u)
	for range 3 {
		f.now = f.now.Add(time.Millisecond)
		expect.OK(t, expect.Err(f.Authenticate(text)))
		list, err := f.ListTokens(u.ID)
		expect.That(t, err == nil && len(list) == 1 && list[0].LastUsedAt.Equal(f.now), "got %+v, %v, want a last use at %v", list, err, f.now)
		expect.OK(t, f.WriteUses())
	}
}

func TestWritingLastUsesForgetsNoCaller(t *testing.T) {
	f := newFolder(t)
	u := f.admin(t).User
	_, text := f.issue(t, u)
	expect.OK(t, expect.Err(f.Authenticate(text)))
	expect.OK(t, f.WriteUses())
	k, _ := f.callers.find(ofToken(text), f.now)
	expect.That(t, k != nil, "the caller must be read again")
}

// A reader that was slow between the table and memory must not bring back what a write has ended.
func TestASlowReaderDoesNotBringBackWhatHasEnded(t *testing.T) {
	email := "new@example.com"
	for name, c := range map[string]struct {
		at    byte // the row after which the reader is held
		write func(f *folder, u User, token Token, cookie string) error
	}{
		"token, revoked":        {'t', func(f *folder, u User, token Token, _ string) error { return f.RevokeToken(Caller{}, u.ID, token.ID) }},
		"user, revoked":         {'u', func(f *folder, u User, token Token, _ string) error { return f.RevokeToken(Caller{}, u.ID, token.ID) }},
		"user, renamed":         {'u', func(f *folder, u User, _ Token, _ string) error { return f.rename(u.ID, email) }},
		"user, deleted":         {'u', func(f *folder, u User, _ Token, _ string) error { return f.RemoveUser(Caller{}, u.ID, mayGo(nil)) }},
		"session, ended":        {'c', func(f *folder, _ User, _ Token, cookie string) error { return f.EndSession(cookie) }},
		"session, all ended":    {'c', func(f *folder, u User, _ Token, _ string) error { return f.EndSessions(Caller{}, u.ID) }},
		"session, user renamed": {'c', func(f *folder, u User, _ Token, _ string) error { return f.rename(u.ID, email) }},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFolder(t)
			f.admin(t)
			u := f.add(t, "ann@example.com", RoleMember)
			token, text := f.issue(t, u)
			cookie := f.begin(t, u)
			of := ofToken(text)
			if strings.HasPrefix(name, "session") {
				of = ofCookie(cookie)
			}
			table := f.counted()
			table.hold(c.at)
			read := make(chan struct{})
			go func() {
				defer close(read)
				_, _ = f.Recheck(Caller{credential: of}) // either answer is right: the write is under way
			}()
			<-table.arrived
			expect.NoError(t, c.write(f, u, token, cookie))
			f.agrees(t, "after the write", of)
			close(table.release)
			<-read
			f.agrees(t, "after the slow reader", of)
			f.agrees(t, "again", of)
		})
	}
}

// rename gives a user another address.
func (f *folder) rename(id uint32, email string) error {
	_, err := f.EditUser(Caller{}, id, UserEdit{Email: &email})
	return err
}

func TestNoMemoryContradictsAWriteWhoseOutcomeIsUnknown(t *testing.T) {
	for name, fails := range map[string]error{"written late": nil, "not written": engine.ErrReadOnly} {
		t.Run(name, func(t *testing.T) {
			inStall(t, func(t *testing.T, f *folder, table *stalling) {
				admin, token, hash := used(t, f)
				of := credential{byToken, hash}
				other := ofCookie(f.begin(t, admin.User))
				f.agrees(t, "before", of, other)
				table.fails = fails
				table.stall()
				within(t, func() error { return f.RevokeToken(Caller{}, admin.User.ID, token.ID) }, engine.ErrOutcomeUnknown, engine.CommitTimeout)
				for range 2 {
					f.agrees(t, "unknown", of, other)
					k, _ := f.callers.find(of, f.now)
					expect.That(t, k == nil, "a caller whose token may be revoked is in memory")
				}
				table.release()
				f.agrees(t, "known", of, other)
				_, err := f.Recheck(Caller{credential: of})
				expect.Equal(t, errors.Is(err, ErrUnauthorized), fails == nil, "after the write: got %v", err)
				k, _ := f.callers.find(of, f.now)
				expect.Equal(t, k == nil, fails == nil, "after the write: in memory: %v", k != nil)
			})
		})
	}
}

func TestKnownCallersEndAtTheirTime(t *testing.T) {
	f := newFolder(t)
	u := f.admin(t).User
	_, text, err := f.IssueToken(CallerOf(u), TokenDraft{Name: "n", ExpiresAt: f.now.Add(90 * time.Minute)})
	expect.OK(t, err)
	all := []credential{ofToken(text), ofCookie(f.begin(t, u))}
	begin := f.now
	for f.now.Sub(begin) < SessionLifetime-time.Hour {
		f.agrees(t, fmt.Sprintf("after %v", f.now.Sub(begin)), all...)
		f.now = f.now.Add(29*time.Minute + 59*time.Second + 999*time.Millisecond)
	}
	for _, left := range []time.Duration{time.Minute, time.Minute - 1, time.Millisecond, 0} { // in memory, up to the last
		f.now = begin.Add(SessionLifetime - left)
		f.agrees(t, fmt.Sprintf("%v before the end", left), all...)
	}
	expect.Error(t, expect.Err(f.Recheck(Caller{credential: all[1]})), ErrUnauthorized, "after a month")
}

// numbered returns the n-th of as many callers as a test needs.
func numbered(n int) *knownCaller {
	k := &knownCaller{Caller: Caller{User: User{ID: uint32(n), Name: strings.Repeat("n", maxEmailBytes)}, TokenID: newTokenID()}}
	for _, s := range AllScopes {
		k.Scopes = append(k.Scopes, Scope(strings.Clone(string(s))))
	}
	k.credential = credential{kind: byToken, hash: [32]byte{byte(n), byte(n >> 8), byte(n >> 16)}}
	return k
}

func TestTheMemoryForCallersIsBounded(t *testing.T) {
	var before, after runtime.MemStats
	c, now := newCallers(), time.Now()
	runtime.GC()
	runtime.ReadMemStats(&before)
	for n := range 3 * maxKnownCallers {
		k := numbered(n)
		_, ticket := c.find(k.credential, now)
		c.keep(k, ticket, now)
		known, _ := c.find(k.credential, now)
		expect.MustEqual(t, known, k, "the %d-th caller is not known", n)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	expect.Equal(t, len(c.known), maxKnownCallers, "callers are in memory")
	size := int64(after.HeapAlloc) - int64(before.HeapAlloc)
	expect.That(t, size <= 16<<20, "they take %d bytes, want at most 16 MiB", size)
	runtime.KeepAlive(c)
}

func TestUnknownCredentialsTakeNoMemory(t *testing.T) {
	f := newFolder(t)
	u := f.admin(t).User
	token, text := f.issue(t, u)
	expect.NoError(t, f.RevokeToken(Caller{}, u.ID, token.ID))
	for range 100 {
		f.agrees(t, "unknown", ofToken(text), numbered(7).credential)
	}
	expect.Equal(t, len(f.callers.known), 0, "callers are in memory")
}

// Which rows callers are made of decides what a write forgets. A table that is new must not be overlooked.
func TestARowOfAnUnknownTableForgetsEverybody(t *testing.T) {
	for key, forgotten := range map[string]bool{
		string(userKey(7)): true, string(lastUserKey): false, string(nameKey("u")): false, string(tokenKey(make([]byte, 32))): true,
		string(useKey(make([]byte, 32))): false, string(tokensOf(7)): false, string(sessionKey(make([]byte, 32))): true, "z": true, "": true,
	} {
		c, now, k := newCallers(), time.Now(), numbered(6)
		_, ticket := c.find(k.credential, now)
		c.keep(k, ticket, now)
		for _, ended := range []func(){c.writing(nil, [][]byte{[]byte(key)}), c.writing([][2][]byte{{[]byte(key)}}, nil)} {
			ended()
		}
		known, _ := c.find(k.credential, now)
		expect.Equal(t, known == nil, forgotten, "a write of the row %q: the caller is forgotten", key)
	}
}
