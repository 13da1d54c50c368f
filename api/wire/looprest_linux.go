package wire

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
func (lp *loop) keep(r *row, w *rest) bool {
	lp.letGo(r)
	w.held = int64(cap(w.in) + cap(w.out))
	r.rest = w
	if lp.l.held.Add(w.held) > maxHeldBytes && w.held > heldShare {
		lp.l.limits.Counts.Late.Add(1)
		lp.reset(r)
		return false
	}
	return true
}

// letGo forgets what waited on r, if anything did.
func (lp *loop) letGo(r *row) {
	if r.rest != nil {
		lp.l.held.Add(-r.rest.held)
		r.rest = nil
	}
}

// clone returns a copy of b that takes no more memory than b needs.
func clone(b []byte) []byte { return append([]byte(nil), b...) }
