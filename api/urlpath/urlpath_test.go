package urlpath

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"shunt/engine"
	"shunt/engine/expect"
)

// Cases are in testdata; -rewrite writes what is found now.
func TestPathsNameCodes(t *testing.T) {
	expect.Lines(t, "testdata/paths.txt", func(t *testing.T, kind, uri string) string {
		path, query := Split([]byte(uri))
		code := Code(path)
		if kind == "spoilt" {
			exact := code
			code, query = SpoiltCode(path, query)
			expect.That(t, exact == nil || MayBeSpoilt(exact) || bytes.Equal(exact, code), "%q: %q exactly, and %q", uri, exact, code)
		}
		found := cmp.Or(string(code), "none")
		if len(query) > 0 {
			found += " ?" + string(query)
		}
		return found
	})
}

func TestAnyNumberOfBlanksIsTakenOff(t *testing.T) {
	code, _ := SpoiltCode([]byte("/a"+strings.Repeat("%20", 2000)), nil)
	expect.Equal(t, string(code), "a", "got %q", code)
}

func TestAPathBeginsWithCodes(t *testing.T) {
	expect.Lines(t, "testdata/beginnings.txt", func(t *testing.T, _, path string) string {
		var found []string
		for code, rest := range Beginnings([]byte(path)) {
			found = append(found, string(code)+" + "+string(rest))
		}
		return cmp.Or(strings.Join(found, ", "), "none")
	})
}

// A path of 8 KiB must not cost much more than a short one: nobody needs an account to send it.
func TestALongPathIsReadNoFurtherThanACodeGoes(t *testing.T) {
	for name, path := range map[string]string{
		"slashes": "/a" + strings.Repeat("/", 8000), "segments": strings.Repeat("/a", 4000), "marks": strings.Repeat("/e\u0301", 2000), "escapes": strings.Repeat("/%C3%A9", 1100),
		"one segment": "/" + strings.Repeat("e\u0301", 2600) + "/x", "a long root": "/" + strings.Repeat("%41", 2600) + "/x",
	} {
		n := 0
		allocs := testing.AllocsPerRun(1, func() {
			for range Beginnings([]byte(path)) {
				n++
			}
		})
		expect.That(t, n <= engine.MaxCodeBytes && allocs < 200, "%s: %d beginnings, %v allocations", name, n, allocs)
	}
}

// Nothing but a code comes out, whatever goes in, and nothing of the path changes.
func FuzzMatchSpoiltCode(f *testing.F) {
	for _, seed := range []string{"/a.", "/%61", "/a%20/", "/a&b", "/_/.", "/\u200b", "/a%E2%80%8B", "/a%", "/a%f"} {
		f.Add([]byte(seed), []byte("q"))
	}
	f.Fuzz(func(t *testing.T, path, query []byte) {
		sent := bytes.Clone(path)
		code, all := SpoiltCode(path, query)
		expect.That(t, code == nil || IsCode(code) && bytes.HasSuffix(all, query), "%q, %q: got %q, %q", path, query, code, all)
		if exact := Code(path); exact != nil {
			trimmed := bytes.TrimRight(exact, ".")
			expect.That(t, bytes.Equal(code, exact) || MayBeSpoilt(exact) && (code == nil || bytes.Equal(bytes.TrimSuffix(trimmed, []byte("/")), code)),
				"%q: got %q and %q", path, exact, code)
		}
		for beginning, rest := range Beginnings(path) {
			decoded, err := url.PathUnescape(string(rest))
			if err != nil {
				decoded = string(rest)
			}
			expect.That(t, IsCode(beginning) && bytes.HasSuffix(path, rest) && rest[0] == '/' && !dotted.MatchString(decoded) && !strings.Contains(decoded, "\\"),
				"%q begins with %q, and goes on with %q", path, beginning, rest)
		}
		expect.That(t, bytes.Equal(path, sent), "%q became %q", sent, path)
	})
}

var (
	codePath  = regexp.MustCompile(`^/(([0-9A-Za-z_.\x{80}-\x{10ffff}-]+/)*[0-9A-Za-z_.\x{80}-\x{10ffff}-]+)/?$`)
	forbidden = regexp.MustCompile(`(^|/)\pM|(^|[^\pS\p{Nd}])\x{fe0f}|[\x{2800}\x{115f}\x{1160}\x{17b4}\x{17b5}\x{3164}\x{ffa0}\x{34f}\x{180b}-\x{180d}\x{180f}\x{fe00}-\x{fe0e}\x{e0100}-\x{e01ef}]|[^\x00-\x7f\pL\pM\pN\pP\pS\x{200c}\x{200d}]|(^|/)[\x{200c}\x{200d}]|[\x{200c}\x{200d}](/|$)`)
	dotted    = regexp.MustCompile(`(^|/)\.\.?(/|$)`)
	elsewhere = regexp.MustCompile(`^(api|_|rest|\.well-known)/|^\.well-known$|^(yourls-api\.php|robots\.txt|favicon\.ico)$|(?i:\.svg|\.png)$`)
	escapes   = regexp.MustCompile(`(?i)%(2[de]|3[0-9]|[46][1-9a-f]|[57][0-9a]|5f|7e|[89a-f][0-9a-f])`) // of unreserved bytes, and beyond ASCII
)

// codeOfContract is Code by the expressions of the contract.
func codeOfContract(path string) string {
	path = escapes.ReplaceAllStringFunc(path, func(escape string) string {
		c, _ := hex.DecodeString(escape[1:])
		return string(c)
	})
	if utf8.ValidString(path) {
		path = norm.NFC.String(path)
	}
	m := codePath.FindStringSubmatch(path)
	if m == nil || !utf8.ValidString(path) || forbidden.MatchString(m[1]) || strings.HasSuffix(path, "\n") || path == "/_/" || len(m[1]) > engine.MaxCodeBytes || dotted.MatchString(m[1]) || elsewhere.MatchString(m[1]) {
		return ""
	}
	return m[1]
}

// A path names a code if and only if the contract's expressions match it.
func FuzzMatchCode(f *testing.F) {
	for _, seed := range []string{
		"/a", "/a/", "//", "/a//", "/_/", "/_", "/%61", "/" + strings.Repeat("a", 65), "/a\n", "http://h/a", "h://", "/a/b", "/v1.2", "/a/..", "/%2e%2E/a", "/a.PNG",
		"/%5F/", "/%61pi/v1/links", "/api/v1/links", "/_%2Fx", "/rest/v3", "/robots%2Etxt", "/.well-known", "/a%7E", "/%41%5A%7a%2D", "/%40%5B%7B%2F%60",
		"/straße", "/stra%C3%9Fe/x", "/e\u0301", "/e%CC%81", "/a%E2%80%8B", "/\xff", "/%ff", "/%E2%80%8D/a", "/%F0%9F%91%A9%E2%80%8D%F0%9F%92%BB",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, uri []byte) {
		path, query := Split(uri)
		sent := bytes.Clone(path)
		got, want := Code(path), codeOfContract(string(path))
		expect.That(t, string(got) == want, "%q: got %q, want %q", path, got, want)
		expect.That(t, bytes.Equal(path, sent), "%q became %q", sent, path)
		expect.That(t, bytes.IndexByte(query, '#') < 0 && bytes.IndexByte(path, '?') < 0, "%q: cut into %q and %q", uri, path, query)
	})
}
