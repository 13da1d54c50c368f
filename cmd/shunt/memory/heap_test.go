package memory

import (
	"runtime"
	"runtime/debug"
	"testing"

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
		{"256 MiB of memtables", 290 * mib, 256 * mib, 44},
		{"memtables and a large cache", 1700 * mib, 1664 * mib, 7},
		{"blocks that came after the last collection", 40 * mib, 256 * mib, 100},
		{"more than anybody has", 1 << 50, 1 << 50, 1},
	} {
		if got := gcPercent(c.live, c.blocks); got != c.want {
			t.Errorf("%s: the heap may grow by %d %%, want %d", c.name, got, c.want)
		}
	}
}

// garbage is memory that nobody uses any more.
var garbage []byte

func TestMemoryIsGivenBackOnceWritesAreOver(t *testing.T) {
	const size = 256 << 20
	store := storage.Metrics{}
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
		store.MemTableFlushes++
		k.look()
	}
	if _, given := memory(); given != before {
		t.Errorf("while memtables were written, memory was given back %d times", given-before)
	}
	for range 2 * quietLooks {
		k.look()
	}
	held, given := memory()
	if given != before+1 {
		t.Errorf("when writes were over, memory was given back %d times, want once", given-before)
	}
	if held > base+size/4 {
		t.Errorf("the heap has %d MiB, %d more than before %d MiB of it were not used any more", held>>20, (held-base)>>20, size>>20)
	}
}
