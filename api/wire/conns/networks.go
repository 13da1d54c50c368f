package conns

import (
	"net/netip"
	"time"
)

// A firstHead is the place of a row in heads.
type firstHead struct {
	of         *network // nil: it is not there
	since      time.Duration
	next, prev uint16 // rows of the same network, newer and older; 0: none
}

// A network has connections in heads.
type network struct {
	addr           netip.Addr
	n              int
	oldest, newest uint16   // rows
	next, prev     *network // those that hold as many
}

// heads is guarded by the listener's lock.
type heads struct {
	n        int
	networks map[netip.Addr]*network
	by       []*network // by number of connections: the first network with that many
	most     int        // the largest number with a network; 0: there is none
}

// wideNetworkOf returns the network by which first heads are counted: the /48 of an IPv6 address, because
// anybody gets one, and the /24 of an IPv4 address.
func wideNetworkOf(addr netip.Addr) netip.Addr {
	bits := 48
	if addr = addr.Unmap(); addr.Is4() {
		bits = 24
	}
	prefix, _ := addr.Prefix(bits) // fails only for an invalid address, whose network is none
	return prefix.Addr()
}

// put adds of to the list of networks with as many connections.
func (h *heads) put(of *network) {
	for len(h.by) <= of.n {
		h.by = append(h.by, nil)
	}
	if of.next = h.by[of.n]; of.next != nil {
		of.next.prev = of
	}
	h.by[of.n] = of
	h.most = max(h.most, of.n)
}

// take undoes put.
func (h *heads) take(of *network) {
	if of.prev == nil {
		h.by[of.n] = of.next
	} else {
		of.prev.next = of.next
	}
	if of.next != nil {
		of.next.prev = of.prev
	}
	of.next, of.prev = nil, nil
}
