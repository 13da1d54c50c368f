package engine

import (
	"fmt"
	"runtime"
	"shunt/engine/internal/mmap"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"
)

const (
	counterBits = 48 // of an id; the 16 above are the node
	counterMask = 1<<counterBits - 1

	slabBits = 18 // 262,144 counters, 2 MiB: one huge page
	maxSlabs = 1 << 20
)

// The word of a counter holds two numbers: the hits, and above them how often the cap of the link was changed, modulo 1,024.
// A change of the cap therefore makes every compare-and-swap fail that began before it; see Engine.count.
const (
	hitsBits  = 54 // MaxImportedHits, and as many again: 285 years of a million hits a second
	hitsMask  = 1<<hitsBits - 1
	capChange = 1 << hitsBits // added to a counter after another cap was published
)

// slab is a run of counters, outside the Go heap.
type slab [1 << slabBits]atomic.Uint64

// counters are the hit counters of all links of one node, addressed by the counter part of the link's id. Ids are never
// reused and slabs never move, so that a hit cannot be lost to an edit, to growth or to a rewrite of the shard.
// at takes no lock. The slabs live as long as the counters are reachable, and so do the pointers that at returns.
type counters struct {
	dir atomic.Pointer[[]*slab] // by id >> slabBits; entries are set once, in a copy
	mu  sync.Mutex              // held by ensure
}

// at returns the counter of a link that was published. Its slab exists.
func (c *counters) at(id uint64) *atomic.Uint64 {
	i := id & counterMask
	return &(*c.dir.Load())[i>>slabBits][i&(1<<slabBits-1)]
}

// find is at for an id that may be no link's; it returns nil if there is no slab for it.
func (c *counters) find(id uint64) *atomic.Uint64 {
	dir := c.dir.Load()
	i := id & counterMask
	if dir == nil || i>>slabBits >= uint64(len(*dir)) || (*dir)[i>>slabBits] == nil {
		return nil
	}
	return c.at(id)
}

// ensure makes the slab of an id. It must come before the id is published.
func (c *counters) ensure(id uint64) error {
	if c.find(id) != nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	k := (id & counterMask) >> slabBits
	if k >= maxSlabs {
		return fmt.Errorf("link id %#x is beyond the limit of %d links", id, uint64(maxSlabs)<<slabBits)
	}
	var dir []*slab
	if old := c.dir.Load(); old != nil {
		dir = slices.Clone(*old)
	}
	for uint64(len(dir)) <= k {
		dir = append(dir, nil)
	}
	if dir[k] == nil {
		b := mmap.HugeMemory(8 << slabBits)
		dir[k] = (*slab)(unsafe.Pointer(unsafe.SliceData(b)))
		runtime.AddCleanup(c, mmap.Unmap, b)
	}
	c.dir.Store(&dir)
	return nil
}

// slabs returns how many slabs exist.
func (c *counters) slabs() (n uint64) {
	if dir := c.dir.Load(); dir != nil {
		for _, s := range *dir {
			if s != nil {
				n++
			}
		}
	}
	return n
}
