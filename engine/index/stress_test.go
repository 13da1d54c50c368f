//go:build !race

package index

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"shunt/engine/internal/mmap"
)

// TestEveryLinkIsFoundWhileTablesAreDroppedAndUsedAgain looks links up while their shards grow and are
// rewritten, and while the memory of old tables is dropped, freed and handed out again. Race builds have
// no such memory.
func TestEveryLinkIsFoundWhileTablesAreDroppedAndUsedAgain(t *testing.T) {
	defer func(n int) { mappedTableBytes = n }(mappedTableBytes)
	mappedTableBytes = 0
	const rounds, links = 12, 20_000
	for range rounds {
		x := newIndex()
		x.memory.tables = mmap.NewShared(mmap.HugePageBytes) // soon full
		var published atomic.Uint64
		var stop atomic.Bool
		var others sync.WaitGroup
		for seed := range uint64(2) {
			others.Go(func() { x.findAll(t, seed, &published, &stop) })
		}
		others.Go(func() {
			for !stop.Load() {
				runtime.GC()
			}
		})
		for id := range uint64(links) {
			x.put(t, stressLink(id))
			published.Store(id + 1)
			x.put(t, stressLink(id/2)) // garbage
		}
		stop.Store(true)
		others.Wait()
	}
}

// findAll looks published links up until stop.
func (x *Index) findAll(t *testing.T, seed uint64, published *atomic.Uint64, stop *atomic.Bool) {
	rng := rand.New(rand.NewPCG(seed, 1))
	for n := 0; !stop.Load(); n++ {
		links := published.Load()
		if links == 0 {
			continue
		}
		id := rng.Uint64N(links)
		want := stressLink(id)
		find := x.Resolve
		if n%2 == 0 {
			find = x.resolveAny
		}
		l, ok := find(viewOf(want.Code))
		if !ok || l.ID() != id || string(l.AppendTarget(nil)) != string(want.Target) {
			t.Errorf("link %d: found is %v, want exactly this link", id, ok)
			return
		}
		l.Release()
	}
}

func stressLink(id uint64) HotView {
	return HotView{KeyView: viewOf(binary.LittleEndian.AppendUint64(nil, spreadCode(int(id)))), Target: fmt.Appendf(nil, "https://example.com/%d", id), ID: id}
}
