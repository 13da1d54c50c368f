package engine

// SameOrigin reports whether address, such as that of a link, is one of origin. The rule is the one by which TargetPolicy finds
// loops: the spelling of a host and a default port make no difference, nor does http instead of https.
func SameOrigin(origin, address string) bool {
	scheme, authority, _, err := splitTarget(address)
	if err != nil {
		return false
	}
	h, err := parseAuthority(authority)
	return err == nil && TargetPolicy{OwnOrigins: []string{origin}}.own(scheme, h)
}
