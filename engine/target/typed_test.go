package target

import (
	"strings"
	"testing"
)

var typedTargets = map[string]struct{ raw, want string }{
	"spaces around":                {"  https://a.example/x ", "https://a.example/x"},
	"tabs and newlines around":     {"\t\r\nhttps://a.example/x\n\v\f", "https://a.example/x"},
	"no-break spaces around":       {"\u00a0https://a.example/x\u202f\u3000", "https://a.example/x"},
	"byte order mark and joiners":  {"\ufeff\u200bhttps://a.example/x\u200d\u2060", "https://a.example/x"},
	"marks of direction":           {"\u202ahttps://a.example/x\u202c\u200e", "https://a.example/x"},
	"soft hyphen at the end":       {"https://a.example/x\u00ad", "https://a.example/x"},
	"spaces inside":                {"https://a.example/b c?d e#f g", "https://a.example/b%20c?d%20e#f%20g"},
	"spaces and a space inside":    {" https://a.example/b c ", "https://a.example/b%20c"},
	"percent signs stay":           {"https://a.example/100% sure%20", "https://a.example/100%%20sure%20"},
	"blanks of other widths stay":  {"https://a.example/b\u00a0c\u200dd", "https://a.example/b\u00a0c\u200dd"},
	"flags of regions stay":        {"https://a.example/\U0001f3f4\U000e0067\U000e007f", "https://a.example/\U0001f3f4\U000e0067\U000e007f"},
	"as sent":                      {"HTTP://a.example:/%7e", "HTTP://a.example:/%7e"},
	"name":                         {"example.com", "https://example.com"},
	"name in upper case":           {"WWW.Example.COM/Path", "https://www.example.com/Path"},
	"name and port":                {"example.com:8080/x", "https://example.com:8080/x"},
	"name and query":               {"example.com?x", "https://example.com?x"},
	"name and fragment":            {"example.com#x", "https://example.com#x"},
	"name and a blank in the path": {" example.com/a b ", "https://example.com/a%20b"},
	"name with a trailing dot":     {"example.com./x", "https://example.com./x"},
	"name that is not ASCII":       {"Bücher.example/ü", "https://xn--bcher-kva.example/ü"},
	"name with another dot":        {"例え。jp/", "https://xn--r8jz45g.jp/"},
	"name that begins in digits":   {"4.8.15.example/x", "https://4.8.15.example/x"},
	"underscore":                   {"my_host.example", "https://my_host.example"},
	"at sign in the path":          {"example.com/@user", "https://example.com/@user"},
	"colon in the path":            {"example.com/a:b", "https://example.com/a:b"},
	"address in the query":         {"example.com/?u=http://b.example", "https://example.com/?u=http://b.example"},
	"public IPv4":                  {"8.8.8.8/x", "https://8.8.8.8/x"},
	"public IPv4 and port":         {"8.8.8.8:80/x", "https://8.8.8.8:80/x"},
}

func TestWhatIsTypedBecomesTheAddressThatIsMeant(t *testing.T) {
	for name, c := range typedTargets {
		t.Run(name, func(t *testing.T) {
			got, err := Policy{RefusePrivate: true}.ParseTyped(c.raw)
			if err != nil || got != c.want {
				t.Errorf("%q: got %q, %v; want %q", c.raw, got, err, c.want)
			}
		})
	}
}

func TestWhatIsTypedAndNoAddressIsRefusedWithItsReason(t *testing.T) {
	p := Policy{RefusePrivate: true, OwnOrigins: ParseOrigins("https://sho.rt"), Blocked: blockList(t, "evil.example")}
	const absolute = "not_absolute: must be an absolute address, with http:// or https:// before it"
	const scheme = "scheme: must be http or https"
	const private = "private: must not lead to a private, loopback, link-local or reserved address, unless the server is started with --private-targets allow"
	for raw, want := range map[string]string{
		" \t\u200b\ufeff":              "required: must not be empty",
		"localhost":                    absolute,
		"localhost:8080/x":             absolute,
		"localhost.":                   absolute,
		"intranet/x":                   absolute,
		"//example.com/x":              absolute,
		"/example.com":                 absolute,
		".example.com":                 absolute,
		"../example.com":               absolute,
		"java script:alert(1)":         absolute,
		"https//example.com":           absolute,
		"3.14":                         absolute,
		"127.1":                        absolute,
		"0x7f.0.0.1":                   absolute,
		"[::1]:80/x":                   absolute,
		"user@example.com":             "not_absolute: must be the address of a page, and this looks like an e-mail address",
		"first.last@example.com/x":     "not_absolute: must be the address of a page, and this looks like an e-mail address",
		"user.name:1@example.com":      scheme,
		"mailto:user@example.com":      scheme,
		"foo:bar":                      scheme,
		"javascript:alert(1)//a.b":     scheme,
		" \tjavascript:alert(1)":       scheme,
		"\u200bjavascript:alert(1)":    scheme,
		"javascript:80.example.com/":   scheme,
		"www.http://example.com":       scheme,
		"com.example.app://x":          scheme,
		"example.com:":                 scheme,
		"ftp://example.com":            scheme,
		"http:example.com":             "host: must have // and a host after the scheme",
		"see example.com":              errHost.Code + ": " + errHost.Message,
		"https:// example.com":         errHost.Code + ": " + errHost.Message,
		"a..b.example":                 errHost.Code + ": " + errHost.Message,
		"1.2.3.256":                    errHost.Code + ": " + errHost.Message,
		"example.com:99999":            errPort.Code + ": " + errPort.Message,
		"http:\\\\example.com":         "characters: must not hold controls, spaces or backslashes (at byte 5)",
		"example.com\\@b.example":      "characters: must not hold controls, spaces or backslashes (at byte 11)",
		"example.com/a\\b":             "characters: must not hold controls, spaces or backslashes (at byte 13)",
		"java\tscript:alert(1)":        "characters: must not hold controls, spaces or backslashes (at byte 4)",
		"https://a.example/b\r\nX: y":  "characters: must not hold controls, spaces or backslashes (at byte 19)",
		"\x00https://a.example":        "characters: must not hold controls, spaces or backslashes (at byte 0)",
		"127.0.0.1:80/x":               private,
		"１２７.0.0.1/x":                  private,
		"127。0。0。1":                    private,
		"10.0.0.1":                     private,
		"169.254.169.254/latest":       private,
		"x.localhost:8080/":            private,
		"localhost.localdomain":        private,
		" http://127.0.0.1/ ":          private,
		"sho.rt/abc":                   "own_origin: must not lead back to this server",
		"SHO.RT:443":                   "own_origin: must not lead back to this server",
		"www.evil.example/ a":          "blocked: must not lead to an address that is blocked here",
		"a.example/" + long(" ", 2728): "too_long: must be at most 8192 bytes",
	} {
		got, err := p.ParseTyped(raw)
		if text := fieldCode(err) + ": "; err == nil || text+reasonOf(err) != want || got != "" {
			t.Errorf("%q: got %q, %s%s; want %s", raw, got, text, reasonOf(err), want)
		}
	}
}

// long returns n times text between two letters.
func long(text string, n int) string { return "a" + strings.Repeat(text, n) + "b" }

// FuzzTypedTargetsAreJudgedLikeOthers checks that what is typed is stored in a form that Parse stores
// unchanged under the same policy, and that what Parse takes is only trimmed at its end.
func FuzzTypedTargetsAreJudgedLikeOthers(f *testing.F) {
	for _, c := range typedTargets {
		f.Add(c.raw)
	}
	for _, seed := range []string{"127.0.0.1:80/x", "java script:x", " \tjavascript:x", "http:\\\\a", "１２７.0.0.1", "a.b:1@c", "[::1]", ".", "..", "a.:1", "\xff.a",
		"sho.rt", "evil.example/", "xn--a-.b", "\u00ad.b", "a.\u00ad", "％.b", ":80", "a.b:٣"} {
		f.Add(seed)
	}
	p := Policy{RefusePrivate: true, OwnOrigins: ParseOrigins("https://sho.rt"), Blocked: new(BlockList)}
	if _, err := p.Blocked.Replace([]byte("evil.example")); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		got, err := p.ParseTyped(raw)
		strict, errStrict := p.Parse(raw)
		switch {
		case err != nil:
			if fieldCode(err) == "" || got != "" || errStrict == nil {
				t.Fatalf("%q: got %q, %v; as it was sent %q, %v", raw, got, err, strict, errStrict)
			}
			return
		case errStrict == nil && strings.TrimRightFunc(strict, isBlank) != got:
			t.Fatalf("%q: got %q, as it was sent %q", raw, got, strict)
		}
		if again, err := p.Parse(got); err != nil || again != got {
			t.Fatalf("%q became %q, which became %q, %v", raw, got, again, err)
		}
		if again, err := p.ParseTyped(got); err != nil || again != got {
			t.Fatalf("%q became %q, which, typed, became %q, %v", raw, got, again, err)
		}
		checkAgainstNetURL(t, got, got)
	})
}

func TestTypedTargetsThatArePlainTakeNoMemory(t *testing.T) {
	p := Policy{OwnOrigins: ParseOrigins("https://sho.rt"), RefusePrivate: true}
	raw := "https://www.example.com/a/page/of/some/length?and=a#query"
	if n := testing.AllocsPerRun(100, func() { _, _ = p.ParseTyped(raw) }); n != 0 {
		t.Errorf("got %v allocations", n)
	}
}
