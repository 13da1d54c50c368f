package jsonbody

import (
	"bytes"
	"encoding/json"
	"iter"
)

// parts yields what stands between the commas of an object or array, which encoding/json has found valid. A part
// aliases text and has no space around it.
func parts(text []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for start, depth, i := 1, 0, 1; ; i++ {
			switch text[i] {
			case '"':
				i += endOfString(text[i:]) - 1
			case '{', '[':
				depth++
			case ',':
				if depth > 0 {
					continue
				}
				if !yield(bytes.TrimSpace(text[start:i:i])) {
					return
				}
				start = i + 1
			case '}', ']':
				if depth--; depth >= 0 {
					continue
				}
				if last := bytes.TrimSpace(text[start:i:i]); len(last) > 0 {
					yield(last)
				}
				return
			}
		}
	}
}

// endOfString returns the index after the string with which text begins.
func endOfString(text []byte) int {
	for i := 1; ; i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
}

// unescaped returns the text of a string. It aliases quoted if that has no escapes.
func unescaped(quoted []byte) []byte {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1]
	}
	var s string
	_ = json.Unmarshal(quoted, &s) // it is a string
	return []byte(s)
}
