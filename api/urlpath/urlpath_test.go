package urlpath

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"shunt/engine"
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
		"fragment":                   {"/abc#d", "abc", ""},
		"fragment with a query":      {"/abc#d?x", "abc", ""},
		"fragment in absolute form":  {"http://any.example/abc#d://e/f", "abc", ""},
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
			path, query := Split([]byte(c.uri))
			if got := Code(path); string(got) != c.code || string(query) != c.query {
				t.Errorf("%q: got code %q, query %q; want %q, %q", c.uri, got, query, c.code, c.query)
			}
		})
	}
}

func TestASpoiltCodeIsMatched(t *testing.T) {
	const zeroWidth = "\u200b\u200c\u200d\u2060\ufeff\u00ad\u200e\u2068"
	const blanks = "\u00a0\u2003\u202f\u3000\u2028"
	for uri, want := range map[string]struct{ code, query string }{
		"/%70romo":                         {"promo", ""},
		"/my%5Flink":                       {"my_link", ""},
		"/my%5flink":                       {"my_link", ""},
		"/%6D%79%2D%4C%31/?x":              {"my-L1", "x"},
		"http://a/%70romo":                 {"promo", ""},
		"/promo.":                          {"promo", ""},
		"/promo,":                          {"promo", ""},
		"/promo)":                          {"promo", ""},
		"/promo.,;:!()[]{}<>'\"":           {"promo", ""},
		"/promo%2E%2C%3B%3A%21%3F%28":      {"promo", ""},
		"/promo%29%5B%5d%7B%7d%3C%3e":      {"promo", ""},
		"/promo%27%22":                     {"promo", ""},
		"/promo%20":                        {"promo", ""},
		"/promo%20%20%09%0D%0A":            {"promo", ""},
		"/promo%E2%80%8B":                  {"promo", ""},
		"/promo%e2%80%8b.%C2%A0":           {"promo", ""},
		"/promo%EF%BB%BF":                  {"promo", ""},
		"/promo" + zeroWidth:               {"promo", ""},
		"/promo" + blanks:                  {"promo", ""},
		"/promo\u200b%20.\u00a0?x":         {"promo", "x"},
		"/promo/.":                         {"promo", ""},
		"/promo./":                         {"promo", ""},
		"/promo%20/%20":                    {"promo", ""},
		"/%70romo).":                       {"promo", ""},
		"/promo&utm_source=x":              {"promo", "utm_source=x"},
		"/promo&utm_source=x.":             {"promo", "utm_source=x."},
		"/promo&u=http://a/b&c":            {"promo", "u=http://a/b&c"},
		"/promo&a=%41%2e?%42":              {"promo", "a=%41%2e&%42"},
		"/promo&?c=d":                      {"promo", "c=d"},
		"/promo&":                          {"promo", ""},
		"/promo&a#b":                       {"promo", "a"},
		"/promo.&a=1":                      {"promo", "a=1"},
		"/promo/&a=1":                      {"promo", "a=1"},
		"/promo&amp;a=1":                   {"promo", "amp;a=1"},
		"/" + strings.Repeat("%61", 64):    {strings.Repeat("a", 64), ""},
		"/a" + strings.Repeat("%20", 2000): {"a", ""},

		"/promo+":                           {},
		"/promo%2B":                         {},
		"/promo%2F":                         {}, // reserved bytes are not decoded
		"/promo%26a":                        {},
		"/promo%23a":                        {},
		"/promo%3Fa=1":                      {},
		"/promo%2520":                       {}, // nothing is decoded twice
		"/%2570romo":                        {},
		"/promo%2":                          {},
		"/promo%":                           {},
		"/promo%zz":                         {},
		"/promo%00":                         {},
		"/promo%E2%80":                      {},
		"/promo%8B":                         {},
		"/promo\xe2\x80":                    {},
		"/promo\xe2%80%8B":                  {},
		"/promo%F0%E2%80%8B":                {},
		"/promo\xff":                        {},
		"/prom\u00e9":                       {},
		"/.promo":                           {},
		"/%20promo":                         {},
		"/pro.mo":                           {},
		"/pro%20mo":                         {},
		"/promo.svg":                        {},
		"/promo//":                          {},
		"/promo/./":                         {"promo", ""},
		"//promo.":                          {},
		"/a/promo.":                         {},
		"/promo/x.":                         {},
		"/.":                                {},
		"/.,":                               {},
		"/&a=1":                             {},
		"/%20":                              {},
		"/_/":                               {}, // the overview
		"/%5F/":                             {},
		"/_/.":                              {},
		"/_/&a":                             {},
		"/api/v1/me.":                       {},
		"/" + strings.Repeat("a", 65) + ".": {},
		"/" + strings.Repeat("%61", 65):     {},
		"promo.":                            {},
		"":                                  {},
	} {
		path, query := Split([]byte(uri))
		if code := Code(path); code != nil {
			t.Errorf("%q: matched as it was sent", uri)
		}
		if want.code == "" {
			want.query = string(query)
		}
		if code, query := SpoiltCode(path, query); string(code) != want.code || string(query) != want.query {
			t.Errorf("%q: got code %q, query %q; want %q, %q", uri, code, query, want.code, want.query)
		}
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
		if code != nil && (!engine.ValidCode(code) || !bytes.HasSuffix(all, query)) {
			t.Errorf("%q, %q: got %q, %q", path, query, code, all)
		}
		if !bytes.Equal(path, sent) {
			t.Errorf("%q became %q", sent, path)
		}
		if code := Code(path); code != nil {
			if spoilt, _ := SpoiltCode(path, query); !bytes.Equal(spoilt, code) {
				t.Errorf("%q: got %q and %q", path, code, spoilt)
			}
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
		if got := Code(path); !bytes.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", path, got, want)
		}
		if bytes.IndexByte(query, '#') >= 0 || bytes.IndexByte(path, '?') >= 0 {
			t.Errorf("%q: cut into %q and %q", uri, path, query)
		}
	})
}
