package memory

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"shunt/storage"
)

// How large Go's heap becomes.
//
// Most of a server's heap is in large blocks without pointers: the store's memtables (up to 640 MiB while much is written) and
// its block cache. They cost the collector little, but it counts them: with GOGC=100 the heap may grow to twice what lived at the
// last collection, and an idle server does not collect for two minutes and then gives memory back slowly. After an import of a
// million links it had 977 MB, of which 290 MB of the heap and 160 MB outside of it were of use. So here the heap may grow by what
// lives beside those blocks, and by minHeadroom at least; and once no memtable is written any more, all that is free goes back to
// the system at once.
//
// Memory that stays: two memtables of 128 MiB that Pebble keeps for the next writes (shunt_storage_memtable_reserved_bytes), at
// times a third that its queue still refers to, and the block cache. After that import it was 500 to 605 MiB in all (make
// import-memory). A restart lets go of the memtables.
//
// GOGC, if it is set, is left as it is; so is GOMEMLIMIT, which counts the heap and not what the engine maps outside of it.
const (
	heapInterval = 5 * time.Second

	// quietLooks is how many looks without a flush of a memtable end a time of many writes: 20 s. A million links take one
	// flush each 10 s or less.
	quietLooks = 4

	// minHeadroom is what may be allocated between two collections. A busy API allocates 100 MB/s.
	minHeadroom = 128 << 20

	defaultGCPercent = 100
)

// A heapKeeper keeps the heap small. It is used by one goroutine.
type heapKeeper struct {
	blocks  func() storage.Metrics
	fixed   bool // GOGC is set
	percent int  // as set
	flushes uint64
	quiet   int // looks since the last flush of a memtable; quietLooks: all that was free is given back
}

func NewHeapKeeper(blocks func() storage.Metrics) *heapKeeper {
	return &heapKeeper{blocks: blocks, fixed: os.Getenv("GOGC") != "", percent: defaultGCPercent, quiet: quietLooks}
}

// Run looks at the heap until ctx is done, and leaves the collector as it was.
func (k *heapKeeper) Run(ctx context.Context) error {
	defer k.pace(defaultGCPercent)
	tick := time.NewTicker(heapInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			k.look()
		}
	}
}

func (k *heapKeeper) look() {
	m := k.blocks()
	if m.MemTableFlushes != k.flushes {
		k.flushes, k.quiet = m.MemTableFlushes, 0
	} else if k.quiet < quietLooks {
		if k.quiet++; k.quiet == quietLooks {
			debug.FreeOSMemory()
		}
	}
	if blocksOnHeap {
		k.pace(gcPercent(liveHeap(), m.MemTableReservedBytes+m.BlockCacheBytes))
	}
}

// pace sets the collector's percentage if it differs by a tenth, for that stops the world for some 10 µs.
func (k *heapKeeper) pace(percent int) {
	if difference := percent - k.percent; k.fixed || 10*max(difference, -difference) < k.percent {
		return
	}
	debug.SetGCPercent(percent)
	k.percent = percent
}

// gcPercent returns by how much a heap may grow of which live bytes lived at the last collection, and blocks are large blocks.
func gcPercent(live, blocks uint64) int {
	if live == 0 {
		return defaultGCPercent
	}
	headroom := max(live-min(blocks, live), minHeadroom)
	return int(max(1, min(100*headroom/live, defaultGCPercent)))
}

func liveHeap() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return sample[0].Value.Uint64()
}
