package wire

import (
	"net/netip"
	"time"
)

// This file limits connections whose first request has not come, because an attacker can open many at little
// cost: silent ones, half a head, half a handshake. They are evicted first when slots run out, the oldest of
// the network with most of them. They never take the slot of a client that was answered: they may have an
// eighth of the slots, so a slot that such a client gives up goes to the next client, not to them.
// Every step is O(1): networks are in lists by how many connections they hold, which changes by one.

const (
	addressesOfNetwork = 4                     // whose share of connections the first heads of a /48 or /24 have
	headShare          = 8                     // the divisor of the slots that answered clients leave to first heads
	ripeFor            = 50 * time.Millisecond // how old a first head must be to be evicted, so that bytes that have come are read first
	roomPoll           = 25 * time.Millisecond // how often to look for a slot while a connection waits
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

// list adds r, the newest, at since.
func (t *rows) list(r *row, since time.Duration) {
	addr := wideNetworkOf(r.peer())
	of := t.heads.networks[addr]
	if of == nil {
		of = &network{addr: addr}
		t.heads.networks[addr] = of
	} else {
		t.heads.take(of)
	}
	*t.head(r.number) = firstHead{of: of, since: since, prev: of.newest}
	if of.newest == 0 {
		of.oldest = r.number
	} else {
		t.head(of.newest).next = r.number
	}
	of.newest = r.number
	of.n++
	t.heads.n++
	t.heads.put(of)
}

// unlist undoes list, if r is there.
func (t *rows) unlist(r *row) {
	h := t.head(r.number)
	of := h.of
	if of == nil {
		return
	}
	t.heads.take(of)
	if h.prev == 0 {
		of.oldest = h.next
	} else {
		t.head(h.prev).next = h.next
	}
	if h.next == 0 {
		of.newest = h.prev
	} else {
		t.head(h.next).prev = h.prev
	}
	*h = firstHead{}
	of.n--
	t.heads.n--
	if of.n == 0 {
		delete(t.heads.networks, of.addr)
	} else {
		t.heads.put(of)
	}
	if t.heads.by[t.heads.most] == nil {
		t.heads.most-- // of has that many now, or no network is left
	}
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

// finish records that the first request of r has come, or that its client has shown a certificate. The owner of r
// may call it repeatedly.
func (l *listener) finish(r *row) {
	if !r.finished {
		l.finishFirst(r)
	}
}

func (l *listener) finishFirst(r *row) {
	l.mu.Lock()
	r.finished = true
	l.mu.unlist(r)
	if r.conn == nil {
		l.spareLocked(r)
	}
	full := l.mu.used-l.mu.heads.n-l.mu.evicting > cap(l.slots)-cap(l.slots)/headShare
	l.mu.Unlock()
	if full {
		l.evictIdle()
	}
}

// oldestLocked chooses the oldest first head of a network, which the caller must drop.
func (l *listener) oldestLocked(of *network) *row {
	r := l.mu.at(of.oldest)
	l.chooseLocked(r)
	return r
}

// crowdedLocked chooses a first head to evict for a new connection of peer. It returns nil if neither limit is
// exceeded: that of peer's network, if it is counted (the share of addressesOfNetwork addresses), and that of all
// first heads.
func (l *listener) crowdedLocked(peer netip.Addr, counted bool) *row {
	h := &l.mu.heads
	if of := h.networks[wideNetworkOf(peer)]; counted && of != nil && of.n >= addressesOfNetwork*l.limits.PerAddress {
		return l.oldestLocked(of)
	}
	if l.limits.FirstHeads > 0 && h.n >= l.limits.FirstHeads {
		return l.oldestLocked(h.by[h.most])
	}
	return nil
}

// makeRoom evicts connections when all slots are taken: first heads, or idle ones if there are no first heads.
func (l *listener) makeRoom() {
	var chosen []*row
	l.mu.Lock()
	h := &l.mu.heads
	none := h.n+l.mu.evicting == 0
	for ripe := l.age() - ripeFor; h.n > 0 && len(chosen) < l.evictedAtOnce(); {
		of := h.by[h.most]
		if l.mu.head(of.oldest).since > ripe {
			break
		}
		chosen = append(chosen, l.oldestLocked(of))
	}
	l.mu.Unlock()
	if none {
		l.evictIdle()
	}
	l.limits.Counts.Evicted.Add(uint64(len(chosen)))
	for _, r := range chosen {
		l.drop(r)
	}
}

// hurryLocked sets how long first heads may take until the next sweep: the full time if half of the slots are
// free, and less the fewer are free.
func (l *listener) hurryLocked() {
	slots, first := cap(l.slots), l.patience.Head
	if l.patience.First > 0 {
		first = l.patience.First
	}
	free := max(0, slots-l.mu.used)
	l.first.Store(int64(min(first, max(SweepInterval, first*time.Duration(2*free)/time.Duration(max(1, slots))))))
}
