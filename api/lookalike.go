package api

import (
	"strings"
	"unicode"

	"golang.org/x/net/idna"
)

// Which host names may be shown in the letters that they stand for, and which only in punycode, because a name of other letters
// looks the same: "аррӏе" is all Cyrillic. It is what browsers do, on the careful side: Unicode Technical Standard 39, "highly
// restrictive", without the marks and rare letters that it leaves to them, and with Chrome's tables of whole names of letters
// that have a double.

// unicodeOf is UTS 46 for display, as strict as engine's way to punycode.
var unicodeOf = idna.New(idna.MapForLookup(), idna.Transitional(false), idna.BidiRule(), idna.CheckHyphens(false),
	idna.StrictDomainName(false))

// readableHost returns a host in the letters that its punycode stands for; empty if it has none. doubtful: it has some that
// cannot be told from others.
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

// scriptMixes are the scripts that may stand together in a label: one, or those of a language that is written in several. Latin
// goes with the last three.
var scriptMixes = [][]*unicode.RangeTable{
	{unicode.Latin}, {unicode.Cyrillic}, {unicode.Greek}, {unicode.Armenian}, {unicode.Georgian}, {unicode.Hebrew}, {unicode.Arabic},
	{unicode.Ethiopic}, {unicode.Devanagari}, {unicode.Bengali}, {unicode.Gurmukhi}, {unicode.Gujarati}, {unicode.Oriya},
	{unicode.Tamil}, {unicode.Telugu}, {unicode.Kannada}, {unicode.Malayalam}, {unicode.Sinhala}, {unicode.Thai}, {unicode.Lao},
	{unicode.Tibetan}, {unicode.Myanmar}, {unicode.Khmer}, {unicode.Thaana},
	{unicode.Latin, unicode.Han, unicode.Hiragana, unicode.Katakana},
	{unicode.Latin, unicode.Han, unicode.Bopomofo},
	{unicode.Latin, unicode.Han, unicode.Hangul},
}

// doubles are the letters of a script that look like Latin ones: a label of them alone is not shown.
var doubles = map[*unicode.RangeTable]string{
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

// plainLabel tells whether a label can be told from every label of other letters.
func plainLabel(label string) bool {
	if isPlainASCII(label) {
		return true
	}
	for _, mix := range scriptMixes {
		if writtenIn(label, mix) {
			letters, known := doubles[mix[0]]
			return !known || strings.ContainsFunc(label, func(r rune) bool {
				return !isNeutral(r) && !strings.ContainsRune(letters, r)
			})
		}
	}
	return false
}

func isPlainASCII(label string) bool {
	return !strings.ContainsFunc(label, func(r rune) bool { return r >= 0x80 })
}

// isNeutral: what stands in labels of every script.
func isNeutral(r rune) bool { return '0' <= r && r <= '9' || r == '-' || r == '_' }

func writtenIn(label string, scripts []*unicode.RangeTable) bool {
	for _, r := range label {
		if !isNeutral(r) && (!unicode.In(r, scripts...) || !isCommonLetter(r)) {
			return false
		}
	}
	return true
}

// isCommonLetter: letters and the marks that are part of their script, but of Latin only those that languages of today are
// written in. Left out are ı and ȷ, ĸ, ƽ, the clicks (ǃ looks like !, ǀ like l), and everything beyond: phonetic signs, full
// width, letters for formulas; and Katakana's and Han's doubles of strokes and slashes.
func isCommonLetter(r rune) bool {
	switch {
	case strings.ContainsRune("ıȷĸƽǀǁǂǃŀ\u30CE\u30F3\u30FD\u30FE\u4E00\u4E36\u4E3F\u2F00\u30A0\u30FB\u30FC\u30CB\u30CF\u30A8\u5DE5\u56D7\u53E3\u529B", r):
		return false
	case unicode.Is(unicode.Latin, r):
		return r < 0x180 || 0x218 <= r && r <= 0x21b || r == 0x192 || r == 0x1a1 || r == 0x1b0 || 0x1e80 <= r && r <= 0x1ef9
	}
	return unicode.IsLetter(r) || unicode.IsMark(r)
}
