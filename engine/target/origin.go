package target

// SameOrigin reports whether address begins with origin: whether they have the same host, in any
// spelling, and equal ports, or both the default port of http or https. All names of this machine
// are one host. They are not the host of any other origin, because that may be on another machine.
// (Policy, which detects loops, refuses more.)
func SameOrigin(origin, address string) bool {
	own, err := hostOf(origin)
	if err != nil {
		return false
	}
	h, err := hostOf(address)
	return err == nil && own.port() == h.port() && (h.sameAs(own) || own.thisMachine() && h.thisMachine())
}
