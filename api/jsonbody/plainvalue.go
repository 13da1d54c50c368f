package jsonbody

import (
	"bytes"
	"unicode/utf8"
)

// Readers of single plain values. ok is false if the value is not plain; then the readers in
// value.go use encoding/json.

// plainString reads a string.
func plainString(value []byte) (s string, ok bool) {
	if afterString(value, 0) != len(value) || !utf8.Valid(value) {
		return "", false
	}
	return unescaped(value[1 : len(value)-1]), true
}

// unescaped returns the text of a plain string without its quotation marks.
func unescaped(b []byte) string {
	escape := bytes.IndexByte(b, '\\')
	if escape < 0 {
		return string(b)
	}
	text := make([]byte, 0, len(b))
	for ; escape >= 0; escape = bytes.IndexByte(b, '\\') {
		r, size := plainEscape(b[escape:])
		text = utf8.AppendRune(append(text, b[:escape]...), r)
		b = b[escape+size:]
	}
	return string(append(text, b...))
}

// plainStrings reads an array of strings.
func plainStrings(value []byte) (texts []string, ok bool) {
	n, after := eachString(value, 0, func([]byte) {})
	if after != len(value) || !utf8.Valid(value) {
		return nil, false
	}
	texts = make([]string, 0, n)
	eachString(value, 0, func(quoted []byte) { texts = append(texts, unescaped(quoted[1:len(quoted)-1])) })
	return texts, true
}
