package conns

import (
	"net/netip"
	"sync/atomic"
	"time"
	"unsafe"
)

// This file is the table of a listener's connections: one row each, whoever owns the connection, a
// loop or fasthttp. So the limits, the sweep and the counts are the same for both, and a connection
// keeps its row when it changes hands.

// A Row is what a listener knows of a connection. It has the size of a cache line, so that loops do
// not contend for one. Rows never move; one that is free is used again.
type Row struct {
	state atomic.Uint32 // since << stateBits | busy | inHead | heard; written by the owner
	Owner atomic.Int32  // the number of a loop, ByServer, or free
	Moved atomic.Uint32 // KiB of an answer that the client has read since it became busy; of a loop

	// Of the owner.
	FD       int32 // of a loop
	Requests uint32
	Flags    uint8
	addr     [16]byte // of the other end; IPv4 is mapped
	finished bool     // the first head has ended, or a certificate was shown; written with the lock held
	Rest     *Rest    // of a loop; nil: nothing waits

	_ [2 * (8 - unsafe.Sizeof(uintptr(0)))]byte // on a 32-bit machine the two pointers are shorter

	// Guarded by the listener's lock.
	counted    bool    // for its address
	evicting   bool    // it was chosen for eviction
	Number     uint16  // of the row itself, from 1 on
	next, prev uint16  // of the same address; 0: none
	conn       *Served // of fasthttp; nil: a loop has it
}

// A Rest is what waits on a connection of a loop.
type Rest struct {
	In     []byte // the beginning of a head, or requests that were not looked at yet
	Out    []byte // answers that the client must read first
	Sent   int64  // bytes of answers that the client has read while others waited
	Pieces int    // in which the head in In has come
	Held   int64  // bytes of memory, counted in Table.Held
}

// Owners of a row that are not loops.
const (
	free     = -1
	ByServer = -2 // fasthttp's
)

// The bits of a row's state.
const (
	stateBusy   = 1 << iota // a request has begun and is not answered
	StateInHead             // a head has begun and not ended, or nothing has come yet
	StateHeard              // the client has sent something
	stateBits   = 3
)

// Note records that a request has begun (busy) or has been answered, at now on the sweeper's clock.
func (r *Row) Note(busy bool, now int64) {
	for {
		old := r.state.Load()
		next := uint32(now)<<stateBits | old&(StateInHead|StateHeard)
		if busy {
			next |= stateBusy
		}
		if old == next || r.state.CompareAndSwap(old, next) {
			return
		}
	}
}

// Mark sets or clears one bit of the state.
func (r *Row) Mark(bit uint32, on bool) {
	for {
		old := r.state.Load()
		next := old &^ bit
		if on {
			next |= bit
		}
		if old == next || r.state.CompareAndSwap(old, next) {
			return
		}
	}
}

// Noted returns the last record of note and its time, on the sweeper's clock.
func (r *Row) Noted() (since int64, busy bool) {
	state := r.state.Load()
	return int64(state >> stateBits), state&stateBusy != 0
}

// InHead reports whether a head has begun and not ended, or nothing has come yet.
func (r *Row) InHead() bool { return r.state.Load()&StateInHead != 0 }

// Heard reports whether the client has sent something.
func (r *Row) Heard() bool { return r.state.Load()&StateHeard != 0 }

// movedBytes returns how many bytes of the body and of the answer have moved since r became busy.
// The listener's lock must be held.
func (r *Row) movedBytes() int64 {
	if r.conn != nil {
		return r.conn.Moved.Load()
	}
	return int64(r.Moved.Load()) << 10
}

// Peer returns the address of the other end, as AddrOf does.
func (r *Row) Peer() netip.Addr { return netip.AddrFrom16(r.addr).Unmap() }

// Rows are allocated by chunks. MaxConnections rows have numbers of 16 bits.
const (
	rowsPerChunk = 256
	maxChunks    = MaxConnections / rowsPerChunk
)

// rows is a table of rows. It is guarded by the listener's lock, but for at.
type rows struct {
	chunks   [maxChunks]atomic.Pointer[chunkOfRows]
	made     int      // chunks
	free     []uint16 // numbers of free rows
	used     int
	evicting int // rows
	heads    heads
}

// Rows and heads are apart, because loops use the rows without the lock.
type chunkOfRows struct {
	rows  [rowsPerChunk]Row
	heads [rowsPerChunk]firstHead
}

// at returns the row with that number. It needs no lock, because rows never move.
func (t *rows) at(number uint16) *Row {
	return &t.chunks[(number-1)/rowsPerChunk].Load().rows[(number-1)%rowsPerChunk]
}

// head returns the place in heads of the row with that number.
func (t *rows) head(number uint16) *firstHead {
	return &t.chunks[(number-1)/rowsPerChunk].Load().heads[(number-1)%rowsPerChunk]
}

// take returns a free row. No more than MaxConnections must be taken.
func (t *rows) take() *Row {
	if len(t.free) == 0 {
		t.grow()
	}
	last := len(t.free) - 1
	r := t.at(t.free[last])
	t.free = t.free[:last]
	t.used++
	return r
}

func (t *rows) grow() {
	chunk := new(chunkOfRows)
	for i := rowsPerChunk - 1; i >= 0; i-- { // so that the first is used first
		r := &chunk.rows[i]
		r.Number = uint16(t.made*rowsPerChunk + i + 1)
		r.Owner.Store(free)
		t.free = append(t.free, r.Number)
	}
	t.chunks[t.made].Store(chunk)
	t.made++
}

// release gives r back.
func (t *rows) release(r *Row) {
	t.unlist(r)
	if r.evicting {
		t.evicting--
	}
	r.Owner.Store(free)
	r.conn, r.evicting = nil, false
	t.free = append(t.free, r.Number)
	t.used--
}

// all calls visit with every row that is used.
func (t *rows) all(visit func(r *Row)) {
	for c := range t.made {
		chunk := t.chunks[c].Load()
		for i := range chunk.rows {
			if r := &chunk.rows[i]; r.Owner.Load() != free {
				visit(r)
			}
		}
	}
}

// list adds r, the newest, at since.
func (t *rows) list(r *Row, since time.Duration) {
	addr := wideNetworkOf(r.Peer())
	of := t.heads.networks[addr]
	if of == nil {
		of = &network{addr: addr}
		t.heads.networks[addr] = of
	} else {
		t.heads.take(of)
	}
	*t.head(r.Number) = firstHead{of: of, since: since, prev: of.newest}
	if of.newest == 0 {
		of.oldest = r.Number
	} else {
		t.head(of.newest).next = r.Number
	}
	of.newest = r.Number
	of.n++
	t.heads.n++
	t.heads.put(of)
}

// unlist undoes list, if r is there.
func (t *rows) unlist(r *Row) {
	h := t.head(r.Number)
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
