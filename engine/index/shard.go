package index

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"shunt/engine/internal/ascii"
	"shunt/engine/internal/invariants"
	"shunt/engine/internal/limits"
	"shunt/engine/internal/mmap"
	"shunt/engine/internal/symbols"
)

const (
	shardBits = 6 // 64 shards: writers wait for a rewrite, which copies one 64th of the links
	numShards = 1 << shardBits

	// A shard is rewritten when its garbage passes a quarter of its arena, and this: with less
	// garbage a rewrite is not worth the copying.
	minGarbageBytes = 64 << 10
)

// errShardFull reports that a shard cannot take another record.
var errShardFull = fmt.Errorf("one of the %d parts of the index is full: a part takes %.1f GiB of records and %d M codes",
	numShards, float64(maxArenaBytes)/(1<<30), maxGroups*groupSlots*25/32/1_000_000)

// shard is one part of the index with its arena. Readers use only current.
type shard struct {
	current atomic.Pointer[table]

	mu struct {
		sync.Mutex
		held         heldLocks
		hidden       map[Key]*hidden // by key with case-folded code: tombstones without slot
		used         int             // slots in use
		puts         uint64
		garbageBytes uint64 // of the arena: superseded records
		recent       recent
	}

	// Written with mu held, read by metrics.
	links, tombstones, garbage, indexBytes gauge

	coder  *coder
	memory *memory
	_      [8]byte // shards are an array: keep one's pointer off another's counters
}

// gauge is a number that is written with a mutex held, and read without it. Unlike atomic.Int64 it has no
// locked instruction, which would wait until the stores into a new record have reached the cache.
type gauge struct{ word atomic.Uint64 }

func (g *gauge) set(n int64) { mmap.StoreWord(&g.word, uint64(n)) }
func (g *gauge) add(n int64) { mmap.StoreWord(&g.word, g.word.Load()+uint64(n)) }

// Load may be called at any time.
func (g *gauge) Load() int64 { return int64(g.word.Load()) }

// init prepares shard i. Each shard begins with another number of groups. So they grow at different
// times: writers never wait for many at once, and the whole index is about equally dense at any
// number of links.
func (s *shard) init(i int, coder *coder, memory *memory) {
	s.coder, s.memory = coder, memory
	s.mu.held.init()
	s.mu.hidden = make(map[Key]*hidden)
	s.publishTable(newTable(minGroups+i, newArena(memory, nil)))
}

func (s *shard) publishTable(t *table) {
	s.indexBytes.set(int64(t.bytes()))
	s.current.Store(t)
}

// lookup returns the live link of a key. It takes no lock.
func (s *shard) lookup(tag uint64, k KeyView) (l Link, ok bool) {
	return s.lookupFrom(s.current.Load(), tag, k)
}

// lookupFrom is lookup that begins in t, which is the current table or was. The memory of a replaced table may be
// given back while find reads it. So a miss there means nothing, and lookupFrom looks in the current one.
func (s *shard) lookupFrom(t *table, tag uint64, k KeyView) (l Link, ok bool) {
	for {
		r, _ := t.find(tag, k)
		runtime.KeepAlive(t) // it maps the groups; the record belongs to the arena
		if r != nil && !isTombstone(r) {
			return Link{record: r, arena: t.arena}, true
		}
		loadsDone()
		before := t
		if t = s.current.Load(); t == before {
			return Link{}, false
		}
	}
}

// lookupFolded returns the live link of a key whose code may be in another case; see table.findFolded. It takes no
// lock.
func (s *shard) lookupFolded(tag uint64, k KeyView) (l Link, ok bool) {
	for {
		t := s.current.Load()
		r := t.findFolded(tag, k)
		runtime.KeepAlive(t)
		loadsDone()
		if s.current.Load() == t {
			return Link{record: r, arena: t.arena}, r != nil
		}
	}
}

// loadsDone orders earlier loads before later ones: the rests of tags, which find loads plainly, before
// the current table. Otherwise find could read zeros of a table that still seems to be the current one.
// amd64 keeps loads in order. Elsewhere an atomic addition does, to a word that no other core has.
func loadsDone() {
	if runtime.GOARCH != "amd64" {
		var word atomic.Uint32
		word.Add(1)
	}
}

// pinned returns the current table, to be read as a whole.
func (s *shard) pinned() *table {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.current.Load()
	t.pinned = true
	return t
}

// replaceLocked publishes fresh, which has all entries, in place of old. The memory of old is given back
// before huge pages take more. It must be after the publication: see lookupFrom.
func (s *shard) replaceLocked(old, fresh *table) {
	s.publishTable(fresh)
	old.drop()
	fresh.settle()
	s.memory.retire(old.bytes())
}

// variantsLocked is Index.Variants.
func (s *shard) variantsLocked(tag uint64, k KeyView, fn func(HotView)) (known, hidden bool) {
	t := s.current.Load()
	var a, b [limits.MaxCodeBytes]byte
	folded := Key{Domain: k.Domain, Code: string(foldCase(&a, k.Code))}
	for slot := range t.probe(tag) {
		if v := t.arena.view(slot.Load()); v.Domain == k.Domain && string(foldCase(&b, v.Code)) == folded.Code {
			known = true
			v.Target = t.arena.appendPlain(nil, v.Target)
			fn(v)
		}
	}
	hidden = len(s.mu.hidden) > 0 && s.mu.hidden[folded] != nil
	return known || hidden, hidden
}

// put publishes h as the record of its code. It codes the target before it takes the mutex.
func (s *shard) put(tag uint64, h *HotView) error {
	s.coder.see(h.Target)
	var room [256]byte
	table := s.current.Load().arena.symbols
	kept := h.kept(room[:0], table)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.putCodedLocked(tag, h, kept, table)
}

// putPlainLocked is put that codes the target with the mutex held.
func (s *shard) putPlainLocked(tag uint64, h *HotView) error {
	s.coder.see(h.Target)
	var room [256]byte
	table := s.current.Load().arena.symbols
	return s.putCodedLocked(tag, h, h.kept(room[:0], table), table)
}

// kept returns h as an arena with this table keeps it. Its target is in room if it fits.
func (h *HotView) kept(room []byte, table *symbols.Table) HotView {
	kept := *h
	kept.Target, kept.encoded = coded(room, table, h.Target), !ascii.Sendable(h.Target)
	return kept
}

// putCodedLocked is put for kept, which h became by table.
func (s *shard) putCodedLocked(tag uint64, h *HotView, kept HotView, table *symbols.Table) error {
	s.leavePlainLocked()
	s.collectNearlyFullLocked()
	arena := s.current.Load().arena
	if arena.symbols != table { // the shard was rewritten meanwhile
		kept.Target = coded(nil, arena.symbols, h.Target)
	}
	s.coder.count(&s.mu.recent, arena, len(h.Target), len(kept.Target))
	err := s.putLocked(tag, &kept)
	if err == nil || !s.roomForEditLocked(tag, h.KeyView) {
		return err
	}
	kept.Target = coded(nil, s.current.Load().arena.symbols, h.Target)
	return s.putLocked(tag, &kept)
}

// collectNearlyFullLocked rewrites a shard that is nearly full, if half of the room that is left would be
// won by it. So the rewrite is worth its time.
func (s *shard) collectNearlyFullLocked() {
	if s.current.Load().arena.nearlyFull() && s.mu.garbageBytes > uint64(chunkBytes(lastChunk)/8) {
		s.rewriteLocked()
	}
}

// roomForEditLocked rewrites a full shard for the next record of a key that it has, however little there
// is to win: an edit or a deletion that the store has must be published.
func (s *shard) roomForEditLocked(tag uint64, k KeyView) bool {
	record, _ := s.current.Load().find(tag, k)
	return record != nil && s.mu.garbageBytes > 0 && s.rewriteLocked()
}

// leavePlainLocked rewrites a shard whose targets are plain once there is a table to code them by,
// if it is small as yet.
func (s *shard) leavePlainLocked() {
	arena := s.current.Load().arena
	if arena.symbols == nil && arena.usedBytes <= maxRecodedBytes && s.coder.table.Load() != nil {
		s.rewriteLocked()
	}
}

// putLocked is put for a target as the arena keeps it.
func (s *shard) putLocked(tag uint64, h *HotView) error {
	s.mu.puts++
	t := s.current.Load()
	old, slot := t.find(tag, h.KeyView)
	if old == nil {
		var superseded bool
		if old, slot, superseded = t.tombstoneVariant(tag, h); superseded {
			s.hideLocked(h)
			return nil
		}
	}
	if old == nil {
		var err error
		if t, err = s.roomLocked(t); err != nil {
			return err
		}
	}
	offset, _, ok := t.arena.appendRecord(h)
	if !ok {
		return errShardFull
	}
	s.unhideLocked(h.KeyView)
	if old != nil {
		v := t.arena.view(slot.Load())
		if string(v.Code) != string(h.Code) {
			s.hideLocked(&v)
		}
		s.retireLocked(v)
		slot.Store(offset)
	} else {
		t.insert(tag, offset)
		s.mu.used++
	}
	s.countLocked(h, 1)
	if h.Purged() {
		s.discardLocked(h)
	}
	if s.mu.garbageBytes > max(t.arena.usedBytes/4, minGarbageBytes) {
		s.rewriteLocked()
	}
	s.checkLocked()
	return nil
}

// retireLocked counts a superseded record as garbage.
func (s *shard) retireLocked(v HotView) {
	if !v.Purged() { // a purged record was counted as garbage when it was put
		s.discardLocked(&v)
	}
	s.countLocked(&v, -1)
}

func (s *shard) discardLocked(v *HotView) {
	s.mu.garbageBytes += uint64(s.current.Load().arena.recordBytes(v))
	s.garbage.set(int64(s.mu.garbageBytes))
}

func (s *shard) countLocked(v *HotView, n int64) {
	switch {
	case v.Purged():
	case v.Flags&FlagTombstone != 0:
		s.tombstones.add(n)
	default:
		s.links.add(n)
	}
}

// roomLocked returns a table with room for one more entry: t, or else a larger one, which it
// publishes.
func (s *shard) roomLocked(t *table) (*table, error) {
	if !t.full(s.mu.used) {
		return t, nil
	}
	if len(t.groups) >= maxGroups {
		return nil, errShardFull
	}
	larger := t.larger(int(s.memory.expected.Load()))
	for tag, offset := range t.entries {
		larger.insert(tag, offset)
	}
	s.replaceLocked(t, larger)
	return larger, nil
}

// rewriteLocked copies the live records and tombstones into a new arena and publishes it. Targets of
// a small arena are coded by the newest table. Readers that still hold a link of the old arena keep
// that arena alive. Purged codes are dropped. It reports whether there was room: in another order the records
// of a full arena may leave larger gaps. If not, nothing has changed.
func (s *shard) rewriteLocked() bool {
	old := s.current.Load()
	symbols := old.arena.symbols
	if old.arena.usedBytes <= maxRecodedBytes {
		symbols = s.coder.table.Load()
	}
	fresh := newTable(len(old.groups), newArena(s.memory, symbols))
	used := 0
	for tag, offset := range old.entries {
		if isPurged(old.arena.at(offset)) {
			continue
		}
		copied, ok := fresh.arena.appendCopy(old.arena, offset)
		if !ok {
			return false
		}
		fresh.insert(tag, copied)
		used++
	}
	s.mu.used, s.mu.garbageBytes = used, 0
	s.garbage.set(0)
	s.replaceLocked(old, fresh)
	s.memory.retire(int(old.arena.usedBytes)) // what is resident: mmap.Memory takes no more
	return true
}

// checkLocked verifies the whole shard in builds with invariants: at every write while it is small,
// and then at one write in 256.
func (s *shard) checkLocked() {
	if !invariants.Enabled || s.mu.used > 256 && s.mu.puts%256 != 0 {
		return
	}
	t := s.current.Load()
	used, live, dead := 0, int64(0), int64(0)
	for tag, offset := range t.entries {
		used++
		v := t.arena.view(offset)
		if r, _ := t.find(tag, v.KeyView); r != t.arena.at(offset) {
			panic(fmt.Sprintf("index: code %q is not found in its own slot", v.Code))
		}
		switch {
		case v.Purged():
		case v.Flags&FlagTombstone != 0:
			dead++
		default:
			live++
		}
	}
	if used != s.mu.used || live != s.links.Load() || dead != s.tombstones.Load() {
		panic(fmt.Sprintf("index: shard counts %d used, %d live, %d tombstones; found %d, %d, %d",
			s.mu.used, s.links.Load(), s.tombstones.Load(), used, live, dead))
	}
}

// forget drops the tombstone of id if it has a slot: the tombstones of variants of a code share
// one. Its bytes are garbage from now on. A shard that is full keeps it, which only costs memory.
func (s *shard) forget(tag uint64, k Key, id uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.current.Load()
	record, slot := t.find(tag, k.View())
	if record == nil {
		s.unhideLocked(k.View())
		return
	}
	v := t.arena.view(slot.Load())
	if v.ID != id || v.Flags&FlagTombstone == 0 {
		if invariants.Enabled {
			panic(fmt.Sprintf("index: code %q was purged as the tombstone of %d, and is %d with flags %#x", k.Code, id, v.ID, v.Flags))
		}
		return
	}
	gone := HotView{KeyView: k.View(), ID: v.ID, Owner: v.Owner, Flags: FlagTombstone, DeletedAtMs: purgedAtMs}
	_ = s.putLocked(tag, &gone)
}
