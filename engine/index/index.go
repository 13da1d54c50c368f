package index

import (
	"encoding/binary"
	"runtime"
	"sync/atomic"

	"shunt/engine/internal/hash"
	"shunt/engine/internal/limits"
)

// Index is every link and every deleted code in memory, with the hits of each link. The zero Index
// is to be readied by Init. Everything else may be called from any number of goroutines at once;
// Resolve, Admit, CountsAtOnce, Hits and AddHits take no lock.
type Index struct {
	shards   [numShards]shard
	key      hash.Key
	counters *counters
	mapped   *atomic.Int64 // by itself: the arenas' cleanups hold it, and must not hold the index
}

// Init readies an empty index.
func (x *Index) Init() {
	x.key, x.counters, x.mapped = hash.NewKey(), new(counters), new(atomic.Int64)
	for i := range x.shards {
		x.shards[i].init(x.mapped)
	}
}

// Resolve returns the live link that code names, or ok == false. It takes no lock, allocates
// nothing and does no I/O. Call Release when done with the link.
func (x *Index) Resolve(code []byte) (l Link, ok bool) {
	if len(code) == wordBytes { // the short way: few instructions and no calls, see "Decisions" in doc.go
		word := binary.LittleEndian.Uint64(code)
		p := placeOfWord(&x.key, word)
		t := x.shards[p.shard].current.Load()
		if s := t.firstSlot(p.tag); s != nil {
			entry := atomic.LoadUint64(s)
			if r := t.arena.at(entry & offsetMask); entry>>offsetBits == p.tag && isLiveWord(r, word) {
				runtime.KeepAlive(t) // its groups are mapped; what was found is the arena's
				return Link{record: r, arena: t.arena}, true
			}
		}
	}
	return x.resolveAny(code)
}

// resolveAny is Resolve of any code, the long way.
func (x *Index) resolveAny(code []byte) (l Link, ok bool) {
	if len(code) == 0 || len(code) > limits.MaxCodeBytes {
		return Link{}, false
	}
	p := placeOf(&x.key, code)
	return x.shards[p.shard].lookup(p.tag, code)
}

// Put publishes h as what its code is from now on. The id of h has a counter from then on. It fails
// if the id is absurdly high, or a shard full.
func (x *Index) Put(h *HotView) error {
	if err := x.counters.ensure(h.ID); err != nil {
		return err
	}
	p := placeOf(&x.key, h.Code)
	return x.shards[p.shard].put(p.tag, h)
}

// Variants calls fn for every record, tombstones included, whose code is code or differs from it
// only by case. The view is valid only during the call, and fn must not call Put, Forget, Variants
// or anything of a CodeLock.
func (x *Index) Variants(code string, fn func(HotView)) {
	p := placeOf(&x.key, []byte(code))
	s := &x.shards[p.shard]
	s.mu.Lock()
	defer s.mu.Unlock()
	s.variantsLocked(p.tag, []byte(code), fn)
}

// Forget makes nothing of the tombstone of id, the link that code was, if that has a slot: the
// tombstones of variants of a code share one. A shard that is full forgets nothing, which costs
// memory only.
func (x *Index) Forget(code string, id uint64) {
	p := placeOf(&x.key, []byte(code))
	x.shards[p.shard].forget(p.tag, code, id)
}

// Figures are what an index holds, and what that takes.
type Figures struct {
	Links      uint64 // live links, expired ones included
	Tombstones uint64 // deleted codes: until they are purged, up to an hour longer than they are taken

	IndexBytes   uint64 // slots of the shards' tables
	ArenaBytes   uint64 // mapped for records; what is untouched of it is not resident
	GarbageBytes uint64 // of ArenaBytes: superseded records
	CounterBytes uint64
}

// Figures returns the figures of now.
func (x *Index) Figures() Figures {
	f := Figures{ArenaBytes: uint64(x.mapped.Load()), CounterBytes: x.counters.slabs() * 8 << slabBits}
	for i := range x.shards {
		s := &x.shards[i]
		f.Links += uint64(s.links.Load())
		f.Tombstones += uint64(s.tombstones.Load())
		f.IndexBytes += uint64(s.indexBytes.Load())
		f.GarbageBytes += uint64(s.garbage.Load())
	}
	return f
}
