package wire

import (
	"net/netip"
	"slices"
)

// This file decides which connections are kept when there are too many. A listener has a fixed
// number of slots, and each address may take a fixed number of them. When either number is used up,
// the connection that has been idle for longest is evicted for the new one: a browser or a proxy
// opens another when it needs one.

// evictFraction is the divisor of the slots that are freed at once: 1/64 of them, because scanning
// every connection is expensive.
const evictFraction = 64

// idleEnough is how long a connection must have been idle to be evicted, on the sweeper's clock.
// Two ticks of that clock are more than one second, so a connection between two requests of a busy
// client is never evicted.
const idleEnough = 2

// An addressConns is the list of open connections of one address.
type addressConns struct {
	first *conn
	n     int
}

// countedAddress returns the address that a connection of peer is counted for: the peer's own, or
// its /64 if it is IPv6. Trusted proxies are not counted, because they speak for many clients;
// neither is this machine.
func (l *listener) countedAddress(peer netip.Addr) (addr netip.Addr, counted bool) {
	if l.limits.PerAddress <= 0 || peer.IsLoopback() || l.limits.Exempt != nil && l.limits.Exempt.Trust(peer) {
		return netip.Addr{}, false
	}
	return NetworkOf(peer), true
}

// NetworkOf returns the address that clients are counted by: an IPv4 address itself, and the /64 of
// an IPv6 address, because a household or a phone has a whole /64.
func NetworkOf(addr netip.Addr) netip.Addr {
	if addr.Is6() && !addr.Is4In6() {
		prefix, _ := addr.Prefix(64) // fails only above 128 bits
		return prefix.Addr()
	}
	return addr
}

// joinLocked counts c for addr. If addr already has its share of connections, the one that has been
// idle for longest is evicted, and the caller must close it. joinLocked returns false if none has
// been idle for long enough.
func (l *listener) joinLocked(c *conn, addr netip.Addr) (ok bool, evicted *conn) {
	of := l.mu.addresses[addr]
	if of.n >= l.limits.PerAddress {
		if evicted = of.longestIdle(l.seconds.Load()); evicted == nil {
			return false, nil
		}
		evicted.evicting = true
		l.leaveLocked(evicted)
		of = l.mu.addresses[addr]
	}
	c.address, c.next = addr, of.first
	if of.first != nil {
		of.first.prev = c
	}
	l.mu.addresses[addr] = addressConns{c, of.n + 1}
	return true, evicted
}

// leaveLocked undoes joinLocked, if c is counted. The table has only addresses with connections.
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

// longestIdle returns the connection that has been idle for longest, nil if none has been idle for
// long enough.
func (of addressConns) longestIdle(now int64) (longest *conn) {
	least := now - idleEnough
	for c := of.first; c != nil; c = c.next {
		if since, busy := c.noted(); !busy && since <= least {
			longest, least = c, since-1
		}
	}
	return longest
}

// pickIdleLocked returns the connections to evict: up to 1/evictFraction of all slots, those that
// have been idle for longest first.
func (l *listener) pickIdleLocked(now int64) []*conn {
	type idleConn struct {
		c     *conn
		since int64
	}
	var idle []idleConn
	for c := range l.mu.conns {
		if since, busy := c.noted(); !busy && !c.evicting && now-since >= idleEnough {
			idle = append(idle, idleConn{c, since})
		}
	}
	slices.SortFunc(idle, func(a, b idleConn) int { return int(a.since - b.since) })
	chosen := make([]*conn, 0, max(1, cap(l.slots)/evictFraction))
	for _, i := range idle[:min(len(idle), cap(chosen))] {
		i.c.evicting = true
		chosen = append(chosen, i.c)
	}
	return chosen
}

// evictIdle closes idle connections when all slots are taken. If it finds none, it does not look
// again before the next sweep.
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
