package account

import (
	"bytes"
	"crypto/sha256"
	"reflect"
	"testing"
	"time"

	"shunt/engine/expect"
)

func TestRowsAreWrittenAsTheyAlwaysWere(t *testing.T) {
	at := time.UnixMilli(1767323045000).UTC()
	u := userRecord{User: User{ID: 3, Name: "a@b", Role: RoleMember, CreatedAt: at, HasPassword: true}, password: "$argon2id$x"}
	limited := u
	limited.Domains = OnlyIn(7, 0)
	none := u
	none.HasPassword, none.password = false, ""
	for name, row := range map[string]struct {
		got  []byte
		want string
	}{
		"user":                    {encodeUser(u), `{"v":1,"id":3,"name":"a@b","role":"member","created_ms":1767323045000,"password":"$argon2id$x"}`},
		"user without a password": {encodeUser(none), `{"v":1,"id":3,"name":"a@b","role":"member","created_ms":1767323045000}`},
		"token": {
			encodeToken(Token{ID: "i", UserID: 3, Name: "n", Scopes: []Scope{LinksRead}, CreatedAt: at, ExpiresAt: at}, []byte{1, 2}),
			`{"v":1,"id":"i","hash":"AQI=","user":3,"name":"n","scopes":["links:read"],"created_ms":1767323045000,"expires_ms":1767323045000}`,
		},
		"limited user": {encodeUser(limited), `{"v":2,"id":3,"name":"a@b","role":"member","created_ms":1767323045000,"password":"$argon2id$x","domains":[0,7]}`},
		"limited token": {
			encodeToken(Token{ID: "i", UserID: 3, Name: "n", Scopes: []Scope{LinksRead}, CreatedAt: at, Domains: OnlyIn(2)}, []byte{1, 2}),
			`{"v":2,"id":"i","hash":"AQI=","user":3,"name":"n","scopes":["links:read"],"created_ms":1767323045000,"domains":[2]}`,
		},
		"session":    {encodeSession(session{3, at}, []byte{1, 2}), `{"v":1,"hash":"AQI=","user":3,"created_ms":1767323045000}`},
		"setup code": {encodeSetupCode(setupCode{3, at}, []byte{1, 2}), `{"v":1,"hash":"AQI=","user":3,"expires_ms":1767323045000}`},
		"campaigns": {
			encodeCampaigns(3, []Campaign{{"n", "s", "m", "c", "t", "x"}, {Name: "o", Source: "p"}}),
			`{"v":1,"user":3,"campaigns":[{"name":"n","source":"s","medium":"m","campaign":"c","term":"t","content":"x"},{"name":"o","source":"p"}]}`,
		},
		"filters":  {encodeFilters(3, []Filter{{"n", "q=x&tag=y"}}), `{"v":1,"user":3,"filters":[{"name":"n","query":"q=x\u0026tag=y"}]}`},
		"last use": {encodeUse(at), `{"v":1,"at_ms":1767323045000}`},
	} {
		expect.Equal(t, string(row.got), row.want, "%s: got %s", name, row.got)
	}
	expect.Error(t, expect.Err(decodeUser([]byte(`{"v":3,"id":3,"name":"a@b","role":"member","created_ms":1767323045000}`))), errFormat, "a user of version 3")
	again, err := decodeUser(encodeUser(limited))
	expect.That(t, err == nil && again == limited, "got %+v, %v", again, err)
}

// A program that does not know of limits reads a row by decode alone, and so refuses one that has a limit.
func TestAnOlderProgramRefusesWhoIsLimitedToDomains(t *testing.T) {
	u := userRecord{User: User{ID: 3, Name: "a@b", Role: RoleMember}}
	token := Token{ID: "i", UserID: 3, Name: "n", Scopes: []Scope{LinksRead}}
	older := func(row []byte) error {
		var known struct{ V int }
		return decode(row, &known, &known.V)
	}
	expect.OK(t, older(encodeUser(u)))
	expect.OK(t, older(encodeToken(token, nil)))
	u.Domains, token.Domains = OnlyIn(0), OnlyIn(0)
	expect.Error(t, older(encodeUser(u)), errFormat, "a limited user")
	expect.Error(t, older(encodeToken(token, nil)), errFormat, "a limited token")
	for _, row := range []string{
		`{"v":2,"id":3}`, `{"v":2,"id":3,"domains":[]}`, `{"v":2,"id":3,"domains":null}`, `{"v":1,"id":3,"domains":[1]}`,
		`{"v":1,"id":3,"domains":[]}`, `{"v":2,"id":3,"domains":[2,1]}`, `{"v":2,"id":3,"domains":[1,1]}`, `{"v":2,"id":3,"domains":[-1]}`, `{"v":2,"id":3,"domains":"all"}`,
	} {
		expect.Error(t, expect.Err(decodeUser([]byte(row))), errFormat, "%s as a user", row)
		_, _, err := decodeToken([]byte(row))
		expect.Error(t, err, errFormat, "%s as a token", row)
	}
}

func TestKeysOfAccountsAreAsPinned(t *testing.T) {
	hash := sha256.Sum256([]byte("x"))
	h := string(hash[:])
	for want, got := range map[string][]byte{
		"u\x00\x00\x00\x07": userKey(7), "s": lastUserKey, "na@b": nameKey("A@b"), "t" + h: tokenKey(hash[:]),
		"x\x00\x00\x00\x07id": tokenIndexKey(7, "id"), "c" + h: sessionKey(hash[:]),
		"y\x00\x00\x00\x07" + h: sessionIndexKey(7, hash[:]), "l" + h: useKey(hash[:]),
		"m\x00\x00\x00\x07": campaignsKey(7), "f\x00\x00\x00\x07": filtersKey(7),
		"k" + h: setupCodeKey(hash[:]), "w\x00\x00\x00\x07" + h: setupCodeIndexKey(7, hash[:]),
	} {
		expect.Equal(t, string(got), want, "got %q", got)
	}
}

// Decoding must not panic, whatever bytes a row has, and a row that is accepted must be the same
// after it is encoded and decoded again.

func FuzzDecodeUser(f *testing.F) {
	f.Add(encodeUser(userRecord{User{ID: 7, Name: "ann@example.com", Role: RoleMember, CreatedAt: time.UnixMilli(1_800_000_000_000)}, "$"}))
	f.Add([]byte(`{"v":2,"id":7,"name":"a","role":"member","domains":[0,65535]}`))
	f.Add([]byte(`{"v":1,"id":4294967295,"name":"\ud83c","role":"king","created_ms":-9223372036854775808}`))
	f.Add([]byte(`{"v":1,"password":"x"}`))
	f.Add([]byte(`{"v":3}`))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, value []byte) {
		u, err := decodeUser(value)
		if err != nil {
			return
		}
		again, err := decodeUser(encodeUser(u))
		expect.That(t, err == nil && again == u, "got %+v, %v, want %+v", again, err, u)
	})
}

func FuzzDecodeToken(f *testing.F) {
	token := Token{
		ID: "abc", UserID: 7, Name: "ci", Scopes: []Scope{LinksWrite, Admin},
		CreatedAt: time.UnixMilli(1_800_000_000_000), ExpiresAt: time.UnixMilli(1_900_000_000_000),
	}
	f.Add(encodeToken(token, []byte("a hash")))
	f.Add([]byte(`{"v":1,"hash":"","scopes":[],"expires_ms":-62135596800000}`)) // the zero time
	f.Add([]byte(`{"v":2,"hash":"","scopes":[],"domains":[3,4]}`))
	f.Add([]byte(`{"v":1,"hash":null,"scopes":null,"expires_ms":9223372036854775807}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, value []byte) {
		token, hash, err := decodeToken(value)
		if err != nil {
			return
		}
		again, hashAgain, err := decodeToken(encodeToken(token, hash))
		expect.That(t, err == nil && reflect.DeepEqual(again, token) && reflect.DeepEqual(hashAgain, hash),
			"got %+v, %x, %v, want %+v, %x", again, hashAgain, err, token, hash)
	})
}

func FuzzDecodeSessionCodeAndUse(f *testing.F) {
	f.Add(encodeSetupCode(setupCode{7, time.UnixMilli(1_800_000_000_000)}, []byte("a hash")))
	f.Add(encodeSession(session{7, time.UnixMilli(1_800_000_000_000)}, []byte("a hash")))
	f.Add(encodeUse(time.UnixMilli(1_800_000_000_000)))
	f.Add([]byte(`{"v":1,"at_ms":-9223372036854775808,"created_ms":9223372036854775807}`))
	f.Fuzz(func(t *testing.T, value []byte) {
		if s, hash, err := decodeSession(value); err == nil {
			again, hashAgain, err := decodeSession(encodeSession(s, hash))
			expect.That(t, err == nil && again == s && bytes.Equal(hashAgain, hash), "got %+v, %x, %v, want %+v, %x", again, hashAgain, err, s, hash)
		}
		if s, hash, err := decodeSetupCode(value); err == nil {
			again, hashAgain, err := decodeSetupCode(encodeSetupCode(s, hash))
			expect.That(t, err == nil && again == s && bytes.Equal(hashAgain, hash), "got %+v, %x, %v, want %+v, %x", again, hashAgain, err, s, hash)
		}
		if at, err := decodeUse(value); err == nil {
			again, err := decodeUse(encodeUse(at))
			expect.That(t, err == nil && again.Equal(at), "got %v, %v, want %v", again, err, at)
		}
	})
}
