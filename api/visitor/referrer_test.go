package visitor

import (
	"strings"
	"testing"

	"shunt/engine"
)

func TestAReferrerIsTheHostOfAnAddress(t *testing.T) {
	longest := strings.Repeat(strings.Repeat("a", 62)+".", 4) + "a" // 253 bytes
	for name, c := range map[string]struct{ header, want string }{
		"https":                              {"https://example.com/a/b?c", "example.com"},
		"http, only the origin":              {"http://example.com", "example.com"},
		"the origin and a slash":             {"https://example.com/", "example.com"},
		"a query at once":                    {"https://example.com?q=https://other.example/", "example.com"},
		"a fragment at once":                 {"https://example.com#a", "example.com"},
		"capitals":                           {"HTTPS://Example.COM/A", "example.com"},
		"www":                                {"https://www.example.com/", "example.com"},
		"WWW":                                {"https://WWW.example.com/", "example.com"},
		"www is all there is":                {"https://www.com/", "www.com"},
		"www of a country":                   {"https://www.de./", "www.de"},
		"www in the middle":                  {"https://a.www.example.com/", "a.www.example.com"},
		"www alone":                          {"https://www/", "www"},
		"www and a dot":                      {"https://www./", "www"},
		"www and nothing":                    {"https://www../", ""},
		"a port":                             {"https://example.com:8443/", "example.com"},
		"a colon without a port":             {"https://example.com:/", "example.com"},
		"a port of letters":                  {"https://example.com:https/", ""},
		"user-info":                          {"https://me:secret@example.com:1/", "example.com"},
		"user-info that looks like a host":   {"https://trusted.example@evil.example/", "evil.example"},
		"two at signs":                       {"https://a@b@example.com/", "example.com"},
		"a dot at the end":                   {"https://example.com./", "example.com"},
		"two dots at the end":                {"https://example.com../", ""},
		"a dot at the start":                 {"https://.example.com/", ""},
		"an empty label":                     {"https://a..example.com/", ""},
		"a single label":                     {"http://intranet/wiki", "intranet"},
		"an underscore":                      {"http://my_host.example/", "my_host.example"},
		"punycode":                           {"https://xn--bcher-kva.example/", "xn--bcher-kva.example"},
		"not ASCII":                          {"https://bücher.example/", ""},
		"not UTF-8":                          {"https://b\xfccher.example/", ""},
		"percent signs":                      {"https://%65xample.com/", ""},
		"a space":                            {"https://exa mple.com/", ""},
		"a NUL":                              {"https://example.com\x00.evil.example/", ""},
		"a backslash":                        {`https://example.com\@evil.example/`, "evil.example"},
		"a backslash in the host":            {`https://example.com\.evil.example/`, ""},
		"markup":                             {"https://<script>/", ""},
		"IPv4":                               {"http://192.0.2.7:8080/", "192.0.2.7"},
		"IPv6":                               {"http://[2001:DB8::7]/", "[2001:db8::7]"},
		"IPv6 and a port":                    {"http://[2001:db8::7]:8080/", "[2001:db8::7]"},
		"IPv6, written long":                 {"http://[2001:db8:0:0::0007]/", "[2001:db8::7]"},
		"IPv6 with IPv4 in it":               {"http://[::ffff:192.0.2.7]/", "[::ffff:192.0.2.7]"},
		"IPv6 with a zone":                   {"http://[fe80::1%25eth0]/", ""},
		"IPv6 that does not end":             {"http://[2001:db8::7/", ""},
		"IPv6 and something":                 {"http://[2001:db8::7]x/", ""},
		"brackets around IPv4":               {"http://[192.0.2.7]/", ""},
		"brackets around a name":             {"http://[example.com]/", ""},
		"brackets around nothing":            {"http://[]/", ""},
		"an Android app":                     {"android-app://com.google.android.googlequicksearchbox/https/www.google.com", "com.google.android.googlequicksearchbox"},
		"an Android app, capitals":           {"Android-App://com.example.MyApp/", "com.example.myapp"},
		"an Android app and a port":          {"android-app://com.example:1/", ""},
		"another scheme":                     {"ftp://example.com/", ""},
		"a longer scheme":                    {"httpss://example.com/", ""},
		"a scheme that folds beyond ASCII":   {"httpſ://example.com/", ""},
		"about":                              {"about:client", ""},
		"only a host":                        {"example.com", ""},
		"relative":                           {"/a/b", ""},
		"without a scheme":                   {"//example.com/", ""},
		"without a host":                     {"https:///a", ""},
		"nothing after the scheme":           {"https://", ""},
		"only user-info":                     {"https://me@/", ""},
		"only a port":                        {"https://:80/", ""},
		"a dash":                             {"-", ""},
		"the longest host":                   {"https://" + longest + ":65535/", longest},
		"a host that is too long":            {"https://a" + longest + "/", ""},
		"a label that is too long":           {"https://" + strings.Repeat("a", 64) + ".example/", ""},
		"the longest label":                  {"https://" + strings.Repeat("a", 63) + ".example/", strings.Repeat("a", 63) + ".example"},
		"a long path":                        {"https://example.com/" + strings.Repeat("x", 16<<10), "example.com"},
		"user-info that is too long to read": {"https://" + strings.Repeat("x", 16<<10) + "@example.com/", ""},
		"a host that ends where we do":       {"https://" + strings.Repeat("u", maxReferrerBytes-8-len("@example.co")) + "@example.community/", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := string(appendReferrerHost(nil, []byte(c.header))); got != c.want {
				t.Errorf("%q: got %q, want %q", c.header, got, c.want)
			}
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
		if len(host) > engine.MaxReferrerBytes {
			t.Fatalf("%q: got %d bytes, want at most %d", header, len(host), engine.MaxReferrerBytes)
		}
		const letters = "abcdefghijklmnopqrstuvwxyz0123456789.-_"
		allowed := letters
		if len(host) > 0 && host[0] == '[' {
			allowed += "[:]"
		}
		if i := strings.IndexFunc(string(host), func(r rune) bool { return !strings.ContainsRune(allowed, r) }); i >= 0 {
			t.Fatalf("%q: got %q, byte %d has no place in it", header, host, i)
		}
		if len(host) == 0 {
			return
		}
		if again := appendReferrerHost(nil, []byte("http://"+string(host)+"/")); string(again) != string(host) && !strings.HasPrefix(string(host), "www.") {
			t.Fatalf("%q: got %q, and of that %q", header, host, again)
		}
	})
}
