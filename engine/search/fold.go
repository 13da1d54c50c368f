package search

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// spelled has the letters that Unicode does not decompose, as people type them without such keys.
var spelled = map[rune]string{
	'ß': "ss", 'ẞ': "ss", 'æ': "ae", 'Æ': "ae", 'œ': "oe", 'Œ': "oe", 'ø': "o", 'Ø': "o", 'ł': "l", 'Ł': "l",
	'đ': "d", 'Đ': "d", 'ð': "d", 'Ð': "d", 'þ': "th", 'Þ': "th", 'ħ': "h", 'Ħ': "h", 'ı': "i", 'ŋ': "n", 'Ŋ': "n", 'ŧ': "t", 'Ŧ': "t",
}

// Append appends the folded form of s to dst. It is UTF-8; a byte that is not becomes U+FFFD.
func Append(dst []byte, s string) []byte {
	for i := 0; i < len(s); {
		if s[i] < utf8.RuneSelf {
			dst = append(dst, foldedASCII(s[i]))
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		switch parts := norm.NFKD.PropertiesString(s[i:]).Decomposition(); {
		case isSyllable(r):
			dst = appendSyllable(dst, r)
		case parts == nil:
			dst = appendFolded(dst, r)
		default:
			for len(parts) > 0 {
				part, n := utf8.DecodeRune(parts)
				dst, parts = appendFolded(dst, part), parts[n:]
			}
		}
		i += size
	}
	return dst
}

// foldedASCII is the folded form of a byte below 0x80.
func foldedASCII(c byte) byte {
	switch {
	case 'A' <= c && c <= 'Z':
		return c + 'a' - 'A'
	case c < ' ' || c == 0x7f:
		return ' '
	}
	return c
}

// appendFolded appends the folded form of a character that is decomposed: nothing if it is a mark.
func appendFolded(dst []byte, r rune) []byte {
	switch {
	case r < utf8.RuneSelf:
		return append(dst, foldedASCII(byte(r)))
	case unicode.Is(unicode.Mn, r):
		return dst
	case unicode.IsControl(r):
		return append(dst, ' ')
	}
	if t, ok := spelled[r]; ok {
		return append(dst, t...)
	}
	least := r
	for c := unicode.SimpleFold(r); c != r; c = unicode.SimpleFold(c) {
		if !unicode.Is(unicode.Mn, c) { // the iota that is written below a vowel
			least = min(least, c)
		}
	}
	if least < utf8.RuneSelf { // of the Kelvin sign and the long s
		return append(dst, foldedASCII(byte(least)))
	}
	return utf8.AppendRune(dst, least)
}

// The syllables of Hangul are decomposed by arithmetic (Unicode Standard, section 3.12), which norm keeps to itself.
const (
	syllables, leads, vowels, tails   = 0xac00, 0x1100, 0x1161, 0x11a7
	numSyllables, numVowels, numTails = 11172, 21, 28
)

func isSyllable(r rune) bool { return r >= syllables && r < syllables+numSyllables }

func appendSyllable(dst []byte, r rune) []byte {
	n := r - syllables
	dst = utf8.AppendRune(dst, leads+n/(numVowels*numTails))
	dst = utf8.AppendRune(dst, vowels+n/numTails%numVowels)
	if n%numTails != 0 {
		dst = utf8.AppendRune(dst, tails+n%numTails)
	}
	return dst
}
