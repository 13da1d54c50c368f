package target

import (
	"fmt"
	"slices"
	"strings"
)

// Schemes are the schemes of targets that an operator has listed, in lower case; nil: http and https.
type Schemes []string

// WebSchemes are http and https where no operator can list others.
var WebSchemes = Schemes{"https", "http"}

// AnyScheme is for targets that links have already, which were checked when they were written.
var AnyScheme = Schemes{anyScheme}

const anyScheme = "*" // no scheme has this name

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

// opaque reports whether raw has a listed scheme that is neither http nor https and no host, such as mailto:a@b.test.
func (s Schemes) opaque(raw string) bool {
	scheme, after, _ := strings.Cut(raw, ":")
	return s.other(scheme) && !strings.HasPrefix(after, "//")
}

// other reports whether a scheme is listed, and is neither http nor https.
func (s Schemes) other(scheme string) bool { return !isWebScheme(scheme) && s.has(scheme) }

func (s Schemes) has(scheme string) bool {
	if len(s) == 1 && s[0] == anyScheme {
		return isScheme(scheme)
	}
	return slices.ContainsFunc(s, func(listed string) bool { return strings.EqualFold(listed, scheme) })
}

func isWebScheme(scheme string) bool {
	return strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https")
}

// check returns err, the error of a target, or that of a web scheme that is not listed.
func (s Schemes) check(raw string, err error) error {
	if s == nil {
		return err
	}
	scheme, _, _ := strings.Cut(raw, ":")
	if err == nil && !s.has(scheme) {
		return s.errScheme(scheme)
	}
	return err
}

// errScheme returns the error of a target with a scheme that s does not have. It names the setting that can change
// this, if that takes such a scheme. One with a dot is meant as a host.
func (s Schemes) errScheme(scheme string) error {
	message := "must be http or https"
	if s != nil && !s.onlyWeb() {
		message = "must begin with one of " + strings.Join(s, ", ")
	}
	if !s.onlyWeb() && !strings.Contains(scheme, ".") && !slices.Contains(refusedSchemes, strings.ToLower(scheme)) {
		message += " (an operator can allow more with --target-schemes)"
	}
	return targetError(codeScheme, message)
}

// onlyWeb reports whether s is WebSchemes: ParseSchemes returns nil for a list of the same.
func (s Schemes) onlyWeb() bool { return len(s) == 2 && s.has("http") && s.has("https") }

// checkOpaque returns the error of a target without a host. Nothing of it is rewritten, and no rule about hosts applies
// to it.
func checkOpaque(raw string) error {
	if err := checkTargetBytes(raw); err != nil {
		return err
	}
	if _, after, _ := strings.Cut(raw, ":"); after == "" {
		return targetError("host", "must have something after the scheme")
	}
	return nil
}

// HasHost reports whether a target as Policy.Parse returns it has a host.
func HasHost[Bytes string | []byte](target Bytes) bool {
	for i := 0; i+2 < len(target); i++ {
		if target[i] == ':' {
			return target[i+1] == '/' && target[i+2] == '/'
		}
	}
	return false
}
