package page

import (
	"regexp"
	"strings"
)

var (
	cssComment = regexp.MustCompile(`(?s)/\*.*?\*/`)
	cssSpace   = regexp.MustCompile(`\s+`)
	cssMark    = regexp.MustCompile(` ?([{};,]) ?`)
	cssColon   = regexp.MustCompile(`: `)
	cssLast    = regexp.MustCompile(`;}`)
)

// Compact returns a style of ours without comments and needless white space: an error page is small
// also when it answers a flood. Spaces that mean something are kept: those before a colon, and in
// calc(). It knows no texts in quotes, so those must not have such marks.
func Compact(css string) string {
	css = cssComment.ReplaceAllString(css, "")
	css = cssSpace.ReplaceAllString(css, " ")
	css = cssMark.ReplaceAllString(css, "$1")
	css = cssColon.ReplaceAllString(css, ":")
	return cssLast.ReplaceAllString(css, "}")
}

// CompactScript returns a script of ours without its first comment of several lines, lines that are only a comment, and
// white space at the beginning of lines. It knows no texts, so those must end on the line on which they begin.
func CompactScript(script string) string {
	if first, rest, found := strings.Cut(script, "\n/*\n"); found {
		_, rest, _ = strings.Cut(rest, "*/\n")
		script = first + "\n" + rest
	}
	var kept strings.Builder
	for line := range strings.Lines(script) {
		if line = strings.TrimLeft(line, "\t "); line != "\n" && !strings.HasPrefix(line, "//") {
			kept.WriteString(line)
		}
	}
	return kept.String()
}
