package target

import (
	"cmp"
	"fmt"
	"strings"
	"unicode/utf8"

	"shunt/engine/internal/ascii"
	"shunt/engine/internal/limits"
)

// Policy decides which targets a link may lead to. It is applied when a link is written, never when
// it is loaded or followed. The zero value refuses only malformed targets.
type Policy struct {
	// OwnOrigins are our own addresses, such as "https://sho.rt": a link that leads back to one is
	// a loop. If only our own network can reach an origin (InOwnNetwork), every spelling of this
	// machine at its port is ours too: localhost, 127.0.0.1, 0.0.0.0, [::] and so on.
	OwnOrigins Origins
	// OwnHost reports whether a name in lower-case ASCII is a host of ours at the usual ports, and at those of
	// OwnOrigins; nil: none is. It must be fast.
	OwnHost func(name string) bool
	// RefusePrivate refuses addresses that the public internet does not route to one host, such as
	// private, loopback and multicast ones, in every spelling and however an IPv6 address carries
	// them, and names such as localhost.
	RefusePrivate bool
	// Blocked lists targets to refuse with code CodeBlocked; nil: none.
	Blocked *BlockList
	// Schemes are those that a target may have; nil: http and https.
	Schemes Schemes
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
//
// A target of another scheme that the policy lists may lack a host, such as mailto:a@b.test: nothing of it is
// rewritten, and no rule about hosts applies to it. One with a host is read like all others.
func (p Policy) Parse(raw string) (target string, err error) {
	if h, ok := plainHost(raw); ok && p.Schemes == nil {
		return p.checked(h, raw)
	}
	return p.parseAny(raw)
}

// parseAny is Parse of a target that need not be plain.
func (p Policy) parseAny(raw string) (string, error) {
	if p.Schemes.opaque(raw) {
		if err := cmp.Or(checkOpaque(raw), p.checkText(raw)); err != nil {
			return "", err
		}
		return raw, nil
	}
	target, h, err := p.Schemes.parse(raw)
	if err = p.Schemes.check(raw, err); err != nil {
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
func (s Schemes) parse(raw string) (target string, h host, err error) {
	if err := checkTargetBytes(raw); err != nil {
		return "", host{}, err
	}
	scheme, authority, rest, err := s.splitTarget(raw)
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
	}
	return p.checkText(target)
}

// checkText is the part of check that is not about the host.
func (p Policy) checkText(target string) error {
	switch {
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
	errTargetTooLongSent = targetError("too_long", fmt.Sprintf("must be at most %d bytes as browsers are sent it, with %%XX for each byte beyond ASCII", limits.MaxTargetBytes))
)

func checkTargetBytes(raw string) error {
	if raw == "" {
		return targetError("required", "must not be empty")
	}
	if len(raw) > limits.MaxTargetBytes {
		return errTargetTooLong
	}
	if i := strings.IndexFunc(raw, forbiddenInTarget); i >= 0 {
		return targetError("characters", fmt.Sprintf(
			"must not have spaces, backslashes or invisible characters, and character %d is one", 1+utf8.RuneCountInString(raw[:i])))
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

// own reports whether h is the host and port of one of our own origins. It ignores the scheme,
// because a port serves only one.
func (p Policy) own(h host) bool {
	if len(p.OwnOrigins) == 0 {
		return false
	}
	port := h.port()
	named := !h.addr.IsValid() && p.OwnHost != nil && p.OwnHost(h.name())
	if named && port == 80 { // 443 as well: see host.port
		return true
	}
	for i := range p.OwnOrigins {
		own := &p.OwnOrigins[i]
		if own.port == port && (named || h.sameAs(own.host) || own.inOwnNetwork && h.thisMachine()) {
			return true
		}
	}
	return false
}
