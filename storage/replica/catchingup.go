package replica

import (
	"sync"
	"time"
)

// CatchingUp says whether a node that has started still lacks what was written while it was off, so that others should
// redirect. It ends for good when the node has everything, or when nothing more comes: then this node must
// redirect with the links that it has. Any goroutine may call its methods.
type CatchingUp struct {
	Patience time.Duration // how long nothing may come

	mu      sync.Mutex
	ended   bool
	copies  bool
	applied uint64
	at      time.Time // when something had come, as far as Look has seen
}

// Copies notes that the node takes a copy, until ended is called.
func (c *CatchingUp) Copies() (ended func()) {
	c.set(true)
	return func() { c.set(false) }
}

func (c *CatchingUp) set(copies bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.copies, c.at = copies, time.Now()
}

// Look looks how far r is; nil: it has not begun.
func (c *CatchingUp) Look(r *Replica) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return false
	}
	if c.at.IsZero() || c.copies {
		c.at = time.Now()
	}
	if r != nil {
		if _, c.ended = r.Lag(); c.ended {
			return false
		}
		if applied, _ := r.Sequences(); applied != c.applied {
			c.applied, c.at = applied, time.Now()
		}
	}
	c.ended = time.Since(c.at) > c.Patience
	return !c.ended
}
