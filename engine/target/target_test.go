package target

import (
	"bufio"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"shunt/engine/expect"
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
			expect.Equal(t, fieldCode(err), "scheme", "%s: got %q, %v", raw, got, err)
			return
		}
		taken++
		scheme, rest, _ := strings.Cut(raw, "://")
		host := rest
		if end := strings.IndexAny(rest, "/?#"); end >= 0 {
			host = rest[:end]
		}
		want := scheme + "://" + strings.ToLower(host) + rest[len(host):]
		expect.That(t, err == nil && got == want, "%s: got %q, %v; want %q", raw, got, err, want)
	})
	expect.That(t, taken >= 400, "took %d addresses, want at least 400", taken)
}

// The cases are in testdata/cases: lines of a target, after its name if the command says named, and what becomes of it.
func TestTargetsAreJudgedAsTheFilesSay(t *testing.T) {
	datadriven.Walk(t, "testdata/cases", func(t *testing.T, path string) {
		list := new(BlockList) // of the last command list
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			p := Policy{RefusePrivate: d.HasArg("refuse-private"), OwnOrigins: ParseOrigins(values(d, "own")...), Blocked: blockList(t, values(d, "blocked")...)}
			switch d.Cmd {
			case "list":
				list = blockList(t, d.Input)
				return ""
			case "parse":
				return eachCase(d, func(raw string) string { return judged(raw, p.Parse) })
			case "typed":
				return eachCase(d, func(raw string) string { return judged(raw, p.ParseTyped) })
			case "private":
				return eachCase(d, func(host string) string { return privacy(t, host) })
			case "blocks":
				return eachCase(d, func(raw string) string { return fmt.Sprint(list.Blocks(stored(t, raw))) })
			}
			t.Fatalf("the command %s is not known", d.Cmd)
			return ""
		})
	})
}

// values returns the values of an argument of a command.
func values(d *datadriven.TestData, name string) []string {
	for _, arg := range d.CmdArgs {
		if arg.Key == name {
			return arg.Vals
		}
	}
	return nil
}

// eachCase returns the lines of a command with what becomes of the text of each, which may be quoted.
func eachCase(d *datadriven.TestData, becomes func(raw string) string) string {
	var out strings.Builder
	for line := range strings.Lines(d.Input + "\n") {
		line = strings.TrimSuffix(line, "\n")
		raw, name := line, line
		if d.HasArg("named") {
			name, raw, _ = strings.Cut(line, ": ")
		}
		if text, err := strconv.Unquote(raw); err == nil {
			raw = text
		}
		fmt.Fprintf(&out, "%s → %s\n", name, becomes(raw))
	}
	return out.String()
}

// judged returns what becomes of raw: its stored form, or the code and the text of the error.
func judged(raw string, parse func(string) (string, error)) string {
	got, err := parse(raw)
	switch {
	case err != nil && got == "":
		return "refused, " + fieldCode(err) + ": " + reasonOf(err)
	case err != nil:
		return "refused with a target"
	case got == raw:
		return "as it is"
	}
	return strconv.Quote(got)
}

func TestTheLongestTargetIsMeasuredAsItGoesOut(t *testing.T) {
	for raw, want := range map[string]string{
		"http://a/" + strings.Repeat("x", 9000):           "too_long",
		"http://a/" + strings.Repeat("x", 8192-8):         "too_long",
		"http://a/" + strings.Repeat("x", 8192-9):         "",
		"http://a/" + strings.Repeat("x", 8192-9-2) + "|": "too_long",
		"http://a/|" + strings.Repeat("x", 8192-9-3):      "",
		"http://a/" + strings.Repeat("é", 1364):           "too_long",
		"http://ü/" + strings.Repeat("x", 8192-10):        "too_long",
	} {
		got, err := (Policy{RefusePrivate: true}).Parse(raw)
		expect.That(t, fieldCode(err) == want && (want != "" || got == raw), "%.20s: got %.20q, %v; want code %q", raw, got, err, want)
	}
	raw := "a.example/a" + strings.Repeat(" ", 2728) + "b"
	got, err := (Policy{}).ParseTyped(raw)
	expect.That(t, fieldCode(err) == "too_long" && got == "", "typed with spaces: got %.20q, %v", got, err)
}

func eachLine(t *testing.T, file string, fn func(string)) {
	t.Helper()
	f, err := os.Open(file)
	expect.OK(t, err)
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		fn(lines.Text())
	}
	expect.OK(t, lines.Err())
}

func fieldCode(err error) string {
	var f invalid.FieldError
	if errors.As(err, &f) && f.Field == "url" {
		return f.Code
	}
	return ""
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
			expect.MustThat(t, fieldCode(err) != "" && got == "", "%q: got %q, %v; want a FieldError of url and no target", raw, got, err)
			return
		}
		again, err := (Policy{}).Parse(got)
		expect.MustThat(t, err == nil && again == got, "%q became %q, which became %q, %v", raw, got, again, err)
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
		target, want, err := Schemes(nil).parse(raw)
		expect.MustThat(t, err == nil && target == raw && h == want, "%q: got %+v in one pass, in general %q, %+v, %v", raw, h, target, want, err)
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
		expect.MustEqual(t, head, scheme+"://"+strings.ToLower(host), "%q", raw)
	}
	expect.MustEqual(t, rest, raw[authorityEnd(raw):], "%q: what follows the authority", raw)
	u, err := url.Parse(head)
	expect.OK(t, err, "%q became %q, which net/url refuses", raw, head)
	expect.MustThat(t, u.User == nil && u.Hostname() != "" && strings.HasSuffix(head, "://"+u.Host), "%q became %q, whose host net/url reads as %q", raw, head, u.Host)
	addr, err := netip.ParseAddr(u.Hostname())
	private := err == nil && (addr.Unmap().IsPrivate() || addr.Unmap().IsLoopback() || addr.Unmap().IsLinkLocalUnicast() || addr.Unmap().IsUnspecified() || addr.Unmap().IsMulticast())
	if same, err := (Policy{RefusePrivate: true}).Parse(raw); private && err == nil || err == nil && same != got || err != nil && fieldCode(err) != "private" {
		t.Fatalf("%q, where private addresses are refused: got %q, %v", raw, same, err)
	}
}
