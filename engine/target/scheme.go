package target

import (
	"fmt"
	"slices"
	"strings"

	"shunt/engine/invalid"
)

// Schemes are the schemes of targets that an operator has listed, in lower case; nil: http and https.
type Schemes []string

// refusedSchemes can never be listed: browsers run what such an address says, show it as a page, or read files with it.
var refusedSchemes = []string{"about", "blob", "data", "file", "filesystem", "javascript", "vbscript", "view-source"}

// ParseSchemes reads the names of schemes (RFC 3986, section 3.1), without colons and separated by commas. It returns
// an error if there is none, or one that no target may have.
func ParseSchemes(list string) (s Schemes, err error) {
	for name := range strings.SplitSeq(list, ",") {
		name = strings.ToLower(strings.TrimSpace(name))
		switch {
		case !isScheme(name):
			return nil, fmt.Errorf("%q is not the name of a scheme, such as mailto", name)
		case slices.Contains(refusedSchemes, name):
			return nil, fmt.Errorf("%s is a scheme that no target may have: browsers could run what such an address says", name)
		case !slices.Contains(s, name):
			s = append(s, name)
		}
	}
	if len(s) == 2 && s.has("http") && s.has("https") {
		return nil, nil // as without a list
	}
	return s, nil
}

// other reports whether raw begins with a listed scheme that is neither http nor https, and a colon.
func (s Schemes) other(raw string) bool {
	scheme, _, found := strings.Cut(raw, ":")
	return found && !isWebScheme(scheme) && s.has(scheme)
}

func (s Schemes) has(scheme string) bool {
	return slices.ContainsFunc(s, func(listed string) bool { return strings.EqualFold(listed, scheme) })
}

func isWebScheme(scheme string) bool {
	return strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https")
}

// check returns err, the error of a target, or that of a scheme that is not listed.
func (s Schemes) check(raw string, err error) error {
	if s == nil {
		return err
	}
	scheme, _, _ := strings.Cut(raw, ":")
	if wrong, ok := err.(invalid.FieldError); ok && wrong.Code == codeScheme || err == nil && !s.has(scheme) {
		return targetError(codeScheme, "must begin with one of "+strings.Join(s, ", "))
	}
	return err
}

// checkOther returns the error of a target of another scheme than http and https. Such a target need not have a host,
// so nothing of it is rewritten, and no rule about hosts applies to it.
func checkOther(raw string) error {
	if err := checkTargetBytes(raw); err != nil {
		return err
	}
	if _, after, _ := strings.Cut(raw, ":"); strings.Trim(after, "/") == "" {
		return targetError("host", "must have something after the scheme")
	}
	return nil
}
