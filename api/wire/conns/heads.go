package conns

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
)

// Finish records that the first request of r has come, or that its client has shown a certificate. The owner of r
// may call it repeatedly.
func (t *Table) Finish(r *Row) {
	if !r.finished {
		t.finishFirst(r)
	}
}

func (t *Table) finishFirst(r *Row) {
	t.mu.Lock()
	r.finished = true
	t.mu.unlist(r)
	if r.conn == nil {
		t.spareLocked(r)
	}
	full := t.mu.used-t.mu.heads.n-t.mu.evicting > cap(t.slots)-cap(t.slots)/headShare
	t.mu.Unlock()
	if full {
		t.EvictIdle()
	}
}

// oldestLocked chooses the oldest first head of a network, which the caller must drop.
func (t *Table) oldestLocked(of *network) *Row {
	r := t.mu.at(of.oldest)
	t.chooseLocked(r)
	return r
}

// crowdedLocked chooses a first head to evict for a new connection of peer. It returns nil if neither limit is
// exceeded: that of peer's network, if it is counted (the share of addressesOfNetwork addresses), and that of all
// first heads.
func (t *Table) crowdedLocked(peer netip.Addr, counted bool) *Row {
	h := &t.mu.heads
	if of := h.networks[wideNetworkOf(peer)]; counted && of != nil && of.n >= addressesOfNetwork*t.Limits.PerAddress {
		return t.oldestLocked(of)
	}
	if t.Limits.FirstHeads > 0 && h.n >= t.Limits.FirstHeads {
		return t.oldestLocked(h.by[h.most])
	}
	return nil
}

// MakeRoom evicts connections when all slots are taken: first heads, or idle ones if there are no first heads.
func (t *Table) MakeRoom() {
	var chosen []*Row
	t.mu.Lock()
	h := &t.mu.heads
	none := h.n+t.mu.evicting == 0
	for ripe := t.age() - ripeFor; h.n > 0 && len(chosen) < t.evictedAtOnce(); {
		of := h.by[h.most]
		if t.mu.head(of.oldest).since > ripe {
			break
		}
		chosen = append(chosen, t.oldestLocked(of))
	}
	t.mu.Unlock()
	if none {
		t.EvictIdle()
	}
	t.Limits.Counts.Evicted.Add(uint64(len(chosen)))
	for _, r := range chosen {
		t.drop(r)
	}
}

// hurryLocked sets how long first heads may take until the next sweep: the full time if half of the slots are
// free, and less the fewer are free.
func (t *Table) hurryLocked() {
	slots, first := cap(t.slots), t.Patience.Head
	if t.Patience.First > 0 {
		first = t.Patience.First
	}
	free := max(0, slots-t.mu.used)
	t.First.Store(int64(min(first, max(SweepInterval, first*time.Duration(2*free)/time.Duration(max(1, slots))))))
}
