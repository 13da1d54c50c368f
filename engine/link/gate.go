package link

import (
	"sync"

	"shunt/engine/internal/errs"
)

// In a cluster one node leads, and only it may write. A write decides by what it reads in the index
// and the store, so it must not begin before this node has applied everything that earlier leaders
// wrote, and must not end in a later leadership: in between another node may have given its code to
// somebody else. So every write enters the gate before it reads, and leaves it when its commit has
// ended, however late. The invariants:
//
//  1. The gate is open only while this node leads.
//  2. When it opens, no write is inside. The store refuses the writes of an earlier leadership, so
//     they end soon.
//
// Without a cluster the gate does not exist.
type gate struct {
	exists bool

	mu struct {
		sync.Mutex
		open   bool
		inside int
		empty  chan struct{} // closed when inside becomes 0; nil unless Lead waits for that
	}
}

// enter admits a write, which must leave. It returns ErrNotLeader if this node does not lead. A write
// may enter more than once.
func (g *gate) enter() error {
	if !g.exists {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.mu.open {
		return errs.ErrNotLeader
	}
	g.mu.inside++
	return nil
}

func (g *gate) leave() {
	if !g.exists {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.mu.inside--; g.mu.inside == 0 && g.mu.empty != nil {
		close(g.mu.empty)
		g.mu.empty = nil
	}
}

// emptied returns nil if no write is inside, or else a channel that is closed when there is none.
func (g *gate) emptied() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.mu.inside == 0 {
		return nil
	}
	if g.mu.empty == nil {
		g.mu.empty = make(chan struct{})
	}
	return g.mu.empty
}

// state reports whether the gate is open, and whether a write is inside.
func (g *gate) state() (open, used bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.mu.open, g.mu.inside > 0
}

func (g *gate) set(open bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.mu.open = open
}
