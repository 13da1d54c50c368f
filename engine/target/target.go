package target

import (
	"fmt"
	"net/netip"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"shunt/engine/internal/ascii"
	"shunt/engine/internal/limits"
	"shunt/engine/invalid"
)

// Policy decides which targets a link may lead to. It is applied when a link is written, never when
// it is loaded or followed. The zero value refuses only malformed targets.
type Policy struct {
	// OwnOrigins are our own addresses, such as "https://sho.rt": a link that leads back to one is
	// a loop. If only our own network can reach an origin (InOwnNetwork), every spelling of this
	// machine at its port is ours too: localhost, 127.0.0.1, 0.0.0.0, [::] and so on.
	OwnOrigins Origins
	// RefusePrivate refuses addresses that the public internet does not route to one host, such as
	// private, loopback and multicast ones, in every spelling and however an IPv6 address carries
	// them, and names such as localhost.
	RefusePrivate bool
	// Blocked lists targets to refuse with code CodeBlocked; nil: none.
	Blocked *BlockList
}

// CodeBlocked is the code of the FieldError for a target on the block list.
const CodeBlocked = "blocked"

// Parse returns raw in the form that is stored, or a FieldError of field "url". Package ascii makes
// the Location of it.
//
// A target is absolute, http or https, has a host and at most MaxTargetBytes bytes in either form,
// and holds no user-info, no control bytes, no spaces and no backslashes. Its host is converted to lower case
// and, if it is not ASCII, to its ASCII (punycode) form by UTS 46, as browsers do it. Nothing else
// is rewritten: the scheme's spelling, the port (":" without digits too), the path,
// percent-escapes, query and fragment stay byte for byte; bytes beyond ASCII are allowed there if
// they are valid UTF-8. Names are never looked up. Parse returns a target that Parse returned
// unchanged.
func (p Policy) Parse(raw string) (target string, err error) {
	if h, ok := plainHost(raw); ok {
		return p.checked(h, raw)
	}
	return p.parseAny(raw)
}

// parseAny is Parse of a target that need not be plain.
func (p Policy) parseAny(raw string) (string, error) {
	target, h, err := parse(raw)
	if err != nil {
		return "", err
	}
	return p.checked(h, target)
}

// checked returns target, of host h, unless the policy refuses it.
func (p Policy) checked(h host, target string) (string, error) {
	if err := p.check(h, target); err != nil {
		return "", err
	}
	return target, nil
}

// parse returns raw in the form that is stored, and its host, or the FieldError of a malformed target.
func parse(raw string) (target string, h host, err error) {
	if err := checkTargetBytes(raw); err != nil {
		return "", host{}, err
	}
	scheme, authority, rest, err := splitTarget(raw)
	if err != nil {
		return "", host{}, err
	}
	if h, err = parseAuthority(authority); err != nil {
		return "", host{}, err
	}
	return raw[:len(scheme)+len("://")] + h.text + h.portText + rest, h, nil
}

// check returns the FieldError of a well-formed target that the policy refuses.
func (p Policy) check(h host, target string) error {
	switch {
	case p.RefusePrivate && h.private():
		return targetError("private", "must not lead to a private, loopback, link-local or reserved address, unless the server is started with --private-targets allow")
	case p.own(h):
		return targetError("own_origin", "must not lead back to this server")
	case len(target) > limits.MaxTargetBytes:
		return errTargetTooLong
	case len(target) > limits.MaxTargetBytes/3 && ascii.Bytes(target) > limits.MaxTargetBytes: // a byte becomes three
		return errTargetTooLongSent
	case p.Blocked.BlocksText(target):
		return targetError(CodeBlocked, "must not lead to an address that is blocked here")
	}
	return nil
}

var (
	errTargetTooLong     = targetError("too_long", fmt.Sprintf("must be at most %d bytes", limits.MaxTargetBytes))
	errTargetTooLongSent = targetError("too_long", fmt.Sprintf("must be at most %d bytes once it is percent-encoded, as clients are sent it", limits.MaxTargetBytes))
)

func targetError(code, message string) invalid.FieldError {
	return invalid.FieldError{Field: "url", Code: code, Message: message}
}

func checkTargetBytes(raw string) error {
	if raw == "" {
		return targetError("required", "must not be empty")
	}
	if len(raw) > limits.MaxTargetBytes {
		return errTargetTooLong
	}
	if i := strings.IndexFunc(raw, forbiddenInTarget); i >= 0 {
		return targetError("characters", fmt.Sprintf("must not hold controls, spaces or backslashes (at byte %d)", i))
	}
	if !utf8.ValidString(raw) {
		return targetError("characters", "must be valid UTF-8")
	}
	return nil
}

// forbiddenInTarget reports whether r is a C0 control, a space, DEL, a backslash (browsers take it
// for a slash), or a C1 control.
func forbiddenInTarget(r rune) bool {
	return r <= ' ' || r == '\\' || 0x7f <= r && r <= 0x9f
}

// splitTarget splits raw into scheme, authority and the rest, which begins with /, ? or # or is
// empty.
func splitTarget(raw string) (scheme, authority, rest string, err error) {
	scheme, after, found := strings.Cut(raw, ":")
	if !found || !isScheme(scheme) {
		return "", "", "", notAbsolute(raw)
	}
	if !strings.EqualFold(scheme, "http") && !strings.EqualFold(scheme, "https") {
		return "", "", "", wrongScheme(after)
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

var errNotAbsolute = targetError("not_absolute", "must be an absolute address, with http:// or https:// before it")

// notAbsolute returns the error of a target without a scheme.
func notAbsolute(raw string) error {
	if end := strings.IndexAny(raw, "/?#@"); end > 0 && raw[end] == '@' {
		return targetError("not_absolute", "must be the address of a page, and this looks like an e-mail address")
	}
	return errNotAbsolute
}

// wrongScheme returns the error of a target with another scheme than http and https, which after
// follows. If that is a port, as in localhost:8080/x, the scheme is meant as a host.
func wrongScheme(after string) error {
	port := after
	if end := strings.IndexAny(after, "/?#"); end >= 0 {
		port = after[:end]
	}
	if port != "" && isDigits(port) {
		return errNotAbsolute
	}
	return targetError("scheme", "must be http or https")
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
