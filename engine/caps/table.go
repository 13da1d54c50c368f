package caps

import "sync"

// Cap is what all nodes know of the cap of a link.
type Cap struct {
	Generation uint64 // the version of the link at which it was opened, or closed
	Used       uint64 // hits; 0 unless Open
	Open       bool
}

// Table is the caps of links, by the ids of these. Any goroutine may call its methods.
type Table struct {
	mu   sync.RWMutex
	caps map[uint64]Cap
}

// Put makes c the cap of a link.
func (t *Table) Put(id uint64, c Cap) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.caps == nil {
		t.caps = make(map[uint64]Cap)
	}
	t.caps[id] = c
}

// Remove forgets the cap of a link.
func (t *Table) Remove(id uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.caps, id)
}

// Of returns the cap of a link; if there is none, it is not open.
func (t *Table) Of(id uint64) Cap {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.caps[id]
}

// Allows reports whether a grant of a generation may be used. This node need not know that generation yet.
func (t *Table) Allows(id, generation uint64) bool { return t.Of(id).Generation <= generation }

// Spent reports whether the cap of a link, which has that limit, is used up.
func (t *Table) Spent(id, limit uint64) bool {
	now := t.Of(id)
	return now.Open && now.Used >= limit
}

// Shared is what links and hits of one node know of caps.
type Shared struct {
	Exists bool // the node is one of a cluster, or an edge of a writer
	Writer bool // it is an edge of a writer, which records the hits that it grants
	Table  Table
	Asks   Asks
}
