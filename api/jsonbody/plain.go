package jsonbody

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// wellFormed reports whether text is JSON in UTF-8.
func wellFormed(text []byte) bool {
	return utf8.Valid(text) && (isPlain(text) || json.Valid(text))
}

// declined is where a value ends that is not plain.
const declined = -1

// isPlain reports whether text is well-formed without any doubt: encoding/json takes five times as long to say so.
// Plain values are nested at most maxPlainDepth deep, have no \u escapes, and only whole numbers.
func isPlain(text []byte) bool {
	i := afterPlain(text, afterSpace(text, 0), maxPlainDepth)
	return i != declined && afterSpace(text, i) == len(text)
}

const maxPlainDepth = 4

// afterPlain returns the index after the plain value that begins at text[i], or declined.
func afterPlain(text []byte, i, depth int) int {
	switch c := at(text, i); c {
	case '"':
		return afterString(text, i)
	case '{', '[':
		if depth == 0 {
			return declined
		}
		return afterContainer(text, i, c+2, depth-1)
	case 't':
		return afterWord(text, i, "true")
	case 'f':
		return afterWord(text, i, "false")
	case 'n':
		return afterWord(text, i, "null")
	case '0':
		return i + 1
	}
	first := i
	for '0' <= at(text, i) && at(text, i) <= '9' {
		i++
	}
	if i == first {
		return declined
	}
	return i
}

// afterContainer is afterPlain for an object or array.
func afterContainer(text []byte, i int, end byte, depth int) int {
	if i = afterSpace(text, i+1); at(text, i) == end {
		return i + 1
	}
	for {
		if end == '}' {
			if i = afterString(text, i); i == declined {
				return declined
			}
			if i = afterSpace(text, i); at(text, i) != ':' {
				return declined
			}
			i = afterSpace(text, i+1)
		}
		if i = afterPlain(text, i, depth); i == declined {
			return declined
		}
		switch i = afterSpace(text, i); at(text, i) {
		case ',':
			i = afterSpace(text, i+1)
		case end:
			return i + 1
		default:
			return declined
		}
	}
}

// at returns text[i], or 0, which JSON has nowhere, beyond its end.
func at(text []byte, i int) byte {
	if i < len(text) {
		return text[i]
	}
	return 0
}

func afterSpace(text []byte, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\n' || text[i] == '\t' || text[i] == '\r') {
		i++
	}
	return i
}

func afterWord(text []byte, i int, word string) int {
	if end := i + len(word); end <= len(text) && string(text[i:end]) == word {
		return end
	}
	return declined
}

// afterString is afterPlain for a string.
func afterString(text []byte, i int) int {
	if at(text, i) != '"' {
		return declined
	}
	for i++; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			return i + 1
		case c < ' ':
			return declined
		case c == '\\':
			if i++; strings.IndexByte(`"\/bfnrt`, at(text, i)) < 0 {
				return declined
			}
		}
	}
	return declined
}
