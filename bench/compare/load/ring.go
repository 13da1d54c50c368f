package load

// A ring is a queue of indexes of connections. It has room for all of them.
type ring struct {
	slots []int32
	first int
	n     int
}

func newRing(size int) ring { return ring{slots: make([]int32, size)} }

func (r *ring) empty() bool { return r.n == 0 }

func (r *ring) push(i int32) {
	at := r.first + r.n
	if at >= len(r.slots) {
		at -= len(r.slots)
	}
	r.slots[at] = i
	r.n++
}

func (r *ring) pop() int32 {
	i := r.slots[r.first]
	if r.first++; r.first == len(r.slots) {
		r.first = 0
	}
	r.n--
	return i
}
