package wire

import (
	"net/netip"
	"sync/atomic"
	"unsafe"
)

// This file is the table of a listener's connections: one row each, whoever owns the connection, a
// loop or fasthttp. So the limits, the sweep and the counts are the same for both, and a connection
// keeps its row when it changes hands.

// A row is what a listener knows of a connection. It has the size of a cache line, so that loops do
// not contend for one. Rows never move; one that is free is used again.
type row struct {
	state atomic.Uint32 // since << stateBits | busy | inHead | heard; written by the owner
	owner atomic.Int32  // the number of a loop, byServer, or free
	moved atomic.Uint32 // KiB of an answer that the client has read since it became busy; of a loop

	// Of the owner.
	fd       int32 // of a loop
	requests uint32
	flags    uint8
	addr     [16]byte // of the other end; IPv4 is mapped
	finished bool     // the first head has ended, or a certificate was shown; written with the lock held
	rest     *rest    // of a loop; nil: nothing waits

	_ [2 * (8 - unsafe.Sizeof(uintptr(0)))]byte // on a 32-bit machine the two pointers are shorter

	// Guarded by the listener's lock.
	counted    bool   // for its address
	evicting   bool   // it was chosen for eviction
	number     uint16 // of the row itself, from 1 on
	next, prev uint16 // of the same address; 0: none
	conn       *conn  // of fasthttp; nil: a loop has it
}

// A rest is what waits on a connection of a loop.
type rest struct {
	in     []byte // the beginning of a head, or requests that were not looked at yet
	out    []byte // answers that the client must read first
	sent   int64  // bytes of answers that the client has read while others waited
	pieces int    // in which the head in in has come
	held   int64  // bytes of memory, counted in listener.held
}

// Owners of a row that are not loops.
const (
	free     = -1
	byServer = -2 // fasthttp's
)

// The bits of a row's state.
const (
	stateBusy   = 1 << iota // a request has begun and is not answered
	stateInHead             // a head has begun and not ended, or nothing has come yet
	stateHeard              // the client has sent something
	stateBits   = 3
)

// note records that a request has begun (busy) or has been answered, at now on the sweeper's clock.
func (r *row) note(busy bool, now int64) {
	for {
		old := r.state.Load()
		next := uint32(now)<<stateBits | old&(stateInHead|stateHeard)
		if busy {
			next |= stateBusy
		}
		if old == next || r.state.CompareAndSwap(old, next) {
			return
		}
	}
}

// mark sets or clears one bit of the state.
func (r *row) mark(bit uint32, on bool) {
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

// noted returns the last record of note and its time, on the sweeper's clock.
func (r *row) noted() (since int64, busy bool) {
	state := r.state.Load()
	return int64(state >> stateBits), state&stateBusy != 0
}

func (r *row) inHead() bool { return r.state.Load()&stateInHead != 0 }
func (r *row) heard() bool  { return r.state.Load()&stateHeard != 0 }

// movedBytes returns how many bytes of the body and of the answer have moved since r became busy.
// The listener's lock must be held.
func (r *row) movedBytes() int64 {
	if r.conn != nil {
		return r.conn.moved.Load()
	}
	return int64(r.moved.Load()) << 10
}

// peer returns the address of the other end, as AddrOf does.
func (r *row) peer() netip.Addr { return netip.AddrFrom16(r.addr).Unmap() }

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
	rows  [rowsPerChunk]row
	heads [rowsPerChunk]firstHead
}

// at returns the row with that number. It needs no lock, because rows never move.
func (t *rows) at(number uint16) *row {
	return &t.chunks[(number-1)/rowsPerChunk].Load().rows[(number-1)%rowsPerChunk]
}

// head returns the place in heads of the row with that number.
func (t *rows) head(number uint16) *firstHead {
	return &t.chunks[(number-1)/rowsPerChunk].Load().heads[(number-1)%rowsPerChunk]
}

// take returns a free row. No more than MaxConnections must be taken.
func (t *rows) take() *row {
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
		r.number = uint16(t.made*rowsPerChunk + i + 1)
		r.owner.Store(free)
		t.free = append(t.free, r.number)
	}
	t.chunks[t.made].Store(chunk)
	t.made++
}

// release gives r back.
func (t *rows) release(r *row) {
	t.unlist(r)
	if r.evicting {
		t.evicting--
	}
	r.owner.Store(free)
	r.conn, r.evicting = nil, false
	t.free = append(t.free, r.number)
	t.used--
}

// all calls visit with every row that is used.
func (t *rows) all(visit func(r *row)) {
	for c := range t.made {
		chunk := t.chunks[c].Load()
		for i := range chunk.rows {
			if r := &chunk.rows[i]; r.owner.Load() != free {
				visit(r)
			}
		}
	}
}
