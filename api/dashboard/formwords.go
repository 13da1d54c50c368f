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

// targetValue is the JSON value of an address that was typed.
func targetValue(text string) any {
	if text == "" {
		return nil
	}
	return withScheme(text)
}

// withScheme returns an address with https:// before it if it begins with the name of a host: people
// copy addresses without it. Any other text stays as it is, for the API to judge.
func withScheme(text string) string {
	host, _, _ := strings.Cut(text, "/")
	if !strings.Contains(host, ".") || strings.HasPrefix(host, ".") || strings.ContainsAny(host, ":@?#\\ ") {
		return text
	}
	return "https://" + text
}
