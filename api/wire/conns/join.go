package conns

import (
	"net/netip"
	"time"
)

// This file is how connections come and go.

// TakeSlot waits for a free slot. It returns false if closed is closed first.
func (t *Table) TakeSlot(closed <-chan struct{}) bool {
	if t.TrySlot() {
		return true
	}
	t.Waiting.Add(1)
	defer t.Waiting.Add(-1)
	for {
		t.MakeRoom()
		select {
		case t.slots <- struct{}{}:
			return true
		case <-closed:
			return false
		case <-time.After(RoomPoll):
		}
	}
}

// Join returns the row of a new connection of peer. It returns nil if peer's address has its share
// of connections.
func (t *Table) Join(peer netip.Addr, owner int32) *Row {
	addr, counted := t.countedAddress(peer)
	t.mu.Lock()
	var evicted *Row
	if counted && t.mu.addresses[addr].n >= t.Limits.PerAddress {
		if evicted = t.evictOfLocked(addr); evicted == nil {
			t.mu.Unlock()
			return nil
		}
	}
	crowded := t.crowdedLocked(peer, counted)
	t.wakeLocked()
	r := t.mu.take()
	r.addr, r.Requests, r.Flags, r.Rest, r.finished = peer.As16(), 0, 0, nil, false
	r.state.Store(uint32(t.Seconds.Load())<<stateBits | stateBusy | StateInHead)
	r.Moved.Store(0)
	if r.counted = counted; counted {
		t.joinLocked(r, addr)
	}
	t.mu.list(r, t.age())
	r.Owner.Store(owner)
	t.mu.Unlock()
	t.evict(evicted)
	t.evict(crowded)
	return r
}

// Forget undoes Join and frees the slot of the connection. It must be called once.
func (t *Table) Forget(r *Row) {
	t.mu.Lock()
	t.leaveLocked(r)
	t.mu.release(r)
	t.mu.Unlock()
	<-t.slots
	if t.Waiting.Load() > 0 {
		t.TellAll(Accept)
	}
}

// Serve makes c, which fasthttp gets, the connection of r.
func (t *Table) Serve(r *Row, c *Served) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r.conn = c
	t.spareLocked(r)
}

// Renew records that a request of c has begun. It returns false if the row no longer belongs to c.
func (t *Table) Renew(c *Served) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c.Row.conn != c {
		return false
	}
	c.Row.Note(true, t.Seconds.Load())
	return true
}

// DropIdle closes the connections of fasthttp on which no request is under way.
func (t *Table) DropIdle() { t.dropWhere(func(*Row) bool { return true }) }

// DropKept closes those of them that have been answered.
func (t *Table) DropKept() { t.dropWhere((*Row).Heard) }

func (t *Table) dropWhere(which func(*Row) bool) {
	t.EachServed(func(c *Served) {
		if _, busy := c.Row.Noted(); !busy && which(c.Row) {
			c.drop()
		}
	})
}

// CloseAll closes every connection.
func (t *Table) CloseAll() {
	t.EachServed((*Served).drop)
	t.TellAll(CloseAll)
}
