package jsonbody

import (
	"bytes"
	"unicode/utf8"
)

// Plain JSON is what nearly all clients send: objects whose values are strings, whole numbers of at
// most 18 digits, true, false, null or arrays of strings. Strings may have escapes, but of no
// surrogate; names have none. The functions of this file read plain JSON in one pass. They decline
// everything else, well-formed or not, before anything has been done with it, and then the same
// bytes are read with encoding/json. So every complaint about JSON is made in one place.
//
// The functions work on an index into the text. after… functions return the index after what they
// read, or declined.
const declined = -1

// appendPlainMembers appends the members of the plain object that begins at text[i]. Their bytes
// alias text, which the caller checks for UTF-8.
func appendPlainMembers(dst []Member, text []byte, i int) ([]Member, int) {
	first := len(dst)
	if at(text, i) != '{' {
		return dst, declined
	}
	if i = afterSpace(text, i+1); at(text, i) == '}' {
		return dst, i + 1
	}
	for len(dst)-first < maxMembers {
		var m Member
		if m, i = plainMember(text, i); i == declined {
			return dst, declined
		}
		dst = append(dst, m)
		switch i = afterSpace(text, i); at(text, i) {
		case ',':
			i = afterSpace(text, i+1)
		case '}':
			return dst, i + 1
		default:
			return dst, declined
		}
	}
	return dst, declined
}

// plainMember reads the member that begins at text[i].
func plainMember(text []byte, i int) (m Member, after int) {
	name := i
	if i = afterString(text, i); i == declined {
		return m, declined
	}
	if m.Name = text[name+1 : i-1]; bytes.IndexByte(m.Name, '\\') >= 0 {
		return m, declined
	}
	if i = afterSpace(text, i); at(text, i) != ':' {
		return m, declined
	}
	i = afterSpace(text, i+1)
	if after = afterValue(text, i); after != declined {
		m.Value = text[i:after:after]
	}
	return m, after
}

// plainItems returns the items of an array of at most limit plain objects, and of at least one.
func plainItems(text []byte, limit int) (items [][]byte, ok bool) {
	i := afterSpace(text, 0)
	if at(text, i) != '[' || !utf8.Valid(text) {
		return nil, false
	}
	var few [16]Member
	for members := few[:0]; len(items) < limit; {
		first := afterSpace(text, i+1)
		if members, i = appendPlainMembers(members[:0], text, first); i == declined {
			return nil, false
		}
		items = append(items, text[first:i:i])
		switch i = afterSpace(text, i); at(text, i) {
		case ',':
		case ']':
			return items, afterSpace(text, i+1) == len(text)
		default:
			return nil, false
		}
	}
	return nil, false
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

func afterValue(text []byte, i int) int {
	switch at(text, i) {
	case '"':
		return afterString(text, i)
	case '[':
		_, i = eachString(text, i, func([]byte) {})
		return i
	case 't':
		return afterWord(text, i, "true")
	case 'f':
		return afterWord(text, i, "false")
	case 'n':
		return afterWord(text, i, "null")
	}
	_, i = plainInt(text, i)
	return i
}

func afterWord(text []byte, i int, word string) int {
	if end := i + len(word); end <= len(text) && string(text[i:end]) == word {
		return end
	}
	return declined
}

// endsRun has the bytes that need a look inside a string: controls, the quotation mark, the
// backslash.
var endsRun = func() (ends [256]bool) {
	for c := range ' ' {
		ends[c] = true
	}
	ends['"'], ends['\\'] = true, true
	return ends
}()

// afterString reads the string that begins at text[i].
func afterString(text []byte, i int) int {
	if at(text, i) != '"' {
		return declined
	}
	for i++; i < len(text); i++ {
		c := text[i]
		if !endsRun[c] {
			continue
		}
		switch c {
		case '"':
			return i + 1
		case '\\':
			_, size := plainEscape(text[i:])
			if size == 0 {
				return declined
			}
			i += size - 1
		default:
			return declined
		}
	}
	return declined
}

// plainEscape reads the escape at the start of b, and returns its character and its size in bytes.
// size is 0 if it is malformed or a surrogate.
func plainEscape(b []byte) (r rune, size int) {
	switch c := at(b, 1); c {
	case '"', '\\', '/':
		return rune(c), 2
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'u':
		return plainUnit(b)
	}
	return 0, 0
}

// plainUnit reads the \uXXXX at the start of b.
func plainUnit(b []byte) (r rune, size int) {
	if len(b) < 6 {
		return 0, 0
	}
	for _, c := range b[2:6] {
		switch {
		case '0' <= c && c <= '9':
			r = r<<4 | rune(c-'0')
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, 0
		}
	}
	if !utf8.ValidRune(r) { // half of a surrogate pair
		return 0, 0
	}
	return r, 6
}

// maxPlainDigits is how many digits always fit in an int64.
const maxPlainDigits = 18

// plainInt reads the whole number that begins at text[i], without an exponent or a fraction.
func plainInt(text []byte, i int) (n int64, after int) {
	negative := at(text, i) == '-'
	if negative {
		i++
	}
	first := i
	for ; '0' <= at(text, i) && at(text, i) <= '9' && i-first <= maxPlainDigits; i++ {
		n = n*10 + int64(text[i]-'0')
	}
	digits := i - first
	if digits == 0 || digits > maxPlainDigits || text[first] == '0' && (digits > 1 || negative) {
		return 0, declined
	}
	if negative {
		n = -n
	}
	return n, i
}

// eachString calls visit with each text, quotation marks included, of the array of plain strings
// that begins at text[i]. It returns their number.
func eachString(text []byte, i int, visit func(quoted []byte)) (n, after int) {
	if at(text, i) != '[' {
		return 0, declined
	}
	if i = afterSpace(text, i+1); at(text, i) == ']' {
		return 0, i + 1
	}
	for {
		end := afterString(text, i)
		if end == declined {
			return n, declined
		}
		visit(text[i:end])
		n++
		switch i = afterSpace(text, end); at(text, i) {
		case ',':
			i = afterSpace(text, i+1)
		case ']':
			return n, i + 1
		default:
			return n, declined
		}
	}
}
