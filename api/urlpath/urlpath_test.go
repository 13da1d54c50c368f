package urlpath

import (
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"shunt/engine"
)

// Cases are in testdata; -rewrite writes what is found now.
func TestPathsNameCodes(t *testing.T) {
	datadriven.RunTest(t, "testdata/paths.txt", func(t *testing.T, d *datadriven.TestData) string {
		var out strings.Builder
		for line := range strings.Lines(d.Input) {
			text, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t#")
			uri, err := strconv.Unquote(`"` + text + `"`)
			if err != nil {
				t.Fatalf("%q: %v", text, err)
			}
			path, query := Split([]byte(uri))
			code := Code(path)
			if d.Cmd == "spoilt" {
				if code != nil {
					t.Errorf("%q: matched as it was sent", text)
				}
				code, query = SpoiltCode(path, query)
			}
			fmt.Fprintf(&out, "%s => %s", text, cmp.Or(string(code), "none"))
			if len(query) > 0 {
				fmt.Fprintf(&out, " ?%s", query)
			}
			out.WriteByte('\n')
		}
		return out.String()
	})
}

func TestAnyNumberOfBlanksIsTakenOff(t *testing.T) {
	if code, _ := SpoiltCode([]byte("/a"+strings.Repeat("%20", 2000)), nil); string(code) != "a" {
		t.Errorf("got %q", code)
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
