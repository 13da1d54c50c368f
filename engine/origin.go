package engine

// SameOrigin reports whether address begins with origin, by the rule with which TargetPolicy finds
// loops: in any spelling of the host, all names of loopback being one, and whether http or https,
// if the ports are equal or both are the default.
func SameOrigin(origin, address string) bool {
	_, authority, _, err := splitTarget(address)
	if err != nil {
		return false
	}
	h, err := parseAuthority(authority)
	return err == nil && TargetPolicy{OwnOrigins: []string{origin}}.own(h)
}
