package target

import (
	"net/netip"
	"slices"
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
