package target

import (
	"net/netip"
	"strings"
	"unicode"

	"shunt/engine/internal/limits"
)

// ParseTyped returns what Parse returns for an address as people type and paste it: blanks around it
// are dropped, a space in it becomes %20, and https:// is put before one that begins with a host.
// Everything else is read as by Parse, which also judges the result, so nothing gets past a policy
// by being typed differently. An address that Parse returned stays as it is, unless it ends in an
// invisible character.
func (p Policy) ParseTyped(raw string) (target string, err error) {
	if h, ok := plainHost(raw); ok && p.Schemes == nil { // has nothing to mend
		return p.checked(h, raw)
	}
	return p.parseAny(p.tidied(raw))
}

// tidied returns the address that people mean by raw. It does not look at what Parse will refuse.
func (p Policy) tidied(raw string) string {
	text := strings.TrimFunc(raw, isBlank)
	if len(text) > limits.MaxTargetBytes { // too long in any form
		return text
	}
	text = strings.ReplaceAll(text, " ", "%20")
	if !p.Schemes.opaque(text) && strings.IndexFunc(text, forbiddenInTarget) < 0 && lacksScheme(text) {
		return "https://" + text
	}
	return text
}

// isBlank reports whether r is white space, or a character without width that programs put around
// copied text: joiners, byte order marks, and marks of the direction of writing.
func isBlank(r rune) bool {
	switch {
	case r == '\u00ad', r == '\u061c', r == '\u180e', r == '\ufeff',
		'\u200b' <= r && r <= '\u200f', '\u202a' <= r && r <= '\u202e', '\u2060' <= r && r <= '\u206f':
		return true
	}
	return unicode.IsSpace(r)
}

// lacksScheme reports whether text begins with a host, and a port or none: a name with a dot in it, or
// an IPv4 address of four numbers. Names without a dot (localhost:8080, mailto:a) look like schemes,
// and shorter addresses (3.14) like numbers, so people must say what they mean.
func lacksScheme(text string) bool {
	authority := text
	if end := strings.IndexAny(text, "/?#"); end >= 0 {
		authority = text[:end]
	}
	name, port, found := strings.Cut(authority, ":")
	if found && (port == "" || !isDigits(port)) || strings.Contains(name, "@") {
		return false
	}
	h, err := parseAuthority(name)
	switch {
	case err != nil: // Parse says what is wrong with it
		return hasInnerDot(name)
	case h.addr.IsValid():
		_, err := netip.ParseAddr(h.name())
		return err == nil
	}
	return hasInnerDot(h.name())
}

// hasInnerDot reports whether name has a dot that neither begins nor ends it.
func hasInnerDot(name string) bool {
	return strings.Contains(strings.Trim(name, "."), ".") && name[0] != '.'
}
