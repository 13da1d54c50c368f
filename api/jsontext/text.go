package jsontext

import (
	"strconv"
	"time"
	"unicode/utf8"
)

// AppendTime appends t in UTC as RFC 3339.
func AppendTime(dst []byte, t time.Time) []byte {
	return append(t.UTC().AppendFormat(append(dst, '"'), time.RFC3339Nano), '"')
}

// AppendStrings appends texts as an array of JSON strings.
func AppendStrings(dst []byte, texts []string) []byte {
	dst = append(dst, '[')
	for i, text := range texts {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = AppendString(dst, text)
	}
	return append(dst, ']')
}

// plain has the bytes that stand for themselves in a string, and that no look at their neighbours is
// needed for: all of ASCII but controls, the quotation mark and the backslash.
var plain = func() (is [256]bool) {
	for c := byte(' '); c < utf8.RuneSelf; c++ {
		is[c] = c != '"' && c != '\\'
	}
	return is
}()

// AppendString appends text as a JSON string. Like encoding/json it replaces bytes that are not
// UTF-8 with U+FFFD, and escapes U+2028 and U+2029, which end a line in old JavaScript.
func AppendString(dst []byte, text string) []byte {
	dst = append(dst, '"')
	done := 0 // text[:done] has been appended
	for i := 0; i < len(text); {
		c := text[i]
		if plain[c] {
			i++
			continue
		}
		size := 1
		if c >= utf8.RuneSelf {
			var r rune
			r, size = utf8.DecodeRuneInString(text[i:])
			if !(r == utf8.RuneError && size == 1 || r == '\u2028' || r == '\u2029') {
				i += size
				continue
			}
			dst = append(append(dst, text[done:i]...), `\u`...)
			dst = strconv.AppendUint(dst, uint64(r), 16) // of four digits
		} else {
			dst = appendEscape(append(dst, text[done:i]...), c)
		}
		i += size
		done = i
	}
	return append(append(dst, text[done:]...), '"')
}

// appendEscape appends the escape of a control character, a quotation mark or a backslash.
func appendEscape(dst []byte, c byte) []byte {
	const hex = "0123456789abcdef"
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\b':
		return append(dst, `\b`...)
	case '\f':
		return append(dst, `\f`...)
	case '\n':
		return append(dst, `\n`...)
	case '\r':
		return append(dst, `\r`...)
	case '\t':
		return append(dst, `\t`...)
	}
	return append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&0xf])
}
