package settings

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/spf13/pflag"
)

// sampleWidth is the width of the comments of a sample.
const sampleWidth = 100

// Sample returns a file with every setting among fs, in the order in which they were declared: what it
// is for, then its line. The line is a comment, begun by # without a space, unless the setting is
// given. It has the default; a setting without one has a word for its kind instead, which is no
// value. note returns what to add to what a setting is for, or "". Secrets are left out: they should
// not be in a file that many can read.
func Sample(fs *pflag.FlagSet, note func(name string) string) string {
	var b strings.Builder
	sorted := fs.SortFlags
	fs.SortFlags = false
	defer func() { fs.SortFlags = sorted }()
	fs.VisitAll(func(f *pflag.Flag) {
		if !IsSetting(f) || annotated(f, secretAnnotation) || f.Name == "config" { // a file names no other
			return
		}
		kind, usage := pflag.UnquoteUsage(f)
		b.WriteByte('\n')
		writeComment(&b, usage+note(f.Name))
		if sourceOf(f) == fromDefault {
			b.WriteByte('#')
		}
		fmt.Fprintf(&b, "%s\n", tomlLine(f.Name, sampleValue(f, kind)))
	})
	return b.String()
}

// sampleValue returns the value of f; kind, or a list of it, if there is none.
func sampleValue(f *pflag.Flag, kind string) any {
	switch value := valueOf(f, f.Value.String()).(type) {
	case nil:
		return kind
	case []string:
		if len(value) == 0 {
			return []string{kind}
		}
		return value
	default:
		return value
	}
}

// writeComment writes text as lines of a comment.
func writeComment(b *strings.Builder, text string) {
	width := 0
	for _, word := range strings.Fields(text) {
		if n := utf8.RuneCountInString(word); width == 0 || width+1+n > sampleWidth {
			if width > 0 {
				b.WriteByte('\n')
			}
			b.WriteString("#")
			width = 1
		}
		b.WriteString(" " + word)
		width += 1 + utf8.RuneCountInString(word)
	}
	b.WriteByte('\n')
}
