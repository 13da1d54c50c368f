package memory

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"shunt/storage"
)

const (
	heapInterval = 5 * time.Second
	heapRest     = 30 * time.Second // between two looks once it is quiet

	// quietLooks is how many looks without a flush of a memtable end a time of many writes: 20 s. A
	// million links take one flush each 10 s or less.
	quietLooks = 4

	// minHeadroom is what may be allocated between two collections. A busy API allocates 100 MB/s, and what a
	// collection has to follow is small.
	minHeadroom = 64 << 20

	defaultGCPercent = 100
)

// A HeapKeeper keeps the heap small. It is used by one goroutine.
type HeapKeeper struct {
	blocks  func() storage.Metrics
	fixed   bool // GOGC is set
	percent int  // as set
	began   bool // there was a look
	flushes uint64
	quiet   int // looks since the last flush of a memtable; quietLooks: all that was free is given back
}

// NewHeapKeeper returns a keeper for a process whose store has the metrics of blocks.
func NewHeapKeeper(blocks func() storage.Metrics) *HeapKeeper {
	return &HeapKeeper{blocks: blocks, fixed: os.Getenv("GOGC") != "", percent: defaultGCPercent, quiet: quietLooks}
}

// Run looks at the heap until ctx is done, and leaves the collector as it was.
func (k *HeapKeeper) Run(ctx context.Context) error {
	defer k.pace(defaultGCPercent)
	timer := time.NewTimer(heapInterval)
	defer timer.Stop()
	collected := collections(ctx)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-collected:
			k.adapt(k.blocks())
			continue
		case <-timer.C:
			k.look()
		}
		if timer.Reset(heapInterval); k.quiet == quietLooks {
			timer.Reset(heapRest)
		}
	}
}

func (k *HeapKeeper) look() {
	m := k.blocks()
	if !k.began { // a start flushes little, and a collection of its own may meet a disk that hangs
		k.began, k.flushes = true, m.MemTableFlushes
	}
	if m.MemTableFlushes != k.flushes {
		k.flushes, k.quiet = m.MemTableFlushes, 0
	} else if k.quiet < quietLooks {
		if k.quiet++; k.quiet == quietLooks {
			debug.FreeOSMemory()
		}
	}
	k.adapt(m)
}

// adapt sets the collector's percentage for a store with the metrics m.
func (k *HeapKeeper) adapt(m storage.Metrics) {
	if blocksOnHeap {
		k.pace(gcPercent(liveHeap(), m.MemTableReservedBytes+m.BlockCacheBytes))
	}
}

// collections returns a channel that gets a token after each collection until ctx is done. An export fills the block
// cache within seconds, before the next look. The collector finds an object that nobody refers to, and then another is
// made.
func collections(ctx context.Context) <-chan struct{} {
	collected := make(chan struct{}, 1)
	var await func(struct{})
	await = func(struct{}) {
		select {
		case collected <- struct{}{}:
		default: // one is there
		}
		if ctx.Err() == nil {
			runtime.AddCleanup(new([64]byte), await, struct{}{})
		}
	}
	await(struct{}{})
	return collected
}

// pace sets the collector's percentage if it differs by a tenth, for that stops the world for some
// 10 µs.
func (k *HeapKeeper) pace(percent int) {
	if difference := percent - k.percent; k.fixed || 10*max(difference, -difference) < k.percent {
		return
	}
	debug.SetGCPercent(percent)
	k.percent = percent
}

// gcPercent returns by how much a heap may grow of which live bytes lived at the last collection,
// and blocks are large blocks.
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
