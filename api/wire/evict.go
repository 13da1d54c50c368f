package wire

import (
	"cmp"
	"net/netip"
	"slices"
)

// This file decides which connections are kept when there are too many. A listener has a fixed
// number of slots, and each address may take a fixed number of them. When either number is used up,
// the connection that has been idle for longest is evicted for the new one: a browser or a proxy
// opens another when it needs one. Those that have not sent a request yet go first (heads.go).

// evictFraction is the divisor of the slots that are freed at once: 1/64 of them, because scanning
// every connection is expensive.
const evictFraction = 64

// idleEnough is how long a connection must have been idle to be evicted, on the sweeper's clock.
// Two ticks of that clock are more than one second, so a connection between two requests of a busy
// client is never evicted.
const idleEnough = 2

// An addressRows is the list of open connections of one address.
type addressRows struct {
	first uint16 // the number of a row
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

// joinLocked counts r for addr.
func (l *listener) joinLocked(r *row, addr netip.Addr) {
	of := l.mu.addresses[addr]
	r.next, r.prev = of.first, 0
	if of.first != 0 {
		l.mu.at(of.first).prev = r.number
	}
	l.mu.addresses[addr] = addressRows{r.number, of.n + 1}
}

// leaveLocked undoes joinLocked, if r is counted. The table has only addresses with connections.
func (l *listener) leaveLocked(r *row) {
	if !r.counted {
		return
	}
	addr := NetworkOf(r.peer())
	of := l.mu.addresses[addr]
	if r.prev == 0 {
		of.first = r.next
	} else {
		l.mu.at(r.prev).next = r.next
	}
	if r.next != 0 {
		l.mu.at(r.next).prev = r.prev
	}
	if of.n--; of.n == 0 {
		delete(l.mu.addresses, addr)
	} else {
		l.mu.addresses[addr] = of
	}
	r.counted, r.next, r.prev = false, 0, 0
}

// evictOfLocked takes the connection of addr that has been idle for longest out of the list; the
// caller must close it. It returns nil if none has been idle for long enough.
func (l *listener) evictOfLocked(addr netip.Addr) (longest *row) {
	least := l.seconds.Load() - idleEnough
	for number := l.mu.addresses[addr].first; number != 0; number = l.mu.at(number).next {
		r := l.mu.at(number)
		if since, busy := r.noted(); !busy && since <= least {
			longest, least = r, since-1
		}
	}
	if longest != nil {
		l.chooseLocked(longest)
		l.leaveLocked(longest)
	}
	return longest
}

// chooseLocked chooses r for eviction. The caller must drop it.
func (l *listener) chooseLocked(r *row) {
	r.evicting = true
	l.mu.evicting++
	l.mu.unlist(r)
}

// confirmEviction reports whether the connection of r is to be closed, because it was chosen for
// eviction. If a request has begun meanwhile, the connection is kept. Only its loop may ask.
func (l *listener) confirmEviction(r *row) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, busy := r.noted(); busy && r.finished {
		l.spareLocked(r)
	}
	return r.evicting
}

// spareLocked keeps r if it was chosen for eviction, and counts it again.
func (l *listener) spareLocked(r *row) {
	if !r.evicting {
		return
	}
	r.evicting = false
	l.mu.evicting--
	if !r.finished {
		l.mu.list(r, l.age())
	}
	if addr, counted := l.countedAddress(r.peer()); counted && !r.counted {
		r.counted = true
		l.joinLocked(r, addr)
	}
}

// pickIdleLocked returns the connections to evict: up to 1/evictFraction of all slots, those that
// have been idle for longest first.
func (l *listener) pickIdleLocked(now int64) []*row {
	type idleRow struct {
		r     *row
		since int64
	}
	var idle []idleRow
	l.mu.all(func(r *row) {
		if since, busy := r.noted(); !busy && !r.evicting && now-since >= idleEnough {
			idle = append(idle, idleRow{r, since})
		}
	})
	slices.SortFunc(idle, func(a, b idleRow) int { return cmp.Compare(a.since, b.since) })
	chosen := make([]*row, 0, l.evictedAtOnce())
	for _, i := range idle[:min(len(idle), cap(chosen))] {
		l.chooseLocked(i.r)
		chosen = append(chosen, i.r)
	}
	return chosen
}

func (l *listener) evictedAtOnce() int { return max(1, cap(l.slots)/evictFraction) }

// evictIdle closes idle connections when all slots that they may have are taken. If it finds none, it does not look
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
	for _, r := range idle {
		l.drop(r)
	}
	l.limits.Counts.Evicted.Add(uint64(len(idle)))
}
