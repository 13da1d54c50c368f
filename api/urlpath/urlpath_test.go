package urlpath

import (
	"bytes"
	"cmp"
	"regexp"
	"strings"
	"testing"

	"shunt/engine"
	"shunt/engine/expect"
)

// Cases are in testdata; -rewrite writes what is found now.
func TestPathsNameCodes(t *testing.T) {
	expect.Lines(t, "testdata/paths.txt", func(t *testing.T, kind, uri string) string {
		path, query := Split([]byte(uri))
		code := Code(path)
		if kind == "spoilt" {
			expect.That(t, code == nil, "%q: matched as it was sent", uri)
			code, query = SpoiltCode(path, query)
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

// Nothing but a code comes out, whatever goes in, and nothing of the path changes.
func FuzzMatchSpoiltCode(f *testing.F) {
	for _, seed := range []string{"/a.", "/%61", "/a%20/", "/a&b", "/_/.", "/\u200b", "/a%E2%80%8B", "/a%", "/a%f"} {
		f.Add([]byte(seed), []byte("q"))
	}
	f.Fuzz(func(t *testing.T, path, query []byte) {
		sent := bytes.Clone(path)
		code, all := SpoiltCode(path, query)
		expect.That(t, code == nil || engine.ValidCode(code) && bytes.HasSuffix(all, query), "%q, %q: got %q, %q", path, query, code, all)
		expect.That(t, bytes.Equal(path, sent), "%q became %q", sent, path)
		if code := Code(path); code != nil {
			spoilt, _ := SpoiltCode(path, query)
			expect.That(t, bytes.Equal(spoilt, code), "%q: got %q and %q", path, code, spoilt)
		}
	})
}

var codePath = regexp.MustCompile(`^/([0-9A-Za-z_-]{1,64})/?$`)

// A path names a code if and only if the contract's expression matches it.
func FuzzMatchCode(f *testing.F) {
	for _, seed := range []string{"/a", "/a/", "//", "/a//", "/_/", "/_", "/%61", "/" + strings.Repeat("a", 65), "/a\n", "http://h/a", "h://"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, uri []byte) {
		path, query := Split(uri)
		var want []byte
		if m := codePath.FindSubmatch(path); m != nil && !bytes.HasSuffix(path, []byte("\n")) && string(path) != "/_/" { // the overview
			want = m[1]
		}
		got := Code(path)
		expect.That(t, bytes.Equal(got, want), "%q: got %q, want %q", path, got, want)
		expect.That(t, bytes.IndexByte(query, '#') < 0 && bytes.IndexByte(path, '?') < 0, "%q: cut into %q and %q", uri, path, query)
	})
}
