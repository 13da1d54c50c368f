package api

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
)

func TestACodeIsMatchedOnTheRawPath(t *testing.T) {
	for name, c := range map[string]struct{ uri, code, query string }{
		"plain":                      {"/abc", "abc", ""},
		"one trailing slash":         {"/abc/", "abc", ""},
		"every kind of byte":         {"/aZ09_-", "aZ09_-", ""},
		"sixty-four bytes":           {"/" + strings.Repeat("x", 64), strings.Repeat("x", 64), ""},
		"query":                      {"/abc?x=1&y", "abc", "x=1&y"},
		"empty query":                {"/abc?", "abc", ""},
		"question mark in the query": {"/abc?x?y", "abc", "x?y"},
		"fragment in the query":      {"/abc?x#y", "abc", "x"},
		"slash in the query":         {"/abc?http://x/", "abc", "http://x/"},
		"absolute form":              {"http://any.example/abc?x", "abc", "x"},
		"absolute form, trailing":    {"https://any.example:80/abc/", "abc", ""},
		"sixty-five bytes":           {"/" + strings.Repeat("x", 65), "", ""},
		"root":                       {"/", "", ""},
		"only slashes":               {"//", "", ""},
		"two trailing slashes":       {"/abc//", "", ""},
		"doubled slash before":       {"//abc", "", ""},
		"two segments":               {"/abc/def", "", ""},
		"percent-encoded":            {"/%61bc", "", ""},
		"percent-encoded slash":      {"/abc%2f", "", ""},
		"dot segment":                {"/./abc", "", ""},
		"dot-dot segment":            {"/x/../abc", "", ""},
		"dot in the code":            {"/robots.txt", "", ""},
		"plus after the code":        {"/abc+", "", ""},
		"fragment":                   {"/abc#d", "", ""},
		"backslash":                  {"/abc\\", "", ""},
		"beyond ASCII":               {"/stra\xc3\x9fe", "", ""},
		"NUL":                        {"/abc\x00", "", ""},
		"absolute form, no path":     {"http://any.example", "", ""},
		"absolute form, only query":  {"http://any.example?/abc", "", "/abc"},
		"absolute form, doubled":     {"http://any.example//abc", "", ""},
		"asterisk form":              {"*", "", ""},
		"authority form":             {"example.com:443", "", ""},
		"no slash":                   {"abc", "", ""},
		"empty":                      {"", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			path, query := splitURI([]byte(c.uri))
			if got := matchCode(path); string(got) != c.code || string(query) != c.query {
				t.Errorf("%q: got code %q, query %q; want %q, %q", c.uri, got, query, c.code, c.query)
			}
		})
	}
}

var codePath = regexp.MustCompile(`^/([0-9A-Za-z_-]{1,64})/?$`)

// A path names a code if and only if the contract's expression matches it.
func FuzzMatchCode(f *testing.F) {
	for _, seed := range []string{"/a", "/a/", "//", "/a//", "/_/", "/_", "/%61", "/" + strings.Repeat("a", 65), "/a\n", "http://h/a", "h://"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, uri []byte) {
		path, query := splitURI(uri)
		var want []byte
		if m := codePath.FindSubmatch(path); m != nil && !bytes.HasSuffix(path, []byte("\n")) && string(path) != "/_/" { // the overview
			want = m[1]
		}
		if got := matchCode(path); !bytes.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", path, got, want)
		}
		if bytes.IndexByte(query, '#') >= 0 || bytes.IndexByte(path, '?') >= 0 {
			t.Errorf("%q: cut into %q and %q", uri, path, query)
		}
	})
}
