package dashboard

import (
	"crypto/rand"
	"strings"
	"unicode"
	"unicode/utf8"
)

// formKey returns the hidden key of a form: the one that was typed, or a new one.
func (r *request) formKey() string {
	if key, typed := r.typed("key"); typed && key != "" {
		return key
	}
	return rand.Text()
}

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
