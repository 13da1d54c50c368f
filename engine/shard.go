package engine

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math/bits"
	"runtime"
	"shunt/engine/internal/hash"
	"shunt/engine/internal/invariants"
	"shunt/engine/internal/mmap"
	"sync"
	"sync/atomic"
	"unsafe"
)

const (
	shardBits = 6 // 64 shards: a rewrite, during which writers wait, copies one 64th of the links
	numShards = 1 << shardBits

	// An index slot is a tag and an offset: tag<<offsetBits | offset. The tag is part of the hash of the case-folded
	// code. Its high bits are the group where probing starts, so that growth needs no look at the records; its low byte
	// stands in the group's control word.
	tagBits = 64 - offsetBits

	groupWords = 8              // a group is one cache line: its control word and
	groupSlots = groupWords - 1 // its slots
	minGroups  = 1
	maxGroups  = 1 << tagBits

	// A rewrite is worth its copying once a shard's garbage passes a quarter of its arena, and this.
	minGarbageBytes = 64 << 10
)

// errShardFull: a shard cannot take another record (30 GiB or 2^28 groups).
var errShardFull = errors.New("shard is full")

// table is one version of a shard's index: groups of seven slots, linear probing over groups.
//
//	control word: byte i is the tag byte of slot i, 0 if it is empty; byte 7 is 0
//	┌──────────────┬────────┬────────┬────────┬────────┬────────┬────────┬────────┐
//	│ t t t t 0 0 0│ slot 0 │ slot 1 │ slot 2 │ slot 3 │ empty  │ empty  │ empty  │  64 bytes, aligned
//	└──────────────┴────────┴────────┴────────┴────────┴────────┴────────┴────────┘
//
// A look-up compares the seven tag bytes at once (the SWAR match of Abseil's Swiss tables, without SIMD), so that it
// mostly reads one cache line and takes no branch that the processor cannot foresee. Slots fill in order and are never
// emptied: a group whose last slot is empty ends a probe. Readers load control words and slots atomically; a writer
// stores the slot first, then the control word. A table that is too small is replaced, never changed in size.
type table struct {
	groups []group // a power of two; outside the Go heap once they fill huge pages
	shift  uint8   // tag >> shift is the group where probing starts
	arena  *arena
}

type group [groupWords]uint64

// mappedTableBytes is the size from which a table is mapped outside the Go heap. A variable for tests.
var mappedTableBytes = mmap.HugePageBytes

func newTable(groups int, a *arena) *table {
	t := &table{shift: uint8(tagBits - bits.TrailingZeros(uint(groups))), arena: a}
	if sizeBytes := 8 * groupWords * groups; sizeBytes < mappedTableBytes {
		t.groups = make([]group, groups)
	} else {
		b := mmap.HugeMemory(sizeBytes)
		t.groups = unsafe.Slice((*group)(unsafe.Pointer(unsafe.SliceData(b))), groups)
		runtime.AddCleanup(t, mmap.Unmap, b)
	}
	return t
}

const (
	lowBits  = 0x0101010101010101
	highBits = 0x0080808080808080 // not of byte 7, which is no slot's
)

// tagByte is the tag's byte in control words: its low byte, but never 0.
func tagByte(tag uint64) uint64 { return max(tag&0xff, 1) }

// matchByte returns a word whose high bits mark the bytes of control that are the byte that want repeats. It may mark a
// byte above a match too much (a borrow), but none too few.
func matchByte(control, want uint64) uint64 {
	x := control ^ want
	return (x - lowBits) &^ x & highBits
}

// groupFull tells by a group's control word that its last slot is taken.
func groupFull(control uint64) bool { return control>>(8*(groupSlots-1)) != 0 }

// find returns the record of code and the slot that names it, or nil.
func (t *table) find(tag uint64, code []byte) (record unsafe.Pointer, slot *uint64) {
	mask := uint(len(t.groups) - 1)
	want := tagByte(tag) * lowBits
	for n := uint(tag >> (t.shift & 63)); ; n++ {
		g := &t.groups[n&mask]
		control := atomic.LoadUint64(&g[0])
		for m := matchByte(control, want); m != 0; m &= m - 1 {
			s := &g[(bits.TrailingZeros64(m)/8+1)%groupWords]
			entry := atomic.LoadUint64(s)
			if r := t.arena.at(entry & offsetMask); entry>>offsetBits == tag && codeIs(r, code) {
				return r, s
			}
		}
		if !groupFull(control) {
			return nil, nil
		}
	}
}

// firstSlot returns the slot of the first match in the group where probing for tag starts; nil: there is none.
func (t *table) firstSlot(tag uint64) *uint64 {
	n := tag >> (t.shift & 63) & uint64(len(t.groups)-1)
	g := unsafe.Add(unsafe.Pointer(unsafe.SliceData(t.groups)), n*(8*groupWords))
	m := matchByte(atomic.LoadUint64((*uint64)(g)), tagByte(tag)*lowBits)
	if m == 0 {
		return nil
	}
	return (*uint64)(unsafe.Add(g, 1+bits.TrailingZeros64(m))) // the mark of slot i is bit 8*i+7, the slot is at byte 8*i+8
}

// insert puts an entry into the first free slot of its probe sequence. The shard's mutex is held, and there is room.
func (t *table) insert(entry uint64) {
	tag := entry >> offsetBits
	mask := uint(len(t.groups) - 1)
	for n := uint(tag >> t.shift); ; n++ {
		g := &t.groups[n&mask]
		if control := g[0]; !groupFull(control) {
			used := (bits.Len64(control) + 7) / 8
			atomic.StoreUint64(&g[1+used], entry)
			atomic.StoreUint64(&g[0], control|tagByte(tag)<<(8*used))
			return
		}
	}
}

// entries yields every slot that is taken. The shard's mutex is held.
func (t *table) entries(yield func(entry uint64) bool) {
	for i := range t.groups {
		for _, entry := range t.groups[i][1:] {
			if entry != 0 && !yield(entry) {
				return
			}
		}
	}
	runtime.KeepAlive(t)
}

// probe yields the slots that a look-up of tag meets and whose tag it is. The shard's mutex is held.
func (t *table) probe(tag uint64) iter.Seq[*uint64] {
	return func(yield func(*uint64) bool) {
		mask := uint(len(t.groups) - 1)
		for n := uint(tag >> t.shift); ; n++ {
			g := &t.groups[n&mask]
			for i := 1; i < groupWords; i++ {
				if g[i] != 0 && g[i]>>offsetBits == tag && !yield(&g[i]) {
					return
				}
			}
			if !groupFull(g[0]) {
				return
			}
		}
	}
}

// shard is one part of the index with its arena. Readers touch only current.
type shard struct {
	current atomic.Pointer[table]

	mu struct {
		sync.Mutex
		reserved     map[string]chan struct{} // case-folded codes that a writer holds; closed on release
		used         int                      // slots in use
		puts         uint64
		garbageBytes uint64 // of the arena: superseded records
	}

	// Written with mu held, read by metrics.
	links, tombstones, garbage, indexBytes atomic.Int64

	mapped *atomic.Int64
	_      [40]byte // shards are an array: keep one's pointer off another's counters
}

func (s *shard) init(mapped *atomic.Int64) {
	s.mapped = mapped
	s.mu.reserved = make(map[string]chan struct{})
	s.publishTable(newTable(minGroups, newArena(mapped)))
}

func (s *shard) publishTable(t *table) {
	s.indexBytes.Store(int64(8 * groupWords * len(t.groups)))
	s.current.Store(t)
}

// foldCase maps the codes that differ only by case, and no others, to one. On code bytes setting bit 5 does that:
// it lowers letters, leaves digits and '-' as they are and turns '_' into 0x7f, which is no code byte.
func foldCase(folded *[MaxCodeBytes]byte, code []byte) []byte {
	n := copy(folded[:], code)
	for i := 0; i < n; i += 8 {
		binary.LittleEndian.PutUint64(folded[i:], caseFold(binary.LittleEndian.Uint64(folded[i:])))
	}
	return folded[:n]
}

func caseFold(eightBytes uint64) uint64 { return eightBytes | 0x2020202020202020 }

// place is where a code belongs: which shard, and which tag. Variants of a code that differ by case share it.
type place struct {
	shard int
	tag   uint64
}

// hashKey is a random key of the process: without it nobody can choose codes that collide.
type hashKey [3]uint64

func newHashKey() (k hashKey) {
	for i := range k {
		var b [8]byte
		_, _ = rand.Read(b[:]) // never fails
		k[i] = binary.LittleEndian.Uint64(b[:])
	}
	return k
}

// place hashes the case-folded code, eight bytes at a time by folded multiplication as wyhash does. The few instructions
// matter: the less there is in a look-up, the more of it overlaps with waiting for memory.
func (k *hashKey) place(code []byte) place {
	h := k.sum(code)
	return place{shard: int(h >> (64 - shardBits)), tag: h & (1<<tagBits - 1)}
}

// placeOfWord is place of a code of eight bytes.
func (k *hashKey) placeOfWord(code uint64) place {
	h := hash.Mix(hash.Mix(k[0]^wordBytes^caseFold(code), k[1]), k[2])
	return place{shard: int(h >> (64 - shardBits)), tag: h & (1<<tagBits - 1)}
}

// sum is the hash itself. It folds case.
func (k *hashKey) sum(code []byte) uint64 {
	h := k[0] ^ uint64(len(code))
	for len(code) > 8 {
		h = hash.Mix(h^caseFold(binary.LittleEndian.Uint64(code)), k[1])
		code = code[8:]
	}
	return hash.Mix(hash.Mix(h^caseFold(tail(code)), k[1]), k[2])
}

// tail packs up to eight bytes into a word, such that codes of one length differ in it.
func tail(b []byte) uint64 {
	switch n := len(b); {
	case n == 8:
		return binary.LittleEndian.Uint64(b)
	case n >= 4:
		return uint64(binary.LittleEndian.Uint32(b)) | uint64(binary.LittleEndian.Uint32(b[n-4:]))<<32
	case n > 0:
		return uint64(b[0]) | uint64(b[n/2])<<8 | uint64(b[n-1])<<16
	}
	return 0
}

// lookup returns the live link of code. It takes no lock.
func (s *shard) lookup(tag uint64, code []byte) (l Link, ok bool) {
	t := s.current.Load()
	r, _ := t.find(tag, code)
	runtime.KeepAlive(t) // its groups are mapped; what was found is the arena's
	if r == nil || *(*Flags)(unsafe.Add(r, 3))&FlagTombstone != 0 {
		return Link{}, false
	}
	return Link{record: r, arena: t.arena}, true
}

// variantsLocked calls fn for every record whose code is code or differs from it only by case.
func (s *shard) variantsLocked(tag uint64, code []byte, fn func(HotView)) {
	t := s.current.Load()
	var a, b [MaxCodeBytes]byte
	folded := string(foldCase(&a, code))
	for slot := range t.probe(tag) {
		if v := view(t.arena.record(*slot & offsetMask)); string(foldCase(&b, v.Code)) == folded {
			fn(v)
		}
	}
}

// put publishes h as what its code is from now on.
func (s *shard) put(tag uint64, h *HotView) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.putLocked(tag, h)
}

func (s *shard) putLocked(tag uint64, h *HotView) error {
	s.mu.puts++
	t := s.current.Load()
	old, slot := t.find(tag, h.Code)
	if old == nil {
		var superseded bool
		if old, slot, superseded = t.tombstoneVariant(tag, h); superseded {
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
	entry := tag<<offsetBits | offset
	if old != nil {
		s.retireLocked(view(t.arena.record(*slot & offsetMask)))
		atomic.StoreUint64(slot, entry)
	} else {
		t.insert(entry)
		s.mu.used++
	}
	s.countLocked(h, 1)
	if h.purged() {
		s.discardLocked(h)
	}
	if s.mu.garbageBytes > max(t.arena.usedBytes/4, minGarbageBytes) {
		s.rewriteLocked()
	}
	s.checkLocked()
	return nil
}

// tombstoneVariant returns the tombstone of a code that differs from h's only by case and had the same owner, whose slot h takes
// over: it would block the same codes for the same time or longer. So a folded code has at most one slot an owner beside links
// that are or were imported (maxVariants), and nobody can fill a probe sequence by making and deleting variants of one code.
// superseded tells that h itself is a tombstone that blocks nothing which the index does not block already, as may happen on
// loading. The shard's mutex is held.
func (t *table) tombstoneVariant(tag uint64, h *HotView) (old unsafe.Pointer, slot *uint64, superseded bool) {
	var a, b [MaxCodeBytes]byte
	folded := string(foldCase(&a, h.Code))
	for s := range t.probe(tag) {
		v := view(t.arena.record(*s & offsetMask))
		if v.Owner != h.Owner || string(foldCase(&b, v.Code)) != folded {
			continue
		}
		dead := v.Flags&FlagTombstone != 0
		if h.Flags&FlagTombstone != 0 && (!dead || v.DeletedAtMs >= h.DeletedAtMs) {
			return nil, nil, true
		}
		if dead {
			old, slot = t.arena.at(*s&offsetMask), s
		}
	}
	return old, slot, false
}

// retireLocked books a superseded record as garbage.
func (s *shard) retireLocked(v HotView) {
	if !v.purged() { // that one is garbage from the start
		s.discardLocked(&v)
	}
	s.countLocked(&v, -1)
}

func (s *shard) discardLocked(v *HotView) {
	s.mu.garbageBytes += uint64(recordBytes(len(v.Code), len(v.Target), v.Flags))
	s.garbage.Store(int64(s.mu.garbageBytes))
}

func (s *shard) countLocked(v *HotView, n int64) {
	switch {
	case v.purged():
	case v.Flags&FlagTombstone != 0:
		s.tombstones.Add(n)
	default:
		s.links.Add(n)
	}
}

// roomLocked returns a table with room for one more entry: t, or a published one of twice the size. A table is full at
// six of seven slots.
func (s *shard) roomLocked(t *table) (*table, error) {
	if s.mu.used < (groupSlots-1)*len(t.groups) {
		return t, nil
	}
	if len(t.groups) >= maxGroups {
		return nil, errShardFull
	}
	larger := newTable(2*len(t.groups), t.arena)
	for entry := range t.entries {
		larger.insert(entry)
	}
	s.publishTable(larger)
	return larger, nil
}

// rewriteLocked copies what is live into a new arena and publishes it. Readers that still hold a link of the old arena
// keep that alive. Codes that were purged go.
func (s *shard) rewriteLocked() {
	old := s.current.Load()
	fresh := newTable(len(old.groups), newArena(s.mapped))
	used := 0
	for entry := range old.entries {
		v := view(old.arena.record(entry & offsetMask))
		if v.purged() {
			continue
		}
		offset, _, ok := fresh.arena.appendRecord(&v)
		if !ok {
			panic("engine: a rewritten arena is larger than the one it came from")
		}
		fresh.insert(entry&^offsetMask | offset)
		used++
	}
	s.mu.used, s.mu.garbageBytes = used, 0
	s.garbage.Store(0)
	s.publishTable(fresh)
}

// checkLocked verifies the shard whole, in builds with invariants: at each write while it is small, and then at one in
// 256.
func (s *shard) checkLocked() {
	if !invariants.Enabled || s.mu.used > 256 && s.mu.puts%256 != 0 {
		return
	}
	t := s.current.Load()
	used, live, dead := 0, int64(0), int64(0)
	for entry := range t.entries {
		used++
		v := view(t.arena.record(entry & offsetMask))
		if r, _ := t.find(entry>>offsetBits, v.Code); r != t.arena.at(entry&offsetMask) {
			panic(fmt.Sprintf("engine: code %q is not found in its own slot", v.Code))
		}
		switch {
		case v.purged():
		case v.Flags&FlagTombstone != 0:
			dead++
		default:
			live++
		}
	}
	if used != s.mu.used || live != s.links.Load() || dead != s.tombstones.Load() {
		panic(fmt.Sprintf("engine: shard counts %d used, %d live, %d tombstones; found %d, %d, %d",
			s.mu.used, s.links.Load(), s.tombstones.Load(), used, live, dead))
	}
}
