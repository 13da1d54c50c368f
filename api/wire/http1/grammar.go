package http1

import (
	"bytes"
	"net/netip"
)

// The character classes of RFC 9110 and RFC 3986 that the gate and the reader of plain requests know.
const (
	// inToken is tchar (RFC 9110, 5.6.2).
	inToken = 1 << iota

	// inTarget is everything but controls and the space. Quotes, braces, bytes beyond ASCII and a
	// fragment are not allowed in a target, but they are common, and no reader ends a target at them.
	inTarget

	// inName is reg-name (RFC 3986, 3.2.2) without escapes: no host has any, and parsers differ on
	// them.
	inName

	// inText is the class of bytes in field values and chunk extensions: VCHAR, obs-text, SP, HTAB.
	inText

	// inSegment is the class of the path of a plain request, one segment: the bytes of codes but for dots.
	inSegment
)

// bytesOf has the classes of each byte.
var bytesOf = classes()

func classes() (c [256]uint8) {
	for b := range c {
		letter := 'a' <= b|0x20 && b|0x20 <= 'z' && b < 0x80
		alphanumeric := letter || '0' <= b && b <= '9'
		if alphanumeric || bytes.IndexByte([]byte("!#$%&'*+-.^_`|~"), byte(b)) >= 0 {
			c[b] |= inToken
		}
		if 0x21 <= b && b != 0x7f {
			c[b] |= inTarget
		}
		if alphanumeric || bytes.IndexByte([]byte("-._~!$&'()*+,;="), byte(b)) >= 0 {
			c[b] |= inName
		}
		if b == '\t' || b >= 0x20 && b != 0x7f {
			c[b] |= inText
		}
		if alphanumeric || b == '-' || b == '_' {
			c[b] |= inSegment
		}
	}
	return c
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isToken(b []byte) bool { return len(b) > 0 && allIn(b, inToken) }

func allIn(b []byte, class uint8) bool {
	for _, c := range b {
		if bytesOf[c]&class == 0 {
			return false
		}
	}
	return true
}

// isHost reports whether b is uri-host [ ":" port ] (RFC 9110, 7.2) and not empty. IP literals of
// other versions than 6 do not exist.
func isHost(b []byte) bool {
	if len(b) > 0 && b[0] == '[' {
		return isIPv6Host(b)
	}
	end := 0
	for end < len(b) && bytesOf[b[end]]&inName != 0 {
		end++
	}
	return end > 0 && isHostPort(b[end:])
}

func isIPv6Host(b []byte) bool {
	end := bytes.IndexByte(b, ']')
	if end < 0 {
		return false
	}
	addr, err := netip.ParseAddr(viewString(b[1:end]))
	return err == nil && addr.Is6() && addr.Zone() == "" && isHostPort(b[end+1:])
}

// isHostPort is isPort, except that the port may be empty (RFC 3986, 3.2.3).
func isHostPort(b []byte) bool { return string(b) == ":" || isPort(b) }

// isWord reports whether b is word in any case; word is in lower case. bytes.EqualFold would not
// do: it folds by Unicode, where K, the kelvin sign, is a k.
func isWord(b []byte, word string) bool { return len(b) == len(word) && equalFold(b, word) }

// equalFold is isWord for b of the word's length.
func equalFold(b []byte, word string) bool {
	for i, c := range b {
		if c|0x20 != word[i] {
			return false
		}
	}
	return true
}

// trimOWS drops optional white space (RFC 9110, 5.6.3) around b. bytes.TrimSpace would drop other
// bytes, too.
func trimOWS(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t') {
		b = b[1:]
	}
	for len(b) > 0 && (b[len(b)-1] == ' ' || b[len(b)-1] == '\t') {
		b = b[:len(b)-1]
	}
	return b
}

// hasMember reports whether a list (RFC 9110, 5.6.1) has the lower-case word as a member, in any
// case.
func hasMember(list []byte, word string) bool {
	for len(list) > 0 {
		member := list
		if comma := bytes.IndexByte(list, ','); comma >= 0 {
			member, list = list[:comma], list[comma+1:]
		} else {
			list = nil
		}
		if isWord(trimOWS(member), word) {
			return true
		}
	}
	return false
}
