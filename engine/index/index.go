package index

import (
	"encoding/binary"
	"runtime"

	"shunt/engine/internal/hash"
	"shunt/engine/internal/limits"
	"shunt/engine/internal/mmap"
)

// Index is every link and every deleted code in memory, with the hits of each link. Init must be
// called on a zero Index before its first use. All other methods may be called from any number of
// goroutines at once; Resolve, Admit, CountsAtOnce, Hits and AddHits take no lock.
type Index struct {
	shards   [numShards]shard
	key      hash.Key
	counters *counters
	coder    *coder
	memory   *memory // apart from the index: the arenas' cleanups hold it and must not hold the index
}

// Init prepares an empty index.
func (x *Index) Init() {
	x.key, x.counters, x.coder, x.memory = hash.NewKey(), new(counters), new(coder), &memory{tables: mmap.NewShared(tablesBytes)}
	x.coder.sampling.Store(true)
	for i := range x.shards {
		x.shards[i].init(i, x.coder, x.memory)
	}
}

// KeepPlain keeps targets as they are. It is called before the first Put.
func (x *Index) KeepPlain() { x.coder.sampling.Store(false) }

// Resolve returns the live link that k names; ok is false if there is none. It takes no lock,
// allocates nothing and does no I/O. Call Release when done with the link.
func (x *Index) Resolve(k KeyView) (l Link, ok bool) {
	// The fast path: few instructions and no calls, see "Decisions" in doc.go.
	if len(k.Code) == wordBytes && k.Domain == DefaultDomain {
		if word := binary.LittleEndian.Uint64(k.Code); word&flagBits == 0 {
			p := placeOfWord(&x.key, word)
			t := x.shards[p.shard].current.Load()
			if s := t.firstSlot(p.tag); s != nil {
				if r := t.arena.at(s.Load()); isLiveWord(r, word) {
					runtime.KeepAlive(t) // it maps the groups; the record belongs to the arena
					return Link{record: r, arena: t.arena}, true
				}
			}
			return x.shards[p.shard].lookup(p.tag, k)
		}
	}
	return x.resolveAny(k)
}

// resolveAny is Resolve for any key.
func (x *Index) resolveAny(k KeyView) (l Link, ok bool) {
	if len(k.Code) == 0 || len(k.Code) > limits.MaxCodeBytes {
		return Link{}, false
	}
	p := placeAt(x.key.SumIn(uint64(k.Domain), k.Code)) // placeOf is too long to be inlined
	if l, ok = x.shards[p.shard].lookup(p.tag, k); !ok && !isASCII(k.Code) {
		p = placeOf(&x.key, k)
		l, ok = x.shards[p.shard].lookup(p.tag, k)
	}
	return l, ok
}

// ResolveFolded is Resolve for a code that may be typed in any case: the live link of the code itself, or else one
// whose code differs only by case: one without upper-case letters, then the one with the least id.
func (x *Index) ResolveFolded(k KeyView) (l Link, ok bool) {
	if l, ok = x.Resolve(k); ok || len(k.Code) == 0 || len(k.Code) > limits.MaxCodeBytes {
		return l, ok
	}
	p := placeOf(&x.key, k)
	return x.shards[p.shard].lookupFolded(p.tag, k)
}

// Put publishes h as the record of its key, and replaces the previous one. The id of h has a
// counter from then on. It fails if the id is beyond the limit of counters, if the owner's links are in another
// domain, or if the shard is full.
func (x *Index) Put(h *HotView) error {
	if err := x.ensure(h); err != nil {
		return err
	}
	p := placeOf(&x.key, h.KeyView)
	return x.shards[p.shard].put(p.tag, h)
}

// ensure prepares for the record of h.
func (x *Index) ensure(h *HotView) error {
	if err := CheckOwner(h.KeyView, h.Owner); err != nil {
		return err
	}
	return x.counters.ensure(h.ID)
}

// Variants calls fn for every record, tombstones included, in the domain of k whose code equals that of k or
// differs from it only by case. The view is valid only during the call. fn must not call Put, Forget, Variants,
// Hidden or a method of a CodeLock. known reports whether there is any such record, or was until
// not long ago: if not, the store has none either. hidden reports whether there are more
// tombstones, which fn did not get (see Hidden).
func (x *Index) Variants(k Key, fn func(HotView)) (known, hidden bool) {
	p := placeOf(&x.key, k.View())
	s := &x.shards[p.shard]
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.variantsLocked(p.tag, k.View(), fn)
}

// Each calls fn for every live link, in no order. It holds no lock meanwhile, so it may miss a link that
// is published during the call, and see one that is deleted, but it sees none twice. A million
// links take some 20 ms. What fn keeps of a link keeps the memory of its shard's links alive.
func (x *Index) Each(fn func(Link)) {
	for i := range x.shards {
		t := x.shards[i].pinned()
		t.eachLive(0, len(t.groups), fn)
	}
}

// Forget drops the tombstone of id, the link that k named, if it has a slot: the tombstones of
// variants of a code share one. A shard that is full keeps it, which only costs memory.
func (x *Index) Forget(k Key, id uint64) {
	p := placeOf(&x.key, k.View())
	x.shards[p.shard].forget(p.tag, k, id)
}

// Figures are the contents of an index and the memory they take.
type Figures struct {
	Links      uint64 // live links, expired ones included
	Tombstones uint64 // deleted codes, until they are purged: up to an hour longer than they stay taken

	IndexBytes   uint64 // slots of the shards' tables
	ArenaBytes   uint64 // mapped for records; untouched pages are not resident
	GarbageBytes uint64 // of ArenaBytes: superseded records
	CounterBytes uint64
}

// Figures returns the current figures.
func (x *Index) Figures() Figures {
	f := Figures{ArenaBytes: uint64(x.memory.arenaBytes.Load()), CounterBytes: x.counters.slabs() * 8 << slabBits}
	for i := range x.shards {
		s := &x.shards[i]
		f.Links += uint64(s.links.Load())
		f.Tombstones += uint64(s.tombstones.Load())
		f.IndexBytes += uint64(s.indexBytes.Load())
		f.GarbageBytes += uint64(s.garbage.Load())
	}
	return f
}
