package target

import (
	"net/netip"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"shunt/engine/invalid"
)

func targetError(code, message string) invalid.FieldError {
	return invalid.FieldError{Field: "url", Code: code, Message: message}
}

// splitTarget splits raw into scheme, authority and the rest, which begins with /, ? or # or is
// empty.
func (s Schemes) splitTarget(raw string) (scheme, authority, rest string, err error) {
	scheme, after, found := strings.Cut(raw, ":")
	if !found || !isScheme(scheme) {
		return "", "", "", notAbsolute(raw)
	}
	if !isWebScheme(scheme) && !s.has(scheme) {
		return "", "", "", s.wrongScheme(scheme, after)
	}
	after, found = strings.CutPrefix(after, "//")
	if !found {
		return "", "", "", targetError("host", "must have // and a host after the scheme")
	}
	end := strings.IndexAny(after, "/?#")
	if end < 0 {
		end = len(after)
	}
	return scheme, after[:end], after[end:], nil
}

const codeScheme = "scheme"

var errNotAbsolute = targetError("not_absolute", "must be an absolute address, with http:// or https:// before it")

// notAbsolute returns the error of a target without a scheme.
func notAbsolute(raw string) error {
	if end := strings.IndexAny(raw, "/?#@"); end > 0 && raw[end] == '@' {
		return targetError("not_absolute", "must be the address of a page, and this looks like an e-mail address")
	}
	return errNotAbsolute
}

// wrongScheme returns the error of a target with a scheme that is neither http nor https and not listed, which after
// follows. If that is a port, as in localhost:8080/x, the scheme is meant as a host.
func (s Schemes) wrongScheme(scheme, after string) error {
	port := after
	if end := strings.IndexAny(after, "/?#"); end >= 0 {
		port = after[:end]
	}
	if port != "" && isDigits(port) {
		return errNotAbsolute
	}
	return s.errScheme(scheme)
}

// isScheme reports whether s is a scheme by RFC 3986, 3.1.
func isScheme(s string) bool {
	for i, c := range []byte(s) {
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		if !letter && (i == 0 || !('0' <= c && c <= '9' || c == '+' || c == '-' || c == '.')) {
			return false
		}
	}
	return s != ""
}

// A host is the authority of a target.
type host struct {
	text     string     // as stored: ASCII, lower case; an IPv6 literal with its brackets
	portText string     // as sent: "", ":" or ":" and digits
	addr     netip.Addr // of an IP literal, in whatever spelling; not valid for a name
}

// parseAuthority splits an authority into host and port, converts the host to its stored form and
// checks both.
func parseAuthority(authority string) (h host, err error) {
	if strings.Contains(authority, "@") {
		return host{}, targetError("user_info", "must not hold a user name or password")
	}
	if strings.HasPrefix(authority, "[") {
		return parseIPv6Authority(authority)
	}
	name, port, found := strings.Cut(authority, ":")
	if found {
		h.portText = ":" + port
	}
	if !validPort(h.portText) {
		return host{}, errPort
	}
	if h.text, err = asciiHost(name); err != nil {
		return host{}, err
	}
	if last := lastLabel(h.text); endsInNumber(last) {
		if h.addr, err = parseIPv4(h.text); err != nil {
			return host{}, err
		}
	}
	return h, nil
}

var errHost = targetError("host", "must have a host that is a name, an IPv4 address or an IPv6 address in brackets")

func parseIPv6Authority(authority string) (host, error) {
	end := strings.IndexByte(authority, ']')
	if end < 0 {
		return host{}, errHost
	}
	h := host{text: strings.ToLower(authority[:end+1]), portText: authority[end+1:]}
	addr, err := netip.ParseAddr(authority[1:end])
	if err != nil || !addr.Is6() || addr.Zone() != "" {
		return host{}, errHost
	}
	if !validPort(h.portText) {
		return host{}, errPort
	}
	h.addr = addr.Unmap()
	return h, nil
}

var errPort = targetError("port", "must have a port from 0 to 65535, or none")

// validPort reports whether text is empty, or ":" and digits up to 65535. ":" alone is the default
// port, as in RFC 3986 and in browsers.
func validPort(text string) bool {
	digits, found := strings.CutPrefix(text, ":")
	if !found {
		return text == ""
	}
	n := 0
	for _, c := range []byte(digits) {
		if c < '0' || c > '9' {
			return false
		}
		if n = n*10 + int(c-'0'); n > 65535 {
			return false
		}
	}
	return true
}

// Limits of a name in the DNS (RFC 1035, 2.3.4), in text form without the trailing dot.
const (
	maxNameBytes  = 253
	maxLabelBytes = 63
)

// toASCII is UTS 46 as browsers apply it to addresses: non-transitional, without the hyphen rules
// (names such as volans-.github.io and r3---sn-x.example exist), without STD 3 (underscores exist).
// asciiHost decides which bytes the result may have.
var toASCII = idna.New(idna.MapForLookup(), idna.Transitional(false), idna.BidiRule(), idna.CheckHyphens(false),
	idna.StrictDomainName(false))

// asciiHost returns name in lower-case ASCII. IDNA does not check an ASCII name: an xn-- label of a
// newer Unicode than ours must pass, and an xn-- label that is not valid does no harm, except those
// that validName refuses.
func asciiHost(name string) (string, error) {
	if name == "" {
		return "", targetError("host", "must have a host")
	}
	if isASCII(name) {
		name = strings.ToLower(name)
	} else {
		if len(name) > maxNameBytes*utf8.UTFMax { // the time for punycode grows with the square of its length
			return "", errHost
		}
		ascii, err := toASCII.ToASCII(name)
		if err != nil {
			return "", targetError("host", "must have a host name that IDNA allows")
		}
		name = ascii
	}
	if !validName(name) {
		return "", errHost
	}
	return name, nil
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// validName reports whether name is dot-separated labels of [0-9a-z_-], with at most one trailing
// dot. It runs after IDNA's mapping, which can produce any ASCII byte ('％' becomes '%').
//
// An xn-- label that ends in a hyphen encodes ASCII alone, which needs no punycode:
// "xn--localhost-". In today's UTS 46 it is an error, but a client that follows an older one would
// go to the host that the letters name, past all our checks.
func validName(name string) bool {
	name = strings.TrimSuffix(name, ".")
	if len(name) > maxNameBytes {
		return false
	}
	for label := range strings.SplitSeq(name, ".") {
		if len(label) == 0 || len(label) > maxLabelBytes || strings.HasPrefix(label, "xn--") && label[len(label)-1] == '-' {
			return false
		}
		for _, c := range []byte(label) {
			if !('a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '_') {
				return false
			}
		}
	}
	return true
}

// lastLabel returns the part after the last dot of name, not counting a trailing dot.
func lastLabel(name string) string {
	name = strings.TrimSuffix(name, ".")
	return name[strings.LastIndexByte(name, '.')+1:]
}

// endsInNumber reports whether a host with this last label is an IPv4 address in some spelling,
// never a name (URL Standard, "ends in a number checker"): digits only, or 0x and hex digits only.
func endsInNumber(last string) bool {
	if hex, found := strings.CutPrefix(last, "0x"); found {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return strings.Trim(last, "0123456789") == ""
}

// parseIPv4 parses an IPv4 address as browsers and inet_aton do (URL Standard, "IPv4 parser"): one
// to four numbers, decimal, octal (0…) or hex (0x…), of which the last fills all remaining bytes.
func parseIPv4(name string) (netip.Addr, error) {
	name = strings.TrimSuffix(name, ".")
	parts := strings.Count(name, ".") + 1
	if parts > 4 {
		return netip.Addr{}, errHost
	}
	var addr uint64
	for more := true; more; {
		var part string
		part, name, more = strings.Cut(name, ".")
		n, ok := parseIPv4Number(part)
		limit := uint64(1) << 8
		if !more {
			limit = 1 << (8 * (5 - parts))
		}
		if !ok || n >= limit {
			return netip.Addr{}, errHost
		}
		addr = addr*limit + n
	}
	return netip.AddrFrom4([4]byte{byte(addr >> 24), byte(addr >> 16), byte(addr >> 8), byte(addr)}), nil
}

func parseIPv4Number(s string) (n uint64, ok bool) {
	base, digits := uint64(10), s
	if hex, found := strings.CutPrefix(s, "0x"); found {
		base, digits = 16, hex // "0x" alone is 0
	} else if len(s) > 1 && s[0] == '0' {
		base, digits = 8, s[1:]
	}
	for _, c := range []byte(digits) {
		d := uint64(strings.IndexByte("0123456789abcdef", c))
		if d >= base { // not a digit: −1 is the largest uint64
			return 0, false
		}
		if n = n*base + d; n > 1<<32 {
			return 0, false
		}
	}
	return n, s != ""
}

// name returns the text of a host without its trailing dot.
func (h host) name() string { return strings.TrimSuffix(h.text, ".") }

// port returns the port of h. It returns 80 for the default ports of both http and https, because a
// server commonly has both and redirects from one to the other.
func (h host) port() int {
	digits := strings.TrimPrefix(h.portText, ":")
	if digits == "" {
		return 80
	}
	port, _ := strconv.Atoi(digits) // validPort has checked it
	if port == 443 {
		return 80
	}
	return port
}

// hostOf returns the host and port of an address.
func hostOf(address string) (host, error) {
	_, authority, _, err := Schemes(nil).splitTarget(address)
	if err != nil {
		return host{}, err
	}
	return parseAuthority(authority)
}

// isDigits reports whether text has only decimal digits. An empty text has.
func isDigits(text string) bool { return strings.Trim(text, "0123456789") == "" }
