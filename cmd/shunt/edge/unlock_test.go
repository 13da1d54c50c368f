package edge

import (
	"strings"
	"testing"

	"github.com/alexedwards/argon2id"

	"shunt/engine"
	"shunt/engine/expect"
)

// hashOf returns the hash of a password.
func hashOf(t *testing.T, password string) string {
	hash, err := argon2id.CreateHash(password, &argon2id.Params{Memory: 8, Iterations: 1, Parallelism: 1, SaltLength: 16, KeyLength: 32})
	expect.OK(t, err)
	return hash
}

// TestAnEdgeAsksTheWriterForThePasswordOfALink types passwords at an edge, which has no hash. The cookie opens the link
// at the edge and at the writer, also once the writer is gone; new visitors are told to come back then.
func TestAnEdgeAsksTheWriterForThePasswordOfALink(t *testing.T) {
	w := newWriter(t)
	lock := func(code, password string) {
		w.create(engine.Draft{Alias: code, Owner: 1, Target: "https://secret.example/", Password: hashOf(t, password)})
	}
	lock("early", "open sesame")
	secret, _ := w.token("frankfurt")
	e := newEdge(t, w.address, secret)
	e.startEdge()
	lock("late", "open sesame")
	typed := func(m *machine, code, password string) answer {
		return m.ask("POST", "/"+code+"?a", "password="+strings.ReplaceAll(password, " ", "+"), "Content-Type", "application/x-www-form-urlencoded")
	}
	cookies := make(map[string]string)
	for _, code := range []string{"early", "late"} {
		until(t, code+" asks for its password at the edge", func() bool { return e.ask("GET", "/"+code, "").status == 401 })
		until(t, "the edge has met its writer", func() bool { return typed(e, code, "wrong").status != 503 })
		a := typed(e, code, "wrong")
		expect.That(t, a.status == 401 && !strings.Contains(a.body, "secret.example"), "%s: a wrong password: got %d %s", code, a.status, a.body)
		a = typed(e, code, "open sesame")
		expect.That(t, a.status == 303 && a.header.Get("Location") == "/"+code+"?a", "%s: its password: got %d %v", code, a.status, a.header)
		cookies[code], _, _ = strings.Cut(a.header.Get("Set-Cookie"), ";")
		for _, m := range []*machine{e, w} {
			a := m.ask("GET", "/"+code, "", "Cookie", cookies[code])
			expect.That(t, a.status == 302 && a.header.Get("Location") == "https://secret.example/", "%s, with its cookie: got %d", code, a.status)
		}
	}
	until(t, "the hits are at the writer", func() bool { return w.hits("early") == 2 && w.hits("late") == 2 })
	_, hash, err := e.engine.Password(engine.Key{Domain: engine.DefaultDomain, Code: "early"})
	expect.That(t, err == nil && hash == "", "the edge has the hash %q, %v", hash, err)
	w.stop()
	expect.Equal(t, e.ask("GET", "/early", "", "Cookie", cookies["early"]).status, 302, "the cookie without the writer")
	expect.Equal(t, typed(e, "late", "open sesame").status, 503, "a password without the writer")
}
