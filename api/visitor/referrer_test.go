package visitor

import (
	"strings"
	"testing"

	"shunt/engine"
	"shunt/engine/expect"
)

func TestAReferrerIsReadUpToItsLimits(t *testing.T) {
	longest := strings.Repeat(strings.Repeat("a", 62)+".", 4) + "a" // 253 bytes
	for name, c := range map[string]struct{ header, want string }{
		"the longest host":                   {"https://" + longest + ":65535/", longest},
		"a host that is too long":            {"https://a" + longest + "/", ""},
		"a label that is too long":           {"https://" + strings.Repeat("a", 64) + ".example/", ""},
		"the longest label":                  {"https://" + strings.Repeat("a", 63) + ".example/", strings.Repeat("a", 63) + ".example"},
		"a long path":                        {"https://example.com/" + strings.Repeat("x", 16<<10), "example.com"},
		"user-info that is too long to read": {"https://" + strings.Repeat("x", 16<<10) + "@example.com/", ""},
		"a host that ends where we do":       {"https://" + strings.Repeat("u", maxReferrerBytes-8-len("@example.co")) + "@example.community/", ""},
	} {
		t.Run(name, func(t *testing.T) {
			expect.Equal(t, string(appendReferrerHost(nil, []byte(c.header))), c.want, "%q", c.header)
		})
	}
}

func TestReadingAReferrerChangesNothingAndAllocatesNothing(t *testing.T) {
	for _, text := range []string{"https://WWW.Example.com/", "http://[2001:DB8::7]:80/", "android-app://A.B/", "nonsense"} {
		header := []byte(text)
		scratch := make([]byte, 0, engine.MaxReferrerBytes)
		if n := testing.AllocsPerRun(100, func() { appendReferrerHost(scratch, header) }); n != 0 {
			t.Errorf("%s: got %v allocations, want 0", text, n)
		}
		if string(header) != text {
			t.Errorf("got the header as %q, want %q still", header, text)
		}
	}
}

func FuzzReferrer(f *testing.F) {
	for _, seed := range []string{
		"https://user:pw@www.Example.com.:8080/a?b#c", "http://[2001:db8::7%25a]:1/", "android-app://com.example/", "https://\xff", "://",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, header []byte) {
		host := appendReferrerHost([]byte("before"), header)[len("before"):]
		expect.MustThat(t, len(host) <= engine.MaxReferrerBytes, "%q: got %d bytes, want at most %d", header, len(host), engine.MaxReferrerBytes)
		const letters = "abcdefghijklmnopqrstuvwxyz0123456789.-_"
		allowed := letters
		if len(host) > 0 && host[0] == '[' {
			allowed += "[:]"
		}
		i := strings.IndexFunc(string(host), func(r rune) bool { return !strings.ContainsRune(allowed, r) })
		expect.MustThat(t, i < 0, "%q: got %q, byte %d has no place in it", header, host, i)
		if len(host) == 0 {
			return
		}
		again := appendReferrerHost(nil, []byte("http://"+string(host)+"/"))
		expect.MustThat(t, string(again) == string(host) || strings.HasPrefix(string(host), "www."), "%q: got %q, and of that %q", header, host, again)
	})
}
