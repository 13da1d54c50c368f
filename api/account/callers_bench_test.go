package account

import (
	"fmt"
	"testing"
)

// BenchmarkAuthenticate measures who makes a request: callers take turns, each with a token or a
// session of its own.
func BenchmarkAuthenticate(b *testing.B) {
	for _, callers := range []int{1, 1000} {
		f := newFolder(b)
		admin := f.admin(b).User
		var sets [][2][]byte
		tokens, cookies := make([]string, callers), make([]string, callers)
		for i := range callers {
			u := User{ID: uint32(i + 2), Name: fmt.Sprintf("user%d@example.com", i), Role: RoleMember, CreatedAt: f.now}
			if i == 0 {
				u = admin
			}
			sets = append(sets, [2][]byte{userKey(u.ID), encodeUser(userRecord{User: u})})
			tokens[i], _ = newToken(f.random)
			hash, _ := parseToken(tokens[i])
			token := Token{ID: newTokenID(), UserID: u.ID, Name: "bench", Scopes: AllScopes[:3], CreatedAt: f.now}
			sets = append(sets, [2][]byte{tokenKey(hash[:]), encodeToken(token, hash[:])})
			cookies[i], _ = f.newCookie()
			_, rows := f.newSession(u, cookies[i])
			sets = append(sets, rows...)
		}
		if err := f.writeRows(sets, nil); err != nil {
			b.Fatal(err)
		}
		measure := func(by string, ask func(string) (Caller, error), texts []string) {
			b.Run(fmt.Sprintf("by=%s/callers=%d", by, callers), func(b *testing.B) {
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					if _, err := ask(texts[i%len(texts)]); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		measure("token", f.Authenticate, tokens)
		measure("session", f.AuthenticateSession, cookies)
	}
}
