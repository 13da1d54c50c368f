package account

import (
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"shunt/engine"
)

const maxLocalPartBytes = 64 // RFC 5321, 4.5.3.1.1

// domains converts the name of a domain to its ASCII form (UTS #46, not transitional, as browsers
// do).
var domains = idna.New(idna.MapForLookup(), idna.BidiRule(), idna.StrictDomainName(true), idna.VerifyDNSLength(true))

// normalizeEmail returns an e-mail address in its stored form: lower case, the domain in its ASCII
// form. The part before the @ is a dot-atom (RFC 5322, 3.2.3); quoted strings and comments are
// refused. Two addresses that differ in case become one. A mail server may treat them as two, but
// no known server does.
func normalizeEmail(text string) (string, error) {
	text = strings.TrimSpace(text)
	at := strings.LastIndexByte(text, '@')
	if at < 0 {
		return "", emailError("must be an e-mail address, such as ann@example.com")
	}
	local := strings.ToLower(text[:at])
	if len(local) > maxLocalPartBytes || !isDotAtom(local) {
		return "", emailError("must have at most 64 letters, digits and .!#$%&'*+/=?^_`{|}~- before the @")
	}
	domain, err := domains.ToASCII(text[at+1:])
	if err != nil || !utf8.ValidString(text) || strings.HasSuffix(domain, ".") {
		return "", emailError("must have a domain name after the @")
	}
	if email := local + "@" + strings.ToLower(domain); len(email) <= maxEmailBytes {
		return email, nil
	}
	return "", emailError("must be at most 254 bytes")
}

func emailError(message string) error { return fieldError("email", "invalid", message) }

// isDotAtom reports whether text is atoms with single dots between them.
func isDotAtom(text string) bool {
	for atom := range strings.SplitSeq(text, ".") {
		if atom == "" {
			return false
		}
		for _, c := range []byte(atom) {
			letter := 'a' <= c && c <= 'z' || '0' <= c && c <= '9'
			if !letter && strings.IndexByte("!#$%&'*+/=?^_`{|}~-", c) < 0 {
				return false
			}
		}
	}
	return true
}

// LoginName returns the stored form of a name given at a login, "" if no user can have it.
func LoginName(text string) string {
	name, _ := loginName(text)
	return name
}

// loginName returns the stored form of a user's name: an e-mail address, or AdminName.
func loginName(text string) (string, bool) {
	if strings.EqualFold(strings.TrimSpace(text), AdminName) {
		return AdminName, true
	}
	if len(text) > 2*maxEmailBytes { // no stored name is that long
		return "", false
	}
	if email, err := normalizeEmail(text); err == nil {
		return email, true
	}
	return strings.ToLower(text), true // no user has it, but the limits of logins count it like any other name
}

func validRole(r Role) error {
	if slices.Contains(Roles, r) {
		return nil
	}
	return engine.FieldError{Field: "role", Code: "unknown", Message: "must be admin, member or viewer"}
}
