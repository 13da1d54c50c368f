package index

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"shunt/engine/expect"
	"shunt/engine/internal/limits"
)

func TestManyLinksAreLoadedAsIfOneByOne(t *testing.T) {
	x := newIndex()
	var links []HotView
	for id := range uint64(3*batchLinks + 7) { // the last ones are others' variants, and codes of all lengths
		code := fmt.Sprintf("c%d", id%(3*batchLinks))
		if id%5 == 0 {
			code = strings.ToUpper(code) + strings.Repeat("x", int(id%(limits.MaxCodeBytes-8)))
		}
		links = append(links, HotView{KeyView: keyOf(code).View(), Target: fmt.Appendf(nil, "https://x/%d", id), ID: id})
	}
	expect.OK(t, x.PutAll(links))
	want := make(map[string]uint64)
	for i := range links {
		want[string(links[i].Code)] = links[i].ID
	}
	for code, id := range want {
		l, ok := x.Resolve(keyOf(code).View())
		expect.That(t, ok && l.ID() == id, "%s: got %v, want link %d", code, ok, id)
		x.AddHits(id, id)
		expect.Equal(t, x.Hits(id), id, "%s: hits", code)
	}
	expect.Equal(t, x.Figures().Links, uint64(len(want)), "links, want %d", len(want))
}

func TestLoadingStopsAtALinkThatCannotBePut(t *testing.T) {
	x := newIndex()
	links := []HotView{
		{KeyView: keyOf("first").View(), ID: 1},
		{KeyView: keyOf("second").View(), ID: maxSlabs << slabBits},
		{KeyView: keyOf("third").View(), ID: 3},
	}
	expect.That(t, x.PutAll(links) != nil, "an id beyond the limit was accepted")
	expect.Equal(t, x.Figures().Links, 0, "links of the same batch were put")
}

// TestALoadPutsALockedShardLast locks the first shard that gets links. It waits without limit for all other
// links to be found: a load that waited for the lock would put none of them.
func TestALoadPutsALockedShardLast(t *testing.T) {
	const codes = batchLinks / 2
	x := newIndex()
	links := make([]HotView, batchLinks) // two of each code: the later one holds
	first := numShards
	for i := range links {
		links[i] = HotView{KeyView: viewOf(fmt.Appendf(nil, "c%d", i%codes)), ID: uint64(i), Target: []byte("https://x/")}
		first = min(first, placeOf(&x.key, viewOf(links[i].Code)).shard)
	}
	s := &x.shards[first]
	s.mu.Lock()
	loaded := make(chan error)
	go func() { loaded <- x.PutAll(links) }()
	for i := codes; i < len(links); i++ {
		for placeOf(&x.key, viewOf(links[i].Code)).shard != first && !x.leadsTo(&links[i]) {
			runtime.Gosched()
		}
	}
	expect.Equal(t, s.mu.used, 0, "links were put into a shard that is locked")
	s.mu.Unlock()
	expect.OK(t, <-loaded)
	for i := codes; i < len(links); i++ {
		expect.That(t, x.leadsTo(&links[i]), "%s: not found, or not the later link", links[i].Code)
	}
}

// leadsTo reports whether the code of h is found with the id of h.
func (x *Index) leadsTo(h *HotView) bool {
	l, ok := x.Resolve(viewOf(h.Code))
	return ok && l.ID() == h.ID
}

// TestALinkThatIsFoundDuringALoadIsWhole looks links up while two loads put them, each from the moment when it is
// found. Nothing but the words of the index orders the one after the other, so race builds check that order.
func TestALinkThatIsFoundDuringALoadIsWhole(t *testing.T) {
	const loaders, links = 2, 20_000 // of each
	x := newIndex()
	var stop atomic.Bool
	var readers, writers sync.WaitGroup
	for n := range uint64(loaders) {
		readers.Go(func() {
			for id := n*links + 1; id <= (n+1)*links && !stop.Load(); {
				if x.checkWhole(t, id) {
					id++
				}
			}
		})
	}
	readers.Go(func() {
		for !stop.Load() {
			x.Figures()
		}
	})
	for n := range uint64(loaders) {
		writers.Go(func() {
			var all []HotView
			for id := n*links + 1; id <= (n+1)*links; id++ {
				all = append(all, wholeLink(id))
			}
			expect.NoError(t, x.PutAll(all))
		})
	}
	writers.Wait()
	stop.Store(true)
	readers.Wait()
	for id := range uint64(loaders * links) {
		expect.That(t, x.checkWhole(t, id+1), "link %d is missing", id+1)
	}
	expect.Equal(t, x.Figures().Links, loaders*links, "links")
}

// wholeLink returns a link all of which follows from its id.
func wholeLink(id uint64) HotView {
	return HotView{KeyView: viewOf(fmt.Appendf(nil, "%08x", id)), ID: id, Owner: uint32(id % 1000), Target: fmt.Appendf(nil, "https://example.com/%d", id)}
}

// checkWhole reports whether the link of id is found. If it is, it must be the whole link.
func (x *Index) checkWhole(t *testing.T, id uint64) bool {
	want := wholeLink(id)
	l, ok := x.Resolve(viewOf(want.Code))
	expect.That(t, !ok || l.ID() == id && l.Owner() == want.Owner && string(l.AppendTarget(nil)) == string(want.Target), "link %d: found another one, or a part of it", id)
	l.Release()
	return ok
}

// TestALoadThatIsExpectedMakesNoLargerTables compares an index that expects its records with one that does
// not. Keys differ, so the sizes of shards differ a little.
func TestALoadThatIsExpectedMakesNoLargerTables(t *testing.T) {
	expect.Long(t)
	const records = 100_000
	indexBytes := func(expected uint64) uint64 {
		x := newIndex()
		for id := uint64(1); id <= records; id++ {
			if id == records/10 {
				x.Expect(expected)
			}
			h := HotView{KeyView: viewOf(fmt.Appendf(nil, "%08x", id)), ID: id, Owner: 1, Target: []byte("https://www.example.com/")}
			expect.OK(t, x.Put(&h))
		}
		return x.Figures().IndexBytes
	}
	unaware, aware := indexBytes(0), indexBytes(records)
	expect.That(t, aware <= unaware*105/100, "tables take %d bytes where their size was expected, want at most 5 %% over %d", aware, unaware)
}
