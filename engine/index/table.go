package index

import (
	"iter"
	"math/bits"
	"runtime"
	"sync/atomic"
	"unsafe"

	"shunt/engine/internal/limits"
	"shunt/engine/internal/mmap"
)

const (
	// An index slot is a tag and an offset: tag<<offsetBits | offset. The tag is part of the hash
	// of the case-folded code. Its high bits choose the group where probing starts, so that growth
	// need not read the records; its low byte is in the group's control word.
	tagBits = 64 - offsetBits

	groupWords = 8              // a group is one cache line: its control word and
	groupSlots = groupWords - 1 // its slots
	minGroups  = 64             // of the first shard; see shard.init
	maxGroups  = 1 << tagBits
)

// table is one version of a shard's index: groups of seven slots, with linear probing over groups.
//
//	control word: byte i is the tag byte of slot i, 0 if it is empty; byte 7 is 0
//	┌──────────────┬────────┬────────┬────────┬────────┬────────┬────────┬────────┐
//	│ t t t t 0 0 0│ slot 0 │ slot 1 │ slot 2 │ slot 3 │ empty  │ empty  │ empty  │  64 bytes, aligned
//	└──────────────┴────────┴────────┴────────┴────────┴────────┴────────┴────────┘
//
// A look-up compares the seven tag bytes at once (the SWAR match of Abseil's Swiss tables, without
// SIMD), so that it mostly reads one cache line and takes no branch that the processor cannot
// predict. Slots fill in order and are never emptied, so a group whose last slot is empty ends a
// probe. Readers load control words and slots atomically; a writer stores the slot first, then the
// control word. A table that is too small is replaced, never resized.
type table struct {
	groups []group // any number; outside the Go heap once they fill a huge page
	arena  *arena
}

type group [groupWords]uint64

// mappedTableBytes is the size from which a table is mapped outside the Go heap. It is a variable
// for tests.
var mappedTableBytes = mmap.HugePageBytes

func newTable(groups int, a *arena) *table {
	t := &table{arena: a}
	if sizeBytes := 8 * groupWords * groups; sizeBytes < mappedTableBytes {
		t.groups = make([]group, groups)
	} else {
		b := mmap.HugeMemory(sizeBytes)
		t.groups = unsafe.Slice((*group)(unsafe.Pointer(unsafe.SliceData(b))), groups)
		runtime.AddCleanup(t, mmap.Unmap, b)
	}
	return t
}

// bytes returns the memory that the groups take.
func (t *table) bytes() int { return 8 * groupWords * len(t.groups) }

// full reports whether the table must grow before it takes another entry, when it has used of them.
// It is full at seven eighths of its slots. By then one entry in twelve is not in its first group.
func (t *table) full(used int) bool { return 8*used >= 7*groupSlots*len(t.groups) }

// larger returns an empty table with an eighth more groups over the same arena.
func (t *table) larger() *table {
	return newTable(min(len(t.groups)+(len(t.groups)+7)/8, maxGroups), t.arena)
}

// home returns the group where probing for tag starts: tag / 2^tagBits of the way through the table.
// So any number of groups is used evenly, and growth keeps the order of entries. (Lemire: Fast Random
// Integer Generation in an Interval, 2019.)
func (t *table) home(tag uint64) uint { return uint(tag * uint64(len(t.groups)) >> tagBits) }

// after returns the group that follows group n.
func (t *table) after(n uint) uint {
	if n++; n == uint(len(t.groups)) {
		return 0
	}
	return n
}

const (
	lowBits  = 0x0101010101010101
	highBits = 0x0080808080808080 // not of byte 7, which belongs to no slot
)

// tagByte returns the tag's byte in control words: its low byte, but never 0.
func tagByte(tag uint64) uint64 { return max(tag&0xff, 1) }

// matchByte returns a word whose high bits mark the bytes of control that equal the byte that want
// repeats. It may mark a byte too many above a match (a borrow), but it never misses one.
func matchByte(control, want uint64) uint64 {
	x := control ^ want
	return (x - lowBits) &^ x & highBits
}

// groupFull reports whether the last slot of a group is taken, given its control word.
func groupFull(control uint64) bool { return control>>(8*(groupSlots-1)) != 0 }

// find returns the record of code and the slot that names it, or nil.
func (t *table) find(tag uint64, code []byte) (record unsafe.Pointer, slot *uint64) {
	word := wordOf(code)
	want := tagByte(tag) * lowBits
	for n := t.home(tag); ; n = t.after(n) {
		g := &t.groups[n]
		control := atomic.LoadUint64(&g[0])
		for m := matchByte(control, want); m != 0; m &= m - 1 {
			s := &g[(bits.TrailingZeros64(m)/8+1)%groupWords]
			entry := atomic.LoadUint64(s)
			if r := t.arena.at(entry & offsetMask); entry>>offsetBits == tag && codeIs(r, word, code) {
				return r, s
			}
		}
		if !groupFull(control) {
			return nil, nil
		}
	}
}

// firstSlot returns the slot of the first match in the group where probing for tag starts; nil if
// there is none.
func (t *table) firstSlot(tag uint64) *uint64 {
	g := unsafe.Add(unsafe.Pointer(unsafe.SliceData(t.groups)), t.home(tag)*(8*groupWords))
	m := matchByte(atomic.LoadUint64((*uint64)(g)), tagByte(tag)*lowBits)
	if m == 0 {
		return nil
	}
	return (*uint64)(unsafe.Add(g, 1+bits.TrailingZeros64(m))) // the mark of slot i is bit 8*i+7, the slot is at byte 8*i+8
}

// insert puts an entry into the first free slot of its probe sequence. The shard's mutex is held,
// and there is room.
func (t *table) insert(entry uint64) {
	tag := entry >> offsetBits
	for n := t.home(tag); ; n = t.after(n) {
		g := &t.groups[n]
		if control := g[0]; !groupFull(control) {
			used := (bits.Len64(control) + 7) / 8
			atomic.StoreUint64(&g[1+used], entry)
			atomic.StoreUint64(&g[0], control|tagByte(tag)<<(8*used))
			return
		}
	}
}

// entries yields every entry. The shard's mutex is held.
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

// eachLive calls fn for the live link of every slot. It takes no lock.
func (t *table) eachLive(fn func(Link)) {
	for i := range t.groups {
		g := &t.groups[i]
		used := (bits.Len64(atomic.LoadUint64(&g[0])) + 7) / 8
		for slot := 1; slot <= used; slot++ {
			r := t.arena.at(atomic.LoadUint64(&g[slot]) & offsetMask)
			if !isTombstone(r) {
				fn(Link{record: r, arena: t.arena})
			}
		}
	}
	runtime.KeepAlive(t) // it maps the groups
}

// hasTag reports whether probe would yield a slot. The shard's mutex is held.
func (t *table) hasTag(tag uint64) bool {
	want := tagByte(tag) * lowBits
	for n := t.home(tag); ; n = t.after(n) {
		g := &t.groups[n]
		for m := matchByte(g[0], want); m != 0; m &= m - 1 {
			if g[(bits.TrailingZeros64(m)/8+1)%groupWords]>>offsetBits == tag {
				return true
			}
		}
		if !groupFull(g[0]) {
			return false
		}
	}
}

// probe yields the slots that a look-up of tag meets and that have this tag. The shard's mutex is
// held.
func (t *table) probe(tag uint64) iter.Seq[*uint64] {
	return func(yield func(*uint64) bool) {
		for n := t.home(tag); ; n = t.after(n) {
			g := &t.groups[n]
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

// tombstoneVariant returns the tombstone of a code that differs from h's only by case and had the
// same owner. h takes over its slot: as a rule, h blocks the same codes for the same time or longer
// (see type hidden for the rest). So a folded code has at most one slot per owner, in addition to links
// that are or were imported (maxVariants), and nobody can fill a probe sequence by making and deleting
// variants of one code. superseded reports that h itself is a tombstone that adds nothing to what the
// index already blocks, as may happen on loading. The shard's mutex is held.
func (t *table) tombstoneVariant(tag uint64, h *HotView) (old unsafe.Pointer, slot *uint64, superseded bool) {
	var a, b [limits.MaxCodeBytes]byte
	folded := string(foldCase(&a, h.Code))
	for s := range t.probe(tag) {
		v := t.arena.view(*s & offsetMask)
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
