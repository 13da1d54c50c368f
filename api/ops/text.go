package ops

import (
	"strconv"
	"time"
	"unicode/utf8"
)

// appendTime appends t in UTC as RFC 3339.
func appendTime(dst []byte, t time.Time) []byte {
	return append(t.UTC().AppendFormat(append(dst, '"'), time.RFC3339Nano), '"')
}

func appendStrings(dst []byte, texts []string) []byte {
	dst = append(dst, '[')
	for i, text := range texts {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendString(dst, text)
	}
	return append(dst, ']')
}

// appendString appends text as a JSON string. Like encoding/json it replaces bytes that are not
// UTF-8 with U+FFFD, and escapes U+2028 and U+2029, which end a line in old JavaScript.
func appendString(dst []byte, text string) []byte {
	dst = append(dst, '"')
	plain := 0 // text[:plain] has been appended
	for i := 0; i < len(text); {
		size := 1
		if c := text[i]; c >= utf8.RuneSelf {
			var r rune
			r, size = utf8.DecodeRuneInString(text[i:])
			if !(r == utf8.RuneError && size == 1 || r == '\u2028' || r == '\u2029') {
				i += size
				continue
			}
			dst = append(append(dst, text[plain:i]...), `\u`...)
			dst = strconv.AppendUint(dst, uint64(r), 16) // of four digits
		} else {
			if c >= ' ' && c != '"' && c != '\\' {
				i++
				continue
			}
			dst = appendEscape(append(dst, text[plain:i]...), c)
		}
		i += size
		plain = i
	}
	return append(append(dst, text[plain:]...), '"')
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
