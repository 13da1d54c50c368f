package dashboard

import (
	"crypto/rand"
	"strings"
	"unicode"
	"unicode/utf8"
)

// formKey returns the hidden key of a form that makes something: that of the form that was sent, or
// a new one. A form that is sent twice has one key, and makes its thing once.
func (r *request) formKey() string {
	if key, typed := r.typed("key"); typed && key != "" && len(key) <= maxKeyBytes {
		return key
	}
	return rand.Text()
}

// maxKeyBytes bounds the key of a form; ours have 26 bytes.
const maxKeyBytes = 64

// sentence returns text with a capital letter and a full stop; "" as it is.
func sentence(text string) string {
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
