package visit

import (
	"crypto/rand"
	"strings"
	"unicode"
	"unicode/utf8"
)

// FormKey returns the hidden key of a form that makes something: that of the form that was sent, or
// a new one. A form that is sent twice has one key, and makes its thing once.
func (r *Request) FormKey() string {
	if key, typed := r.Typed("key"); typed && key != "" && len(key) <= maxKeyBytes {
		return key
	}
	return rand.Text()
}

// maxKeyBytes bounds the key of a form; ours have 26 bytes.
const maxKeyBytes = 64

// Sentence returns text with a capital letter and a full stop; "" as it is.
func Sentence(text string) string {
	first, n := utf8.DecodeRuneInString(text)
	if n == 0 {
		return ""
	}
	text = string(unicode.ToUpper(first)) + text[n:]
	if !strings.HasSuffix(text, ".") {
		text += "."
	}
	return text
}
