package target

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Origins are addresses of servers, such as "https://sho.rt", in a form that targets are quickly
// compared with.
type Origins []origin

type origin struct {
	host         host
	port         int
	inOwnNetwork bool
}

// ParseOrigins reads addresses of servers. It leaves out what no target could lead to.
func ParseOrigins(addresses ...string) (all Origins) {
	for _, address := range addresses {
		if h, err := hostOf(address); err == nil {
			all = append(all, origin{h, h.port(), h.inOwnNetwork()})
		}
	}
	return all
}

// own reports whether h is the host and port of one of our own origins. It ignores the scheme,
// because a port serves only one.
func (p Policy) own(h host) bool {
	if len(p.OwnOrigins) == 0 {
		return false
	}
	port := h.port()
	for i := range p.OwnOrigins {
		own := &p.OwnOrigins[i]
		if own.port == port && (h.sameAs(own.host) || own.inOwnNetwork && h.thisMachine()) {
			return true
		}
	}
	return false
}

// sameAs reports whether h is a spelling of other, or carries its address.
func (h host) sameAs(other host) bool {
	if h.addr.IsValid() {
		return slices.Contains(carried(h.addr), other.addr)
	}
	return h.name() == other.name()
}

// inOwnNetwork reports whether only our own network can reach h.
func (h host) inOwnNetwork() bool {
	return h.private() || !h.addr.IsValid() && !strings.Contains(h.name(), ".")
}

// InOwnNetwork reports whether only our own network can reach authority, a host with or without a
// port: whether it is what Policy.RefusePrivate refuses, or a name without a dot, such as
// "intranet".
func InOwnNetwork(authority string) bool {
	h, err := parseAuthority(authority)
	return err == nil && h.inOwnNetwork()
}

// thisMachine reports whether h is a name of this machine, a loopback address, or an unspecified
// address, which connects to loopback.
func (h host) thisMachine() bool {
	if !h.addr.IsValid() {
		return machineName(h.name())
	}
	return slices.ContainsFunc(carried(h.addr), func(addr netip.Addr) bool {
		return addr.IsLoopback() || addr.IsUnspecified()
	})
}

// LoopbackHost reports whether authority, a host with or without a port, can only be this machine:
// a loopback address in any spelling, localhost, or a name below it (RFC 6761, 6.3). Unlike
// thisMachine it leaves out names that a resolver may look up elsewhere.
func LoopbackHost(authority string) bool {
	h, err := parseAuthority(authority)
	return err == nil && (h.addr.IsLoopback() || !h.addr.IsValid() && lastLabel(h.text) == "localhost")
}

// HostName returns the host of authority, which may have a port, in one form for all of its
// spellings: an address in its usual form without brackets, or a name in lower-case ASCII without a
// trailing dot.
func HostName(authority string) (string, error) {
	h, err := parseAuthority(authority)
	if err != nil {
		return "", err
	}
	if h.addr.IsValid() {
		return h.addr.String(), nil
	}
	return h.name(), nil
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
