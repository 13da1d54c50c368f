package index

import (
	"runtime"
	"unsafe"
)

// A Walk goes over the live links of one shard in parts, in no order, as the shard was when the first part was read: a
// link that was published since may be missing, and one that was deleted may be there, but none comes twice. The zero
// Walk is not one. One goroutine at a time may use it. It keeps the memory of the shard's links alive.
type Walk struct {
	shard *shard
	table *table // nil: nothing was read yet
	next  int    // the group
}

// Walks returns walks that together go over every link.
func (x *Index) Walks() []Walk {
	walks := make([]Walk, numShards)
	for i := range walks {
		walks[i].shard = &x.shards[i]
	}
	return walks
}

// Read calls fn with the links of the next slots, at most about that many. It returns how many slots it read, and
// whether there are more. It takes the shard's mutex for a moment, once.
func (w *Walk) Read(slots int, fn func(Link)) (read int, more bool) {
	if w.table == nil {
		w.table = w.shard.pinned()
	}
	end := min(len(w.table.groups), w.next+max(1, slots/groupSlots))
	w.table.eachLive(w.next, end, fn)
	read, w.next = (end-w.next)*groupSlots, end
	return read, end < len(w.table.groups)
}

// walkedGroups is how many groups' records are read at once.
const walkedGroups = 8

// eachLive calls fn for the live link of every slot of these groups of a table that is pinned. It takes no lock.
// It reads a word of the records of several groups before it calls fn with the links: so it waits for many records at
// once, which takes half as long as one after the other.
func (t *table) eachLive(from, to int, fn func(Link)) {
	var room [walkedGroups * groupSlots]unsafe.Pointer
	for from < to {
		records := room[:0]
		for end := min(to, from+walkedGroups); from < end; from++ {
			g := &t.groups[from]
			for i := range slotsUsed(g.control.Load()) {
				if r := t.arena.at(g.offsets[i].Load()); !isTombstone(r) {
					records = append(records, r)
				}
			}
		}
		for _, r := range records {
			fn(Link{record: r, arena: t.arena})
		}
	}
	runtime.KeepAlive(t) // it maps the groups
}
