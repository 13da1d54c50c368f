package choice

import (
	"bytes"

	"shunt/engine/extras"
)

// maxParameters is how many parameters of a query are read, so that one with thousands does not hold up an event loop:
// 256 conditions take 0.3 ms then.
const maxParameters = 128

// hasParameter reports whether query has a parameter that meets c. Of several of one name, any may.
func hasParameter(query []byte, c *extras.ConditionView) bool {
	for left := maxParameters; len(query) > 0 && left > 0; left-- {
		part := query
		if end := bytes.IndexByte(query, '&'); end >= 0 {
			part, query = query[:end], query[end+1:]
		} else {
			query = nil
		}
		name, value := part, []byte(nil)
		if equals := bytes.IndexByte(part, '='); equals >= 0 {
			name, value = part[:equals], part[equals+1:]
		}
		if !DecodesTo(name, c.Key) {
			continue
		}
		switch {
		case c.Kind == extras.WithAnyQuery,
			c.Kind == extras.WithValuelessQuery && len(value) == 0,
			c.Kind == extras.WithQuery && DecodesTo(value, c.Value):
			return true
		}
	}
	return false
}

// DecodesTo reports whether text, decoded as a form is, is want. A percent sign without two hexadecimal digits stands
// for itself.
func DecodesTo(text, want []byte) bool {
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '+':
			c = ' '
		case c == '%' && i+2 < len(text):
			if high, low := digit(text[i+1]), digit(text[i+2]); high|low < 16 {
				c, i = high<<4|low, i+2
			}
		}
		if len(want) == 0 || want[0] != c {
			return false
		}
		want = want[1:]
	}
	return len(want) == 0
}

// digit returns the value of a hexadecimal digit, 0xff of another byte.
func digit(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return c | 0x20 - 'a' + 10
	}
	return 0xff
}
