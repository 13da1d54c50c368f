package preview

import (
	"strings"
	"unicode"

	"golang.org/x/net/idna"
)

// This file decides which host names may be shown in their own letters, and which only in punycode,
// because a name in other letters looks the same: "аррӏе" is all Cyrillic. It is as careful as
// browsers, or more so: it follows Unicode Technical Standard 39, level "highly restrictive", but
// refuses the marks and rare letters that the standard leaves to browsers. For names that consist
// of confusable letters alone it has Chrome's tables of such letters.

// unicodeOf is UTS 46 for display, as strict as the engine's conversion to punycode.
var unicodeOf = idna.New(idna.MapForLookup(), idna.Transitional(false), idna.BidiRule(), idna.CheckHyphens(false),
	idna.StrictDomainName(false))

// readableHost decodes the punycode of a host; readable is "" if the host has none. doubtful
// reports that some of the letters look like others; readable is then empty, too.
func readableHost(host string) (readable string, doubtful bool) {
	if !strings.HasPrefix(host, "xn--") && !strings.Contains(host, ".xn--") {
		return "", false
	}
	readable, err := unicodeOf.ToUnicode(host)
	if err != nil {
		return "", true
	}
	if ascii, err := unicodeOf.ToASCII(readable); err != nil || ascii != host {
		return "", true
	}
	for label := range strings.SplitSeq(readable, ".") {
		if !plainLabel(label) {
			return "", true
		}
	}
	return readable, false
}

// scriptMixes are the sets of scripts that may occur together in a label: a single script, or those
// of a language that is written in several. Latin may be mixed with the last three.
var scriptMixes = [][]*unicode.RangeTable{
	{unicode.Latin}, {unicode.Cyrillic}, {unicode.Greek}, {unicode.Armenian}, {unicode.Georgian}, {unicode.Hebrew}, {unicode.Arabic},
	{unicode.Ethiopic}, {unicode.Devanagari}, {unicode.Bengali}, {unicode.Gurmukhi}, {unicode.Gujarati}, {unicode.Oriya},
	{unicode.Tamil}, {unicode.Telugu}, {unicode.Kannada}, {unicode.Malayalam}, {unicode.Sinhala}, {unicode.Thai}, {unicode.Lao},
	{unicode.Tibetan}, {unicode.Myanmar}, {unicode.Khmer}, {unicode.Thaana},
	{unicode.Latin, unicode.Han, unicode.Hiragana, unicode.Katakana},
	{unicode.Latin, unicode.Han, unicode.Bopomofo},
	{unicode.Latin, unicode.Han, unicode.Hangul},
}

// confusables are the letters of a script that look like Latin ones. A label that consists of them
// alone is not shown.
var confusables = map[*unicode.RangeTable]string{
	unicode.Cyrillic: "аысԁеёԍһіїюјӏорԗԛѕԝтуўхъьҽпгѵѡквмнзб",
	unicode.Greek:    "αβγεικνρυωηοτχσϲϳ",
	unicode.Armenian: "ագզէլհյոսւօքցս",
	unicode.Georgian: "იოყძხჽჿ",
	unicode.Hebrew:   "דוחיןסט",
	unicode.Ethiopic: "ሀሆሐሠሰስበነከኩኸዐዑዕዘዞጠፐ",
	unicode.Thai:     "ทนบพรหเแ๐ดลปฟม",
	unicode.Myanmar:  "ခဂငထပဝ၀ရယ",
	unicode.Tamil:    "டபமரவ",
	unicode.Lao:      "ບພຟຣຮ໐ເ",
}

// plainLabel reports whether label cannot be confused with a label of other letters.
func plainLabel(label string) bool {
	if !strings.ContainsFunc(label, func(r rune) bool { return r >= 0x80 }) { // plain ASCII
		return true
	}
	for _, mix := range scriptMixes {
		if writtenIn(label, mix) {
			letters, known := confusables[mix[0]]
			return !known || strings.ContainsFunc(label, func(r rune) bool {
				return !isNeutral(r) && !strings.ContainsRune(letters, r)
			})
		}
	}
	return false
}

// isNeutral reports whether r may be in a label of any script.
func isNeutral(r rune) bool { return '0' <= r && r <= '9' || r == '-' || r == '_' }

func writtenIn(label string, scripts []*unicode.RangeTable) bool {
	for _, r := range label {
		if !isNeutral(r) && (!unicode.In(r, scripts...) || !isCommonLetter(r)) {
			return false
		}
	}
	return true
}

// isCommonLetter reports whether r is a letter, or a mark that is part of its script; of Latin,
// only the letters of living languages. That leaves out ı and ȷ, ĸ, ƽ, the clicks (ǃ looks like !,
// ǀ like l), phonetic signs, full-width letters and letters for formulas. The letters of Katakana
// and Han that look like strokes and slashes are left out, too.
func isCommonLetter(r rune) bool {
	switch {
	case strings.ContainsRune("ıȷĸƽǀǁǂǃŀ\u30CE\u30F3\u30FD\u30FE\u4E00\u4E36\u4E3F\u2F00\u30A0\u30FB\u30FC\u30CB\u30CF\u30A8\u5DE5\u56D7\u53E3\u529B", r):
		return false
	case unicode.Is(unicode.Latin, r):
		return r < 0x180 || 0x218 <= r && r <= 0x21b || r == 0x192 || r == 0x1a1 || r == 0x1b0 || 0x1e80 <= r && r <= 0x1ef9
	}
	return unicode.IsLetter(r) || unicode.IsMark(r)
}
