package visitor

import (
	"bytes"
	"net/netip"
	"unsafe"

	"shunt/engine"
)

// maxReferrerBytes is how many bytes of a Referer header are read: enough for a scheme, a host as
// long as DNS allows, and some user-info and port.
const maxReferrerBytes = 512

// Referrer returns the number that e has for the host in a Referer header, as engine.Visit takes
// it: 0 without a header, and engine.OtherReferrer if the header has no valid host.
func Referrer(e *engine.Engine, header []byte) uint16 {
	if len(header) == 0 {
		return 0
	}
	var scratch [engine.MaxReferrerBytes]byte
	host := appendReferrerHost(scratch[:0], header)
	if len(host) == 0 {
		return engine.OtherReferrer
	}
	return e.Referrer(host)
}

// appendReferrerHost appends the host that a Referer header names to dst, which has room for
// MaxReferrerBytes; it appends nothing if the header has no valid host. Of an http or https address
// it appends the host in lower case without user-info, port, "www." and the dot at the end, so that
// one site is one referrer; an IPv6 address is in brackets, in the form of RFC 5952. Of
// android-app://package, which Android's browsers send, it appends the package. Browsers send names
// outside ASCII as punycode; a header with other bytes has no valid host.
func appendReferrerHost(dst, header []byte) []byte {
	rest := header[:min(len(header), maxReferrerBytes)]
	app := false
	switch {
	case hasPrefixFold(rest, "https://"):
		rest = rest[len("https://"):]
	case hasPrefixFold(rest, "http://"):
		rest = rest[len("http://"):]
	case hasPrefixFold(rest, "android-app://"):
		rest, app = rest[len("android-app://"):], true
	default:
		return dst
	}
	ended := len(header) <= maxReferrerBytes
	for _, mark := range [...]byte{'/', '?', '#'} {
		if end := bytes.IndexByte(rest, mark); end >= 0 {
			rest, ended = rest[:end], true
		}
	}
	switch {
	case !ended:
		return dst // the host might go on
	case app:
		return appendHostName(dst, rest)
	}
	return appendAuthorityHost(dst, rest)
}

// hasPrefixFold reports whether b begins with prefix, in any case. prefix is in lower case.
func hasPrefixFold(b []byte, prefix string) bool {
	if len(b) < len(prefix) {
		return false
	}
	for i := range len(prefix) {
		if c := b[i]; c != prefix[i] && ('A' > c || c > 'Z' || c|0x20 != prefix[i]) {
			return false
		}
	}
	return true
}

// appendAuthorityHost appends the host of user:password@host:port.
func appendAuthorityHost(dst, authority []byte) []byte {
	host := authority[bytes.LastIndexByte(authority, '@')+1:]
	if len(host) > 0 && host[0] == '[' {
		return appendIPv6Host(dst, host)
	}
	if colon := bytes.IndexByte(host, ':'); colon >= 0 {
		if !isReferrerPort(host[colon:]) {
			return dst
		}
		host = host[:colon]
	}
	host = bytes.TrimSuffix(host, dot)
	if hasPrefixFold(host, "www.") && bytes.IndexByte(host[4:], '.') > 0 {
		host = host[4:] // but not of www.com
	}
	return appendHostName(dst, host)
}

var dot = []byte{'.'}

// isReferrerPort reports whether b is empty, or ":" and at most five digits. RFC 3986 allows ":"
// alone.
func isReferrerPort(b []byte) bool {
	if len(b) == 0 {
		return true
	}
	if b[0] != ':' || len(b) > 6 {
		return false
	}
	for _, c := range b[1:] {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// appendHostName appends a name of labels of letters, digits, hyphens and underscores, in lower
// case.
func appendHostName(dst, name []byte) []byte {
	start, label := len(dst), 0
	if len(name) > engine.MaxReferrerBytes {
		return dst
	}
	for _, c := range name {
		c = hostBytes[c]
		switch {
		case c == '.' && label > 0:
			label = 0
		case c != '.' && c != 0 && label < maxLabelBytes:
			label++
		default:
			return dst[:start]
		}
		dst = append(dst, c)
	}
	if label == 0 {
		return dst[:start]
	}
	return dst
}

const maxLabelBytes = 63 // RFC 1035, 2.3.4

// hostBytes maps every byte that a host may have to lower case, and all others to 0.
var hostBytes = func() (table [256]byte) {
	for _, c := range []byte("abcdefghijklmnopqrstuvwxyz0123456789-_.") {
		table[c] = c
		if 'a' <= c && c <= 'z' {
			table[c-'a'+'A'] = c
		}
	}
	return table
}()

// appendIPv6Host appends the address of [address]:port. A text in brackets that is not an address
// costs one allocation: that of the error.
func appendIPv6Host(dst, host []byte) []byte {
	end := bytes.IndexByte(host, ']')
	if end < 0 || !isReferrerPort(host[end+1:]) {
		return dst
	}
	addr, err := netip.ParseAddr(unsafe.String(unsafe.SliceData(host[1:end]), end-1)) // no copy: read here only
	if err != nil || !addr.Is6() || addr.Zone() != "" {
		return dst
	}
	return append(addr.AppendTo(append(dst, '[')), ']')
}
