package loop

import (
	"shunt/api/wire/conns"
)

// This file is what a loop keeps for a connection besides its row, and the limits of that.

// The memory of rests. A client that sends 16 KiB of requests and reads nothing makes its loop keep
// these and as many bytes of answers, and one answer more: 43 KiB at most. 32,768 such clients would
// take 1.4 GB. So beyond maxHeldBytes, a client gets heldShare and no more: what all connections
// hold is less than 128 + 32,768 / 128 = 384 MiB, and clients that send a head of ordinary size in
// pieces notice nothing.
const (
	maxHeldBytes = 128 << 20
	heldShare    = 8 << 10
)

// keep makes w what waits on r. It resets the connection and returns false if there is no memory for
// that.
func (lp *loop) keep(r *conns.Row, w *conns.Rest) bool {
	lp.letGo(r)
	w.Held = int64(cap(w.In) + cap(w.Out))
	r.Rest = w
	if lp.t.Held.Add(w.Held) > maxHeldBytes && w.Held > heldShare {
		lp.t.Limits.Counts.Late.Add(1)
		lp.reset(r)
		return false
	}
	return true
}

// letGo forgets what waited on r, if anything did.
func (lp *loop) letGo(r *conns.Row) {
	if r.Rest != nil {
		lp.t.Held.Add(-r.Rest.Held)
		r.Rest = nil
	}
}

// clone returns a copy of b that takes no more memory than b needs.
func clone(b []byte) []byte { return append([]byte(nil), b...) }
