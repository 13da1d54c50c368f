package words

import (
	"regexp"
	"strings"
	"unicode"
)

// hole is a hole of a key, or of its translation.
var hole = regexp.MustCompile(`\{(\d+)(!?)\}`)

// spaces are what HTML shows as one space.
var spaces = regexp.MustCompile(`[ \t\r\n]+`)

// keyOf returns text as a key: without spaces around it, with one between words.
func keyOf(text string) string { return strings.Trim(spaces.ReplaceAllString(text, " "), " ") }

// isText reports whether a key has something to translate beside its holes and character references.
func isText(key string) bool {
	return strings.ContainsFunc(reference.ReplaceAllString(hole.ReplaceAllString(key, ""), ""), unicode.IsLetter)
}

var reference = regexp.MustCompile(`&[#\w]+;`)

// A pattern is a key with holes, and how texts are found that fill them.
type pattern struct {
	begin, end  string // the text before the first hole, and after the last
	expression  *regexp.Regexp
	translation string
}

// patternOf returns the pattern of a key. One without a word, such as {0}%, is of numbers: a tag may end in % as well.
func patternOf(key, translation string) pattern {
	value := "(.+?)"
	if !isText(key) {
		value = `([<>]?\d[\d,]*)`
	}
	var b strings.Builder
	b.WriteString("^")
	at := 0
	for _, m := range hole.FindAllStringIndex(key, -1) {
		b.WriteString(regexp.QuoteMeta(key[at:m[0]]))
		b.WriteString(value)
		at = m[1]
	}
	b.WriteString(regexp.QuoteMeta(key[at:]) + "$")
	return pattern{key[:hole.FindStringIndex(key)[0]], key[at:], regexp.MustCompile("(?s)" + b.String()), translation}
}

// holesOf returns how often a text has each hole.
func holesOf(text string) map[string]int {
	holes := make(map[string]int)
	for _, m := range hole.FindAllStringSubmatch(text, -1) {
		holes[m[1]]++
	}
	return holes
}
