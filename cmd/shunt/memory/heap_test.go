package memory

import (
	"context"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"shunt/engine/expect"
	"shunt/storage"
)

func TestLargeBlocksDoNotDoubleTheHeap(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct {
		name         string
		live, blocks uint64
		want         int
	}{
		{"nothing is known", 0, 0, 100},
		{"a small server", 40 * mib, 5 * mib, 100},
		{"a large heap without blocks", 1000 * mib, 0, 100},
		{"256 MiB of memtables", 290 * mib, 256 * mib, 22},
		{"memtables and a large cache", 1700 * mib, 1664 * mib, 3},
		{"blocks that came after the last collection", 40 * mib, 256 * mib, 100},
		{"more than anybody has", 1 << 50, 1 << 50, 1},
	} {
		expect.Equal(t, gcPercent(c.live, c.blocks), c.want, "%s: the heap may grow by %%", c.name)
	}
}

func TestTheKeeperLooksAfterEachCollection(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	looked := make(chan struct{})
	k := NewHeapKeeper(func() storage.Metrics {
		looked <- struct{}{}
		return storage.Metrics{}
	})
	end := make(chan error)
	began := time.Now()
	go func() { end <- k.Run(ctx) }()
	looks := 0
	for range 20 { // a look may stand for two collections
		runtime.GC()
		select {
		case <-looked:
			looks++
		case <-time.After(100 * time.Millisecond): // it is still to come
		}
	}
	byTime := int(time.Since(began)/heapInterval) + 1
	cancel()
	for ended := false; !ended; {
		select {
		case <-looked:
		case <-end:
			ended = true
		}
	}
	expect.That(t, looks > 10+byTime, "after 20 collections it had looked %d times, %d by its clock", looks, byTime)
}

// garbage is memory that nobody uses any more.
var garbage []byte

func TestMemoryIsGivenBackOnceWritesAreOver(t *testing.T) {
	const size = 256 << 20
	store := storage.Metrics{MemTableFlushes: 1} // by the start
	k := NewHeapKeeper(func() storage.Metrics { return store })
	defer k.pace(defaultGCPercent)
	memory := func() (held uint64, given uint32) {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapSys - m.HeapReleased, m.NumForcedGC
	}
	debug.FreeOSMemory()
	base, before := memory()
	garbage = make([]byte, size)
	for i := range garbage {
		garbage[i] = 1
	}
	garbage = nil
	for range 2 * quietLooks {
		k.look()
	}
	for range 2 * quietLooks {
		store.MemTableFlushes++
		k.look()
	}
	if _, given := memory(); given != before {
		t.Errorf("after a start and while memtables were written, memory was given back %d times", given-before)
	}
	for range 2 * quietLooks {
		k.look()
	}
	held, given := memory()
	expect.Equal(t, given, before+1, "when writes were over, memory was given back %d times", given-before)
	expect.That(t, held <= base+size/4,
		"the heap has %d MiB, %d more than before %d MiB of it were not used any more", held>>20, (held-base)>>20, size>>20)
}
