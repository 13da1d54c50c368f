package target

import (
	"bufio"
	"errors"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"testing"

	"shunt/engine/invalid"
)

// sampleFile has 500 addresses of real link lists, among them every address in those lists that is
// not http(s).
const sampleFile = "../../cmd/shunt/e2e/testdata/urls.txt"

func TestRealHTTPAddressesAreStoredUnchangedExceptForTheirHost(t *testing.T) {
	taken := 0
	eachLine(t, sampleFile, func(raw string) {
		got, err := Policy{RefusePrivate: true}.Parse(raw)
		if !strings.HasPrefix(raw, "http://") && !strings.HasPrefix(raw, "https://") {
			if fieldCode(err) != "scheme" {
				t.Errorf("%s: got %q, %v; want it refused for its scheme", raw, got, err)
			}
			return
		}
		taken++
		scheme, rest, _ := strings.Cut(raw, "://")
		host := rest
		if end := strings.IndexAny(rest, "/?#"); end >= 0 {
			host = rest[:end]
		}
		if want := scheme + "://" + strings.ToLower(host) + rest[len(host):]; err != nil || got != want {
			t.Errorf("%s: got %q, %v; want %q", raw, got, err, want)
		}
	})
	if taken < 400 {
		t.Errorf("took %d addresses, want at least 400", taken)
	}
}

func eachLine(t *testing.T, file string, fn func(string)) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		fn(lines.Text())
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
}

func fieldCode(err error) string {
	var f invalid.FieldError
	if errors.As(err, &f) && f.Field == "url" {
		return f.Code
	}
	return ""
}

func TestOnlyTheHostOfATargetIsRewritten(t *testing.T) {
	for name, c := range map[string]struct{ raw, want string }{
		"nothing to rewrite":        {"https://example.com/a?b=c#d", "https://example.com/a?b=c#d"},
		"host in upper case":        {"http://EXAMPLE.com/Path?Q#F", "http://example.com/Path?Q#F"},
		"scheme spelling":           {"HttpS://Example.com", "HttpS://example.com"},
		"no path but a query":       {"http://a?b", "http://a?b"},
		"no path but a fragment":    {"http://a#b", "http://a#b"},
		"dots and doubled slashes":  {"http://a/../b//c/./d", "http://a/../b//c/./d"},
		"percent-escapes":           {"http://a/%7e%7E%zz%", "http://a/%7e%7E%zz%"},
		"port":                      {"http://A:0080/", "http://a:0080/"},
		"empty port":                {"http://http://code.google.com/p/ucpp/", "http://http://code.google.com/p/ucpp/"},
		"umlaut":                    {"http://MÜNCHEN.de/straße", "http://xn--mnchen-3ya.de/straße"},
		"sharp s is not ss":         {"http://straße.de/", "http://xn--strae-oqa.de/"},
		"ideographic full stop":     {"http://例え。jp/", "http://xn--r8jz45g.jp/"},
		"emoji":                     {"http://🍕.ws/", "http://xn--vi8h.ws/"},
		"punycode in upper case":    {"http://XN--MNCHEN-3YA.de/", "http://xn--mnchen-3ya.de/"},
		"underscore":                {"http://my_host.example/", "http://my_host.example/"},
		"underscore and umlaut":     {"http://my_höst.example/", "http://xn--my_hst-zxa.example/"},
		"hyphens anywhere":          {"http://-a-.r3---sn.example/", "http://-a-.r3---sn.example/"},
		"digits":                    {"http://4.8.15.example/", "http://4.8.15.example/"},
		"hex-like name":             {"http://0xacab.org/x", "http://0xacab.org/x"},
		"single label":              {"http://intranet/x", "http://intranet/x"},
		"trailing dot":              {"http://Example.com./", "http://example.com./"},
		"public IPv4":               {"http://8.8.8.8/", "http://8.8.8.8/"},
		"public IPv4 as one number": {"http://134744072/", "http://134744072/"},
		"public IPv6":               {"http://[2001:DB8::1]:8080/", "http://[2001:db8::1]:8080/"},
		"public in NAT64":           {"http://[64:ff9b::808:808]/", "http://[64:ff9b::808:808]/"},
		"at sign in the path":       {"http://a/@user", "http://a/@user"},
		"unwise bytes in the path":  {"http://a/<>\"{}|^`", "http://a/<>\"{}|^`"},
		"as long as may go out":     {"http://a/|" + strings.Repeat("x", 8192-9-3), "http://a/|" + strings.Repeat("x", 8192-9-3)},
		"as long as may be":         {"http://a/" + strings.Repeat("x", 8192-9), "http://a/" + strings.Repeat("x", 8192-9)},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Policy{RefusePrivate: true}.Parse(c.raw)
			if err != nil || got != c.want {
				t.Errorf("got %q, %v; want %q", got, err, c.want)
			}
		})
	}
}

var malformedTargets = map[string]struct{ raw, want string }{
	"empty":                          {"", "required"},
	"9,000 bytes":                    {"http://a/" + strings.Repeat("x", 9000), "too_long"},
	"one byte too long":              {"http://a/" + strings.Repeat("x", 8192-8), "too_long"},
	"too long as it goes out":        {"http://a/" + strings.Repeat("x", 8192-9-2) + "|", "too_long"},
	"UTF-8, too long as it goes out": {"http://a/" + strings.Repeat("é", 1364), "too_long"},
	"too long once it is punycode":   {"http://ü/" + strings.Repeat("x", 8192-10), "too_long"},
	"relative path":                  {"/a/b", "not_absolute"},
	"relative name":                  {"example.com/a", "not_absolute"},
	"scheme-relative":                {"//example.com/", "not_absolute"},
	"colon without scheme":           {"://example.com/", "not_absolute"},
	"host and port without scheme":   {"example.com:80/", "not_absolute"},
	"javascript":                     {"javascript:alert(1)", "scheme"},
	"javascript with slashes":        {"javascript://example.com/%0aalert(1)", "scheme"},
	"ftp":                            {"ftp://example.com/", "scheme"},
	"data":                           {"data:text/html,hi", "scheme"},
	"no slashes":                     {"http:example.com", "host"},
	"one slash":                      {"http:/example.com", "host"},
	"no host":                        {"http:///path", "host"},
	"no host but a query":            {"http://?x", "host"},
	"no host but a port":             {"http://:80/", "host"},
	"nothing at all":                 {"http://", "host"},
	"user":                           {"http://user@example.com/", "user_info"},
	"user and password":              {"http://u:p@example.com/", "user_info"},
	"empty user":                     {"http://@example.com/", "user_info"},
	"carriage return and line feed":  {"http://a/\r\nSet-Cookie: x=1", "characters"},
	"line feed":                      {"http://a/\n", "characters"},
	"NUL":                            {"http://a/\x00", "characters"},
	"tab in the scheme":              {"ht\ttp://a/", "characters"},
	"DEL":                            {"http://a/\x7f", "characters"},
	"next line (C1)":                 {"http://a/\u0085", "characters"},
	"space":                          {"http://a/b c", "characters"},
	"space before":                   {" http://a/", "characters"},
	"backslash for a slash":          {"http:\\\\a\\b", "characters"},
	"backslash in the host":          {"http://a\\@b/", "characters"},
	"invalid UTF-8":                  {"http://a/\xff", "characters"},
	"port of letters":                {"http://a:b/", "port"},
	"port too large":                 {"http://a:65536/", "port"},
	"port with a sign":               {"http://a:+80/", "port"},
	"two ports":                      {"http://a:1:2/", "port"},
	"percent in the host":            {"http://ex%61mple.com/", "host"},
	"fullwidth percent in the host":  {"http://a％41.com/", "host"},
	"account-of sign is a/c":         {"http://a℀b.com/", "host"},
	"quote in the host":              {"http://a\"b/", "host"},
	"soft hyphen only":               {"http://\u00ad/", "host"},
	"empty label":                    {"http://a..b/", "host"},
	"leading dot":                    {"http://.a/", "host"},
	"only a dot":                     {"http://./", "host"},
	"two trailing dots":              {"http://a../", "host"},
	"label too long":                 {"http://" + strings.Repeat("a", 64) + ".com/", "host"},
	"name too long":                  {"http://" + strings.Repeat("a.", 127) + "com/", "host"},
	"five numbers":                   {"http://1.2.3.4.5/", "host"},
	"number too large":               {"http://1.2.3.256/", "host"},
	"one number too large":           {"http://4294967296/", "host"},
	"octal with a digit 8":           {"http://1.2.3.08/", "host"},
	"name that ends in a number":     {"http://example.1/", "host"},
	"name that ends in a hex number": {"http://example.0x1/", "host"},
	"IPv6 without brackets":          {"http://2001:db8::1/", "port"},
	"IPv6 not closed":                {"http://[::1/", "host"},
	"IPv6 with a zone":               {"http://[fe80::1%25eth0]/", "host"},
	"IPv6 of too few groups":         {"http://[1:2:3]/", "host"},
	"IPv4 in brackets":               {"http://[127.0.0.1]/", "host"},
	"something after the bracket":    {"http://[2001:db8::1]a/", "port"},
	"something before the bracket":   {"http://a[2001:db8::1]/", "port"},
	"brackets around nothing":        {"http://[]/", "host"},
	"punycode of plain letters":      {"http://xn--localhost-/", "host"},
	"one label of such punycode":     {"http://www.XN--evil-.example/", "host"},
	"punycode of a plain number":     {"http://127.0.0.xn--1-/", "host"},
	"punycode of nothing":            {"http://xn--.example/", "host"},
}

func TestMalformedTargetsAreRefusedWithAStableCode(t *testing.T) {
	for name, c := range malformedTargets {
		t.Run(name, func(t *testing.T) {
			got, err := Policy{}.Parse(c.raw)
			if fieldCode(err) != c.want || got != "" {
				t.Errorf("got %q, %v; want code %q", got, err, c.want)
			}
		})
	}
}

func TestPrivateAddressesAreRefusedInEverySpelling(t *testing.T) {
	for name, host := range map[string]string{
		"loopback":                   "127.0.0.1",
		"decimal":                    "2130706433",
		"octal":                      "0177.0.0.1",
		"octal in one":               "017700000001",
		"hex":                        "0x7f.1",
		"hex in upper case":          "0X7F000001",
		"hex without digits":         "0x.0x",
		"short":                      "127.1",
		"trailing dot":               "127.0.0.1.",
		"leading zeros":              "0000177.0.0.01",
		"fullwidth digits":           "１２７.0.0.1",
		"ideographic stops":          "127。0。0。1",
		"unspecified":                "0.0.0.0",
		"zero":                       "0",
		"private 10":                 "10.1.2.3",
		"private 172":                "172.31.255.255",
		"private 192":                "192.168.0.1",
		"link-local, cloud metadata": "169.254.169.254",
		"metadata as a number":       "2852039166",
		"shared (CGNAT)":             "100.64.0.1",
		"IPv6 loopback":              "[::1]",
		"IPv6 loopback, written out": "[0:0:0:0:0:0:0:1]",
		"IPv6 unspecified":           "[::]",
		"IPv6 link-local":            "[fe80::1]",
		"IPv6 site-local":            "[fec0::1]",
		"IPv6 unique local":          "[fd00::1]",
		"IPv4-mapped":                "[::ffff:127.0.0.1]",
		"IPv4-mapped in hex":         "[::ffff:7f00:1]",
		"IPv4-compatible":            "[::10.0.0.1]",
		"IPv4-translated":            "[::ffff:0:10.0.0.1]",
		"NAT64":                      "[64:ff9b::10.0.0.1]",
		"NAT64 for local use":        "[64:ff9b:1::808:808]",
		"6to4":                       "[2002:7f00:1::]",
		"localhost":                  "localhost",
		"localhost in upper case":    "LOCALHOST",
		"localhost with a dot":       "localhost.",
		"below localhost":            "foo.localhost",
		"localhost in fullwidth":     "ｌocalhost",
	} {
		t.Run(name, func(t *testing.T) {
			raw := "http://" + host + ":8080/x"
			if _, err := (Policy{RefusePrivate: true}).Parse(raw); fieldCode(err) != "private" {
				t.Errorf("%s, refusing private: got %v, want code private", raw, err)
			}
			if _, err := (Policy{}).Parse(raw); err != nil {
				t.Errorf("%s, allowing private: got %v, want it taken", raw, err)
			}
		})
	}
	for _, host := range []string{"172.32.0.1", "100.128.0.1", "11.0.0.1", "localhost.example.com", "notlocalhost", "[2001:db8::1]"} {
		if _, err := (Policy{RefusePrivate: true}).Parse("http://" + host + "/"); err != nil {
			t.Errorf("%s: got %v, want it taken", host, err)
		}
	}
}

func TestATargetThatLeadsBackToThisServerIsRefused(t *testing.T) {
	p := Policy{OwnOrigins: ParseOrigins("https://sho.rt", "http://127.0.0.1:8080", "http://bücher.example:81")}
	for raw, own := range map[string]bool{
		"https://sho.rt/abc":                    true,
		"https://sho.rt":                        true,
		"HTTPS://SHO.RT:443/":                   true,
		"https://sho.rt:/":                      true,
		"https://sho.rt./":                      true,
		"http://sho.rt/":                        true,
		"http://sho.rt:80/":                     true,
		"http://127.0.0.1:8080/x":               true,
		"http://localhost:8080/x":               true,
		"http://[::1]:08080/x":                  true,
		"http://2130706433:8080/x":              true,
		"http://xn--bcher-kva.example:81/":      true,
		"https://sho.rt:8443/":                  false,
		"https://www.sho.rt/":                   false,
		"https://sho.rt.example/":               false,
		"http://127.0.0.1/":                     false,
		"https://example.com/?u=https://sho.rt": false,
	} {
		_, err := p.Parse(raw)
		if got := fieldCode(err) == "own_origin"; got != own || (err != nil) != own {
			t.Errorf("%s: got %v, want refused == %v", raw, err, own)
		}
	}
}

// FuzzParseTarget checks every target that Parse accepts: a second Parse changes nothing, net/url
// reads the same scheme, host and port out of it, and what follows the authority is as it was sent.
func FuzzParseTarget(f *testing.F) {
	for _, seed := range []string{"http://a", "https://MÜNCHEN.de:80/x?y#z", "http://[::1]:/", "http://0x7f.1/", "http://a%41/",
		"http://u@h/", "http:\\\\a", "http://[2001:0:808:808::80ff:fffe]/", "http://１.2.3.4/", "http://a/\u2028", "ftp://x", "http://a:b@c:1/"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		got, err := Policy{}.Parse(raw)
		if err != nil {
			if fieldCode(err) == "" || got != "" {
				t.Fatalf("%q: got %q, %v; want a FieldError of url and no target", raw, got, err)
			}
			return
		}
		if again, err := (Policy{}).Parse(got); err != nil || again != got {
			t.Fatalf("%q became %q, which became %q, %v", raw, got, again, err)
		}
		checkAgainstNetURL(t, raw, got)
	})
}

// FuzzPlainTargetsAreWhatParseReads checks that what is read in one pass is read the same in general.
func FuzzPlainTargetsAreWhatParseReads(f *testing.F) {
	for _, seed := range []string{"http://a", "https://a.b_c-d.example/x?y#z", "https://xn--a/", "http://a.1", "http://a.0x1", "http://1.a", "http://a..b",
		"http://a./", "http://a:80/", "http://A/", "http://a@b/", "http://a/\\", "http://a/\x7f", "http://a/é", "http:///", "http://", "http://a.-b", "http://-/",
		"http://" + strings.Repeat("a", 63), "http://" + strings.Repeat("a", 64), "http://" + strings.Repeat("a.", 126) + "a", "http://" + strings.Repeat("a.", 127) + "a"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		h, ok := plainHost(raw)
		if !ok {
			return
		}
		target, want, err := parse(raw)
		if err != nil || target != raw || h != want {
			t.Fatalf("%q: got %+v in one pass, in general %q, %+v, %v", raw, h, target, want, err)
		}
	})
}

func TestPlainTargetsAreReadInOnePass(t *testing.T) {
	for _, raw := range []string{"http://a", "https://www.example.com/a/b?c=d#e", "https://a_b.c-d.e1"} {
		if _, ok := plainHost(raw); !ok {
			t.Errorf("%q is not plain", raw)
		}
	}
	p := Policy{OwnOrigins: ParseOrigins("https://sho.rt", "http://127.0.0.1:8080"), RefusePrivate: true}
	raw := "https://www.example.com/a/page/of/some/length?and=a#query"
	if n := testing.AllocsPerRun(100, func() { _, _ = p.Parse(raw) }); n != 0 {
		t.Errorf("got %v allocations", n)
	}
}

func checkAgainstNetURL(t *testing.T, raw, got string) {
	t.Helper()
	authorityEnd := func(s string) int {
		start := strings.Index(s, "://") + 3
		if end := strings.IndexAny(s[start:], "/?#"); end >= 0 {
			return start + end
		}
		return len(s)
	}
	head, rest := got[:authorityEnd(got)], got[authorityEnd(got):]
	if sent := raw[:authorityEnd(raw)]; isASCII(sent) {
		scheme, host, _ := strings.Cut(sent, "://")
		if want := scheme + "://" + strings.ToLower(host); head != want {
			t.Fatalf("%q: got %q, want %q", raw, head, want)
		}
	}
	if want := raw[authorityEnd(raw):]; rest != want {
		t.Fatalf("%q: what follows the authority: got %q, want %q", raw, rest, want)
	}
	u, err := url.Parse(head)
	if err != nil {
		t.Fatalf("%q became %q, which net/url refuses: %v", raw, head, err)
	}
	if u.User != nil || u.Hostname() == "" || !strings.HasSuffix(head, "://"+u.Host) {
		t.Fatalf("%q became %q, whose host net/url reads as %q", raw, head, u.Host)
	}
	addr, err := netip.ParseAddr(u.Hostname())
	private := err == nil && (addr.Unmap().IsPrivate() || addr.Unmap().IsLoopback() || addr.Unmap().IsLinkLocalUnicast() || addr.Unmap().IsUnspecified() || addr.Unmap().IsMulticast())
	if same, err := (Policy{RefusePrivate: true}).Parse(raw); private && err == nil || err == nil && same != got || err != nil && fieldCode(err) != "private" {
		t.Fatalf("%q, where private addresses are refused: got %q, %v", raw, same, err)
	}
}
