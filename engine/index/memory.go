package index

import (
	"runtime"
	"runtime/metrics"
	"sync/atomic"

	"shunt/engine/internal/mmap"
)

// memory has the memory of tables, and counts what the index holds. The counts are atomic.
type memory struct {
	tables *mmap.Shared // has the memory of tables

	arenaBytes   atomic.Int64  // of all live arenas; for metrics
	retiredBytes atomic.Int64  // given up since the last collection that retire began
	collecting   atomic.Bool   // by retire
	heapBytes    atomic.Uint64 // allocated on the Go heap up to the last collection that collectLoad began
	expected     atomic.Int64  // entries a shard, see Index.Expect
}

// maxRetiredBytes is how much memory that the index has given up may wait for a collection.
const maxRetiredBytes = 8 << 20

// maxLoadBytes is how much a load may allocate on the Go heap before it is worth a collection.
const maxLoadBytes = 1 << 20

// retire counts memory that the index no longer uses. It is free after the next collection finds it
// unreachable; but the collector does not see what is outside the Go heap and lets the heap double: while
// links are loaded, the tables that were outgrown would soon be larger than the index. So retire begins
// a collection from time to time, in a goroutine of its own. That takes milliseconds, since little is on
// the heap. The memory of a table was given back already (table.drop), but only a collection finds that its
// addresses may be used again.
func (m *memory) retire(sizeBytes int) {
	if m.retiredBytes.Add(int64(sizeBytes)) < maxRetiredBytes || !m.collecting.CompareAndSwap(false, true) {
		return
	}
	m.retiredBytes.Store(0)
	go func() {
		defer m.collecting.Store(false)
		runtime.GC()
	}()
}

// collectLoad begins a collection if much has been allocated on the Go heap since the last one.
func (m *memory) collectLoad() {
	allocated := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(allocated)
	now, before := allocated[0].Value.Uint64(), m.heapBytes.Load()
	if now-before >= maxLoadBytes && m.heapBytes.CompareAndSwap(before, now) {
		m.retire(maxRetiredBytes)
	}
}
