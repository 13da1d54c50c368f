package page

import "regexp"

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
