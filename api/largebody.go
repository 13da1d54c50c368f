package api

import "sync/atomic"

// maxLargeBodies is how many bodies of more than the usual size come at a time. fasthttp makes room for a body of a known length
// before its first byte, so they take 256 MiB a listener, whoever may send how many.
const maxLargeBodies = 32

// chunkedLargeBytes is what makes a chunked body a large one. fasthttp refuses what is more than usual, of whom it does not
// know, when it has read a buffer beyond that; nobody else gets so far.
const chunkedLargeBytes = maxBodyBytes + 2*maxHeaderBytes

// largeBodies are the places of a listener for large bodies.
type largeBodies struct{ taken atomic.Int32 }

// A largePlace is the place that a connection has, or has not, for a large body. The goroutine that reads takes it and gives it
// back when the request has been answered or refused; whoever closes the connection gives it back, too.
type largePlace struct {
	of    *largeBodies // nil: there are as many as you like
	taken atomic.Bool
}

// take tells whether there is a place; the connection has it then.
func (p *largePlace) take() bool {
	if p.of == nil || p.taken.Load() {
		return true
	}
	if p.of.taken.Add(1) > maxLargeBodies {
		p.of.taken.Add(-1)
		return false
	}
	p.taken.Store(true)
	return true
}

func (p *largePlace) leave() {
	if p.taken.Swap(false) {
		p.of.taken.Add(-1)
	}
}
