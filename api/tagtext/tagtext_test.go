package tagtext

import (
	"slices"
	"strings"
	"testing"
	"unicode"

	"shunt/engine/expect"
)

func TestTypedTagsAreSplitAtCommas(t *testing.T) {
	for text, want := range map[string][]string{
		"":                nil,
		" , ,, ":          nil,
		"a":               {"a"},
		" a , b c,,d, ":   {"a", "b c", "d"},
		`"a,b", c`:        {"a,b", "c"},
		`"say ""hi""",x`:  {`say "hi"`, "x"},
		`""`:              {""},
		`5" nail, "open`:  {`5" nail`, `"open`},
		`"a" b, c`:        {`"a" b`, "c"},
		`" spaces ", "x"`: {" spaces ", "x"},
	} {
		expect.Slices(t, Split(text), want, "%q", text)
	}
}

// FuzzTags checks that tags which a link may have are read as they are shown.
func FuzzTags(f *testing.F) {
	for _, tags := range []string{"a\nb", "a,b\n\"\n\"\"", " a \n,", "\"a\"x"} {
		f.Add(tags)
	}
	f.Fuzz(func(t *testing.T, text string) {
		tags := slices.DeleteFunc(strings.Split(text, "\n"), func(tag string) bool {
			return tag == "" || strings.ContainsFunc(tag, unicode.IsControl)
		})
		got := Split(Join(tags))
		expect.That(t, slices.Equal(got, tags), "%q: shown as %q, read as %q", tags, Join(tags), got)
	})
}
