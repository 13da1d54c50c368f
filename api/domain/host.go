package domain

import (
	"bytes"
	"net/netip"
	"strings"

	"shunt/engine"
)

// maxHostBytes is the length of the longest name (RFC 1035, 2.3.4).
const maxHostBytes = 253

// hostOf returns the host of a domain in the form that it is kept in: a name in lower-case ASCII.
func hostOf(field, text string) (string, error) {
	invalid := func(code, message string) error {
		return engine.FieldError{Field: field, Code: code, Message: message}
	}
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return "", invalid("required", "must be given")
	case strings.ContainsAny(text, ":/?#@"):
		return "", invalid("invalid", "must be a host without scheme, port and path, such as go.example")
	}
	host, err := engine.HostName(text)
	switch {
	case err != nil:
		return "", invalid("invalid", "must be a host, such as go.example")
	case len(host) > maxHostBytes:
		return "", invalid("too_long", "must be at most 253 bytes")
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return "", invalid("invalid", "must be a name, because an address is of the default domain")
	}
	return host, nil
}

// bareHost returns the part of a Host field that is looked for, in lower case and in buf: without a port and without
// the dot of a name's root. It returns nil if that cannot be the host of a domain.
func bareHost(buf *[maxHostBytes]byte, field []byte) []byte {
	if at := bytes.LastIndexByte(field, ':'); at >= 0 {
		field = field[:at]
	}
	if n := len(field); n > 0 && field[n-1] == '.' {
		field = field[:n-1]
	}
	if len(field) == 0 || len(field) > len(buf) {
		return nil
	}
	for i, c := range field {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		buf[i] = c
	}
	return buf[:len(field)]
}

// hostPart returns the host of an origin, with its port.
func hostPart(origin string) string {
	_, host, _ := strings.Cut(origin, "://")
	return host
}
