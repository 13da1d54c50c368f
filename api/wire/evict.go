package wire

import (
	"net/netip"
	"slices"
)

// Who gets a connection when there are many: a listener has so many slots, and each address so many of them. A connection
// that has waited longest for its next request makes room for one that has something to ask, since a browser or a proxy
// opens another one when it needs it.

// evictFraction is the share of all slots that is cleared at a time: looking at every connection is dear.
const evictFraction = 64

// idleEnough is for how many of the sweeper's seconds a connection must have been idle to make room. Two of them are more than
// one of time: one between two requests of a client that goes on is never cut.
const idleEnough = 2

// An addressConns is the open connections of an address.
type addressConns struct {
	first *conn
	n     int
}

// countedAddress returns what c's connections are counted by: the peer's address, an IPv6 one's /64. Trusted proxies speak
// for many, and this machine is no stranger: they are not counted.
func (l *listener) countedAddress(peer netip.Addr) (addr netip.Addr, counted bool) {
	if l.limits.PerAddress <= 0 || peer.IsLoopback() || l.limits.Exempt != nil && l.limits.Exempt.Trust(peer) {
		return netip.Addr{}, false
	}
	return NetworkOf(peer), true
}

// NetworkOf returns what stands for an address where clients are counted: an IPv6 one's /64, because a household or a phone has
// all of it.
func NetworkOf(addr netip.Addr) netip.Addr {
	if addr.Is6() && !addr.Is4In6() {
		prefix, _ := addr.Prefix(64) // 64 is no error
		return prefix.Addr()
	}
	return addr
}

// joinLocked counts c for its address. If that has its share already, c takes the place of the one that has been idle for
// longest; if none is, there is no room.
func (l *listener) joinLocked(c *conn, addr netip.Addr) (room bool, replaced *conn) {
	of := l.mu.addresses[addr]
	if of.n >= l.limits.PerAddress {
		if replaced = of.longestIdle(l.seconds.Load()); replaced == nil {
			return false, nil
		}
		replaced.evicting = true
		l.leaveLocked(replaced)
		of = l.mu.addresses[addr]
	}
	c.address, c.next = addr, of.first
	if of.first != nil {
		of.first.prev = c
	}
	l.mu.addresses[addr] = addressConns{c, of.n + 1}
	return true, replaced
}

// leaveLocked ends that c is counted for its address, if it is. The table has only addresses with connections.
func (l *listener) leaveLocked(c *conn) {
	if !c.address.IsValid() {
		return
	}
	of := l.mu.addresses[c.address]
	if c.prev == nil {
		of.first = c.next
	} else {
		c.prev.next = c.next
	}
	if c.next != nil {
		c.next.prev = c.prev
	}
	if of.n--; of.n == 0 {
		delete(l.mu.addresses, c.address)
	} else {
		l.mu.addresses[c.address] = of
	}
	c.address, c.next, c.prev = netip.Addr{}, nil, nil
}

func (of addressConns) longestIdle(now int64) (longest *conn) {
	least := now - idleEnough
	for c := of.first; c != nil; c = c.next {
		if since, busy := c.noted(); !busy && since <= least {
			longest, least = c, since-1
		}
	}
	return longest
}

// pickIdleLocked returns the connections that make room for others, a batch of those that have been idle for longest.
func (l *listener) pickIdleLocked(now int64) []*conn {
	type waiting struct {
		c     *conn
		since int64
	}
	var idle []waiting
	for c := range l.mu.conns {
		if since, busy := c.noted(); !busy && !c.evicting && now-since >= idleEnough {
			idle = append(idle, waiting{c, since})
		}
	}
	slices.SortFunc(idle, func(a, b waiting) int { return int(a.since - b.since) })
	chosen := make([]*conn, 0, max(1, cap(l.slots)/evictFraction))
	for _, w := range idle[:min(len(idle), cap(chosen))] {
		w.c.evicting = true
		chosen = append(chosen, w.c)
	}
	return chosen
}

// evictIdle closes connections that do nothing when all slots are taken. It looks for them once a second, in the sweep,
// if there are none.
func (l *listener) evictIdle() {
	now := l.seconds.Load()
	if l.fruitless.Load() == now {
		return
	}
	l.mu.Lock()
	idle := l.pickIdleLocked(now)
	l.mu.Unlock()
	if len(idle) == 0 {
		l.fruitless.Store(now)
	}
	for _, c := range idle {
		c.drop()
	}
	l.limits.Counts.Evicted.Add(uint64(len(idle)))
}
