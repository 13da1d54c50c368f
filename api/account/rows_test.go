package account

import (
	"reflect"
	"testing"
	"time"
)

// Whatever stands in a row, decoding it does not panic, and what it takes for a row survives being written again.

func FuzzDecodeUser(f *testing.F) {
	f.Add(encodeUser(User{ID: 7, Name: "ann@example.com", Role: RoleMember, CreatedAt: time.UnixMilli(1_800_000_000_000)}))
	f.Add([]byte(`{"v":1,"id":4294967295,"name":"\ud83c","role":"king","created_ms":-9223372036854775808}`))
	f.Add([]byte(`{"v":2}`))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, value []byte) {
		u, err := decodeUser(value)
		if err != nil {
			return
		}
		if again, err := decodeUser(encodeUser(u)); err != nil || again != u {
			t.Errorf("got %+v, %v, want %+v", again, err, u)
		}
	})
}

func FuzzDecodeToken(f *testing.F) {
	token := Token{
		ID: "abc", UserID: 7, Name: "ci", Scopes: []Scope{LinksWrite, Admin},
		CreatedAt: time.UnixMilli(1_800_000_000_000), ExpiresAt: time.UnixMilli(1_900_000_000_000),
	}
	f.Add(encodeToken(token, []byte("a hash")))
	f.Add([]byte(`{"v":1,"hash":"","scopes":[],"expires_ms":-62135596800000}`)) // the zero time
	f.Add([]byte(`{"v":1,"hash":null,"scopes":null,"expires_ms":9223372036854775807}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, value []byte) {
		token, hash, err := decodeToken(value)
		if err != nil {
			return
		}
		again, hashAgain, err := decodeToken(encodeToken(token, hash))
		if err != nil || !reflect.DeepEqual(again, token) || !reflect.DeepEqual(hashAgain, hash) {
			t.Errorf("got %+v, %x, %v, want %+v, %x", again, hashAgain, err, token, hash)
		}
	})
}
