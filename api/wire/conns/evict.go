package conns

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

// countedAddress returns the address that a connection of peer is counted for: the peer's own, or
// its /64 if it is IPv6. Trusted proxies are not counted, because they speak for many clients;
// neither is this machine.
func (t *Table) countedAddress(peer netip.Addr) (addr netip.Addr, counted bool) {
	if t.Limits.PerAddress <= 0 || peer.IsLoopback() || t.Limits.Exempt != nil && t.Limits.Exempt.Trust(peer) {
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
func (t *Table) joinLocked(r *Row, addr netip.Addr) {
	of := t.mu.addresses[addr]
	r.next, r.prev = of.first, 0
	if of.first != 0 {
		t.mu.at(of.first).prev = r.Number
	}
	t.mu.addresses[addr] = addressRows{r.Number, of.n + 1}
}

// leaveLocked undoes joinLocked, if r is counted. The table has only addresses with connections.
func (t *Table) leaveLocked(r *Row) {
	if !r.counted {
		return
	}
	addr := NetworkOf(r.Peer())
	of := t.mu.addresses[addr]
	if r.prev == 0 {
		of.first = r.next
	} else {
		t.mu.at(r.prev).next = r.next
	}
	if r.next != 0 {
		t.mu.at(r.next).prev = r.prev
	}
	if of.n--; of.n == 0 {
		delete(t.mu.addresses, addr)
	} else {
		t.mu.addresses[addr] = of
	}
	r.counted, r.next, r.prev = false, 0, 0
}

// evictOfLocked takes the connection of addr that has been idle for longest out of the list; the
// caller must close it. It returns nil if none has been idle for long enough.
func (t *Table) evictOfLocked(addr netip.Addr) (longest *Row) {
	least := t.Seconds.Load() - idleEnough
	for number := t.mu.addresses[addr].first; number != 0; number = t.mu.at(number).next {
		r := t.mu.at(number)
		if since, busy := r.Noted(); !busy && since <= least {
			longest, least = r, since-1
		}
	}
	if longest != nil {
		t.chooseLocked(longest)
		t.leaveLocked(longest)
	}
	return longest
}

// chooseLocked chooses r for eviction. The caller must drop it.
func (t *Table) chooseLocked(r *Row) {
	r.evicting = true
	t.mu.evicting++
	t.mu.unlist(r)
}

// ConfirmEviction reports whether the connection of r is to be closed, because it was chosen for
// eviction. If a request has begun meanwhile, the connection is kept. Only its loop may ask.
func (t *Table) ConfirmEviction(r *Row) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, busy := r.Noted(); busy && r.finished {
		t.spareLocked(r)
	}
	return r.evicting
}

// spareLocked keeps r if it was chosen for eviction, and counts it again.
func (t *Table) spareLocked(r *Row) {
	if !r.evicting {
		return
	}
	r.evicting = false
	t.mu.evicting--
	if !r.finished {
		t.mu.list(r, t.age())
	}
	if addr, counted := t.countedAddress(r.Peer()); counted && !r.counted {
		r.counted = true
		t.joinLocked(r, addr)
	}
}

// pickIdleLocked returns the connections to evict: up to 1/evictFraction of all slots, those that
// have been idle for longest first.
func (t *Table) pickIdleLocked(now int64) []*Row {
	type idleRow struct {
		r     *Row
		since int64
	}
	var idle []idleRow
	t.mu.all(func(r *Row) {
		if since, busy := r.Noted(); !busy && !r.evicting && now-since >= idleEnough {
			idle = append(idle, idleRow{r, since})
		}
	})
	slices.SortFunc(idle, func(a, b idleRow) int { return cmp.Compare(a.since, b.since) })
	chosen := make([]*Row, 0, t.evictedAtOnce())
	for _, i := range idle[:min(len(idle), cap(chosen))] {
		t.chooseLocked(i.r)
		chosen = append(chosen, i.r)
	}
	return chosen
}

func (t *Table) evictedAtOnce() int { return max(1, cap(t.slots)/evictFraction) }

// EvictIdle closes idle connections when all slots that they may have are taken. If it finds none, it does not look
// again before the next sweep.
func (t *Table) EvictIdle() {
	now := t.Seconds.Load()
	if t.fruitless.Load() == now {
		return
	}
	t.mu.Lock()
	idle := t.pickIdleLocked(now)
	t.mu.Unlock()
	if len(idle) == 0 {
		t.fruitless.Store(now)
	}
	for _, r := range idle {
		t.drop(r)
	}
	t.Limits.Counts.Evicted.Add(uint64(len(idle)))
}

// evict drops r and counts that, unless it is nil.
func (t *Table) evict(r *Row) {
	if r != nil {
		t.Limits.Counts.Evicted.Add(1)
		t.drop(r)
	}
}

// drop closes the connection of r, which was chosen for eviction.
func (t *Table) drop(r *Row) {
	t.mu.Lock()
	c, owner, still := r.conn, r.Owner.Load(), r.evicting
	t.mu.Unlock()
	switch {
	case !still: // it was closed meanwhile, and the row may be another connection's
	case c != nil:
		c.drop()
	default:
		t.Tell(owner, Evict, r)
	}
}
