package index

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"shunt/engine/internal/mmap"
)

const (
	slabBits = 18 // 262,144 counters, 2 MiB: one huge page
	maxSlabs = 1 << 20
)

// The word of a counter holds two numbers: the hits, and above them the number of changes of the
// link's cap, modulo 1,024. So a change of the cap makes every compare-and-swap fail that began
// before it; see Admit.
const (
	hitsBits  = 54 // room for MaxImportedHits and for 2^53 hits more: 285 years at a million a second
	hitsMask  = 1<<hitsBits - 1
	capChange = 1 << hitsBits // added to a counter after another cap was published
)

// slab is a run of counters, outside the Go heap.
type slab [1 << slabBits]atomic.Uint64

// counters are the hit counters of all links, addressed by the link's id. No tally of a target has one: its id is
// beyond those of all counters. Ids are never reused and slabs never move, so no hit is lost to an edit, to growth or
// to a rewrite of the shard. at takes no lock. The slabs stay mapped, and the pointers that at
// returns stay valid, as long as the counters are reachable.
type counters struct {
	dir atomic.Pointer[[]*slab] // by id >> slabBits; entries are set once, in a copy
	mu  sync.Mutex              // held by ensure
}

// at returns the counter of a published link, whose slab exists.
func (c *counters) at(id uint64) *atomic.Uint64 {
	return &(*c.dir.Load())[id>>slabBits][id&(1<<slabBits-1)]
}

// find returns the counter of an id that may not belong to a link; nil if there is no slab for it.
func (c *counters) find(id uint64) *atomic.Uint64 {
	if dir := c.dir.Load(); dir != nil && id>>slabBits < uint64(len(*dir)) {
		if s := (*dir)[id>>slabBits]; s != nil {
			return &s[id&(1<<slabBits-1)]
		}
	}
	return nil
}

// ensure makes the slab of an id, unless it exists. It must be called before the id is published.
func (c *counters) ensure(id uint64) error {
	if c.find(id) != nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	k := id >> slabBits
	if k >= maxSlabs {
		return fmt.Errorf("link id %#x is beyond the limit of %d links", id, uint64(maxSlabs)<<slabBits)
	}
	var dir []*slab
	if old := c.dir.Load(); old != nil {
		dir = slices.Clone(*old)
	}
	last := len(dir) - 1
	for uint64(len(dir)) <= k {
		dir = append(dir, nil)
	}
	if dir[k] == nil {
		dir[k] = c.newSlab(int(k) > last)
		if int(k) > last && last >= 0 {
			mmap.MakeHuge(dir[last].bytes())
		}
	}
	c.dir.Store(&dir)
	return nil
}

// newSlab maps a slab. The last one takes memory only where it is touched, because most of it may have no
// links yet. When another follows, it becomes a huge page.
func (c *counters) newSlab(last bool) *slab {
	mapped := mmap.HugeMemory
	if last {
		mapped = mmap.Memory
	}
	b := mapped(8 << slabBits)
	runtime.AddCleanup(c, mmap.Unmap, b)
	return (*slab)(unsafe.Pointer(unsafe.SliceData(b)))
}

func (s *slab) bytes() []byte { return unsafe.Slice((*byte)(unsafe.Pointer(s)), unsafe.Sizeof(*s)) }

// slabs returns the number of slabs.
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
