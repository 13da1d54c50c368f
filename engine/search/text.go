package search

import (
	"net/url"
	"strings"
	"unicode/utf8"
)

// fieldEnd ends each field of a link's text. No folded text has it.
const fieldEnd = 0

// Fields are what is searched of a link. Their order is that of relevance.
type Fields struct {
	Code   string
	Title  string
	Tags   []string
	Target string // as it is stored
}

// MaxTextBytes bounds the text of a link. Only characters that fold to several times their length reach it, and what
// they have beyond it is not searched.
const MaxTextBytes = 32 << 10

// AppendText appends the text of a link to dst: its fields, folded, and before the target texts, which is what else
// people wrote about it: as many for every link, because ranks count fields. A target comes as it is and, where it
// differs, without its percent-encoding, because people look for what they see.
func (f Fields) AppendText(dst []byte, texts ...string) []byte {
	start := len(dst)
	dst = append(Append(dst, f.Code), fieldEnd)
	dst = append(Append(dst, f.Title), fieldEnd)
	for i, t := range f.Tags {
		if i > 0 {
			dst = append(dst, ' ')
		}
		dst = Append(dst, t)
	}
	dst = append(dst, fieldEnd)
	for _, text := range texts {
		dst = append(Append(dst, text), fieldEnd)
	}
	dst = append(Append(dst, f.Target), fieldEnd)
	if plain := Decoded(f.Target); plain != f.Target {
		dst = append(Append(dst, plain), fieldEnd)
	}
	return dst[:min(len(dst), start+MaxTextBytes)]
}

// Decoded returns an address without its percent-encoding, or as it is if that is no text.
func Decoded(address string) string {
	if !strings.Contains(address, "%") {
		return address
	}
	if plain, err := url.PathUnescape(address); err == nil && utf8.ValidString(plain) {
		return plain
	}
	return address
}
