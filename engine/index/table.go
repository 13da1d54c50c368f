package index

import (
	"bytes"
	"iter"
	"math/bits"
	"runtime"
	"sync/atomic"
	"unicode"
	"unsafe"

	"shunt/engine/internal/limits"
	"shunt/engine/internal/mmap"
)

const (
	// A tag is part of the hash of the case-folded code. Its high bits choose the group where probing
	// starts, so that growth need not read the records. Its low byte, the mark, is in the group's
	// control word. It is never 0.
	tagBits  = 32
	markBits = 8
	markMask = 1<<markBits - 1
	restBits = tagBits - markBits

	groupBytes = 64 // one cache line
	groupSlots = 8
	minGroups  = 64 // of the first shard; see shard.init
	maxGroups  = 1 << restBits
)

// table is one version of a shard's index: groups of eight slots, with linear probing over groups. A
// slot is the offset of a record and the rest of its tag:
//
//	control word: byte i is the mark of slot i, 0 if it is empty
//	┌─────────────────┬─────────────────────────────────┬─────────────────────────────────┐
//	│ m m m 0 0 0 0 0 │ offsets of slots 0 … 7, 4 bytes │ rests of tags 0 … 7, 3 bytes    │  64 bytes, aligned
//	└─────────────────┴─────────────────────────────────┴─────────────────────────────────┘
//
// A look-up compares the eight marks at once (the SWAR match of Abseil's Swiss tables, without
// SIMD), so that it mostly reads one cache line and takes no branch that the processor cannot
// predict. Slots fill in order and are never emptied, so a group whose last slot is empty ends a
// probe. Readers load control words and offsets atomically; a writer stores the rest of the tag
// first, then the offset, then the control word. An edit stores another offset. A table that is too
// small is replaced, never resized.
type table struct {
	groups []group // any number
	arena  *arena
	part   mmap.Part // the memory of groups; empty: the Go heap
	pinned bool      // somebody reads all of it: it must not be dropped. The shard's mutex guards it
}

type group struct {
	control atomic.Uint64
	offsets [groupSlots]atomic.Uint32
	rests   [groupSlots][restBits / 8]byte
}

// tag returns the tag of the entry in slot i, whose mark is mark.
func (g *group) tag(i int, mark uint64) uint64 { return g.rest(i)<<markBits | mark }

func (g *group) rest(i int) uint64 {
	r := &g.rests[i]
	return uint64(r[0]) | uint64(r[1])<<8 | uint64(r[2])<<16
}

// collapsedTableBytes is the size from which a table is put into huge pages at once: below, all tables
// together take 32 MiB at most, and copying a huge page takes longer than copying a table.
const collapsedTableBytes = 1 << 19

// tablesBytes is the size of the memory that tables share: 512 MiB, on a 32-bit machine, which is short of
// addresses, 32 MiB. Tables of 30 M links have some 350 MB; a table that does not fit has a mapping of its own.
const tablesBytes = 32 << 20 << (bits.UintSize / 64 * 4)

// mappedTableBytes is the size from which a table is mapped outside the Go heap. It is a variable
// for tests.
var mappedTableBytes = 1 << 16

func newTable(groups int, a *arena) *table {
	t := &table{arena: a}
	if sizeBytes := groupBytes * groups; sizeBytes < mappedTableBytes {
		t.groups = make([]group, groups)
	} else {
		t.part = a.memory.tables.Alloc(sizeBytes)
		t.groups = unsafe.Slice((*group)(unsafe.Pointer(unsafe.SliceData(t.part.Bytes))), groups)
		runtime.AddCleanup(t, mmap.Part.Free, t.part)
	}
	return t
}

// bytes returns the memory that the groups take.
func (t *table) bytes() int { return groupBytes * len(t.groups) }

// settle puts a table, whose entries have been copied, into huge pages.
func (t *table) settle() {
	if t.bytes() >= collapsedTableBytes {
		t.part.Collapse()
	}
	runtime.KeepAlive(t) // afterwards the part may be another table's
}

// drop gives the memory of a table that was replaced back to the kernel, unless somebody reads all of
// it. Look-ups that still read it may find zeros, and then look again (shard.lookup).
func (t *table) drop() {
	if !t.pinned {
		t.part.Drop()
	}
	runtime.KeepAlive(t) // afterwards the part may be another table's
}

// full reports whether the table must grow before it takes another entry, when it has used of them.
// It is full at 25 of 32 slots. By then one entry in fourteen is not in its first group.
func (t *table) full(used int) bool { return fullAt(used, len(t.groups)) }

// fullAt reports whether a table of this many groups is full with used entries.
func fullAt(used, groups int) bool { return 32*used >= 25*groupSlots*groups }

// larger returns an empty table over the same arena: with an eighth more groups, and as often an eighth
// more as it needs for the entries that are expected. So what is expected makes no other sizes.
func (t *table) larger(expected int) *table {
	groups := len(t.groups)
	for next := true; next; next = groups < maxGroups && fullAt(expected, groups) {
		groups = min(groups+(groups+7)/8, maxGroups)
	}
	return newTable(groups, t.arena)
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
	highBits = 0x8080808080808080
)

// matchByte returns a word whose high bits mark the bytes of control that equal the byte that want
// repeats. It may mark a byte too many above a match (a borrow), but it never misses one.
func matchByte(control, want uint64) uint64 {
	x := control ^ want
	return (x - lowBits) &^ x & highBits
}

// groupFull reports whether the last slot of a group is taken, given its control word.
func groupFull(control uint64) bool { return control>>(8*(groupSlots-1)) != 0 }

// find returns the record of a key and the slot that names it, or nil.
func (t *table) find(tag uint64, k KeyView) (record unsafe.Pointer, slot *atomic.Uint32) {
	word := wordOf(k.Code)
	if word&flagBits != 0 { // not ASCII: a wide record
		word = 0
	}
	word |= elsewhere(k.Domain)
	want := tag & markMask * lowBits
	for n := t.home(tag); ; n = t.after(n) {
		g := &t.groups[n]
		control := g.control.Load()
		for m := matchByte(control, want); m != 0; m &= m - 1 {
			i := bits.TrailingZeros64(m) / 8 % groupSlots
			offset := g.offsets[i].Load()
			if offset == 0 || g.rest(i) != tag>>markBits { // 0: a mark too many
				continue
			}
			if r := t.arena.at(offset); keyIs(r, word, k.Code) && (k.Domain == DefaultDomain || (Link{record: r}).Domain() == k.Domain) {
				return r, &g.offsets[i]
			}
		}
		if !groupFull(control) {
			return nil, nil
		}
	}
}

// findFolded returns the live record of a code that equals that of k or differs from it only by case: of several, one
// without upper-case letters, then the one with the least id.
func (t *table) findFolded(tag uint64, k KeyView) (best unsafe.Pointer) {
	var a, b [limits.MaxCodeBytes]byte
	folded, room := foldCase(&a, k.Code), [limits.MaxCodeBytes + wordBytes]byte{}
	bestLower, bestID := false, uint64(0)
	want := tag & markMask * lowBits
	for n := t.home(tag); ; n = t.after(n) {
		g := &t.groups[n]
		control := g.control.Load()
		for m := matchByte(control, want); m != 0; m &= m - 1 {
			i := bits.TrailingZeros64(m) / 8 % groupSlots
			offset := g.offsets[i].Load()
			if offset == 0 || g.rest(i) != tag>>markBits {
				continue
			}
			l := Link{record: t.arena.at(offset), arena: t.arena}
			if isTombstone(l.record) || l.Domain() != k.Domain {
				continue
			}
			code := l.AppendCode(room[:0])
			if !bytes.Equal(foldCase(&b, code), folded) {
				continue
			}
			if lower, id := !hasUpper(code), l.ID(); best == nil || lower && !bestLower || lower == bestLower && id < bestID {
				best, bestLower, bestID = l.record, lower, id
			}
		}
		if !groupFull(control) {
			return best
		}
	}
}

// hasUpper reports whether a code has upper-case letters.
func hasUpper(code []byte) bool { return bytes.ContainsFunc(code, unicode.IsUpper) }

// firstSlot returns the slot of the first mark of tag in the group where probing for it starts; nil
// if there is none. The rest of the tag may be another.
func (t *table) firstSlot(tag uint64) *atomic.Uint32 {
	g := unsafe.Add(unsafe.Pointer(unsafe.SliceData(t.groups)), t.home(tag)*groupBytes)
	m := matchByte((*atomic.Uint64)(g).Load(), tag&markMask*lowBits)
	if m == 0 {
		return nil
	}
	return (*atomic.Uint32)(unsafe.Add(g, 5+bits.TrailingZeros64(m)/2)) // the mark of slot i is bit 8*i+7, the offset is at byte 4*i+8
}

// insert puts an entry into the first free slot of its probe sequence. The shard's mutex is held,
// and there is room.
func (t *table) insert(tag uint64, offset uint32) {
	for n := t.home(tag); ; n = t.after(n) {
		g := &t.groups[n]
		if control := g.control.Load(); !groupFull(control) {
			i := slotsUsed(control)
			rest := tag >> markBits
			g.rests[i] = [...]byte{byte(rest), byte(rest >> 8), byte(rest >> 16)}
			mmap.StoreHalf(&g.offsets[i], offset)
			mmap.StoreLast(&g.control, control|tag&markMask<<(8*i))
			return
		}
	}
}

// slotsUsed returns the number of slots in use of the group with this control word.
func slotsUsed(control uint64) int { return (bits.Len64(control) + 7) / 8 }

// entries yields the tag and the offset of every entry. The shard's mutex is held.
func (t *table) entries(yield func(tag uint64, offset uint32) bool) {
	for n := range t.groups {
		g := &t.groups[n]
		for i, control := 0, g.control.Load(); control != 0; i, control = i+1, control>>8 {
			if !yield(g.tag(i, control&markMask), g.offsets[i].Load()) {
				return
			}
		}
	}
	runtime.KeepAlive(t)
}

// hasTag reports whether probe would yield a slot. The shard's mutex is held.
func (t *table) hasTag(tag uint64) bool {
	for range t.probe(tag) {
		return true
	}
	return false
}

// probe yields the slots that a look-up of tag meets and that have this tag. The shard's mutex is
// held.
func (t *table) probe(tag uint64) iter.Seq[*atomic.Uint32] {
	return func(yield func(*atomic.Uint32) bool) {
		for n := t.home(tag); ; n = t.after(n) {
			g := &t.groups[n]
			for m := matchByte(g.control.Load(), tag&markMask*lowBits); m != 0; m &= m - 1 {
				i := bits.TrailingZeros64(m) / 8 % groupSlots
				if g.offsets[i].Load() != 0 && g.rest(i) == tag>>markBits && !yield(&g.offsets[i]) {
					return
				}
			}
			if !groupFull(g.control.Load()) {
				return
			}
		}
	}
}

// tombstoneVariant returns the tombstone of a code that differs from h's only by case and had the
// same owner, and so the same domain. h takes over its slot: as a rule, h blocks the same codes for the same time or
// longer (see type hidden for the rest). So a folded code has at most one slot per owner, in addition to links
// that are or were imported (maxVariants), and nobody can fill a probe sequence by making and deleting
// variants of one code. superseded reports that h itself is a tombstone that adds nothing to what the
// index already blocks, as may happen on loading. The shard's mutex is held.
func (t *table) tombstoneVariant(tag uint64, h *HotView) (old unsafe.Pointer, slot *atomic.Uint32, superseded bool) {
	if !t.hasTag(tag) {
		return nil, nil, false
	}
	var a, b [limits.MaxCodeBytes]byte
	folded := string(foldCase(&a, h.Code))
	for s := range t.probe(tag) {
		v := t.arena.view(s.Load())
		if v.Owner != h.Owner || v.Domain != h.Domain || string(foldCase(&b, v.Code)) != folded {
			continue
		}
		dead := v.Flags&FlagTombstone != 0
		if h.Flags&FlagTombstone != 0 && (!dead || v.DeletedAtMs >= h.DeletedAtMs) {
			return nil, nil, true
		}
		if dead {
			old, slot = t.arena.at(s.Load()), s
		}
	}
	return old, slot, false
}
