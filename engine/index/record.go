package index

import (
	"encoding/binary"
	"math"
	"unsafe"

	"shunt/engine/internal/limits"
)

const (
	narrowHeaderBytes = 16
	wideHeaderBytes   = 20
	maxRecordBytes    = wideHeaderBytes + limits.MaxCodeBytes + 16 + extrasLenBytes + limits.MaxExtrasBytes + maxCodedBytes

	extrasLenBytes = 2 // of the length before the extras

	// What a narrow record has room for.
	narrowOwnerBits  = 22
	narrowTargetBits = 10
	narrowOwnerMask  = 1<<narrowOwnerBits - 1

	// The owner bits of a narrow record outside the default domain are a domain and a user.
	narrowUserBits = 12
	narrowUserMask = 1<<narrowUserBits - 1
	narrowDomains  = 1 << (narrowOwnerBits - narrowUserBits)

	// purgedAtMs as the deletion time of a tombstone in memory means that the store no longer has
	// the record. The slot stays until its code is taken again or the shard is rewritten.
	purgedAtMs = math.MinInt64
)

// A record in an arena, little-endian (as every platform is that Go and mmap share, in practice; a
// test holds it). A link whose code has at most eight bytes has a narrow record:
//
//	 0              8        12      14,75     16
//	┌──────────────┬────────┬───────┬─────────┬────────────┬───────┬──────────┐
//	│ code │ flags │ low id │ owner │ target  │ expiry     │ cap   │ target   │
//	│ 8 × 7  8 × 1 │ 32     │ 22    │ 10 bits │ 8, in ms   │ 8     │ bytes    │
//	└──────────────┴────────┴───────┴─────────┴────────────┴───────┴──────────┘
//
// The first word is the code, filled up with zeros, whose characters leave the high bit of each byte
// free; that of byte i is bit i of the flags. The bit of FlagTombstone, which a link does not have,
// marks a wide record. The last one is that of a link elsewhere: the 22 bits of its owner are 10 of the domain and 12
// of the user then. High halves of ids are those of the arena's first record. What has no room there, a tombstone, a
// longer code, a target that goes out percent-encoded, a link with extras or one that is about to get a cap gets a wide
// record:
//
//	 0              8        16      20
//	┌──────────────┬────────┬───────┬────────────┬────────────┬───────┬────────────────┬──────────┐
//	│ lens │ flags │ id     │ owner │ code bytes │ expiry or  │ cap   │ length │ extras│ target   │
//	│ 8 × 7  8 × 1 │ 64     │ 32    │            │ deletion   │ 8     │ 2      │ bytes │ bytes    │
//	└──────────────┴────────┴───────┴────────────┴─8, in ms───┴───────┴────────┴───────┴──────────┘
//
// Its first word has flags in the high bits too. The other bits are, from byte 0 on: 7 bits length
// of the code, 2 × 7 bits length of the target, 1 bit that marks a tombstone, 1 bit that marks a target
// which goes out percent-encoded, 1 bit that marks a link whose hits raise its counter themselves, 1 bit that marks
// a link with extras.
//
// The expiry is present with FlagExpires, the deletion with FlagTombstone (a tombstone has no
// expiry), the cap with FlagCapped, the extras with their bit. What they say is not known here.
const (
	charBits = 0x7f7f7f7f7f7f7f7f
	flagBits = ^uint64(charBits)
	wideMark = uint64(FlagTombstone) << 2 << (5 * 8) // the high bit of byte 5; FlagTombstone is bit 5

	expiresBit = uint64(FlagExpires) << 4 << (3 * 8)
	cappedBit  = uint64(FlagCapped) << 3 << (4 * 8)

	// elsewhereBit is among the bits that a look-up compares, so that one in the default domain never finds a
	// link that is elsewhere, at no cost.
	elsewhereBit = uint64(flagElsewhere) << (7 * 8)

	// unusualBits put something between the header of a narrow record and its target.
	unusualBits = wideMark | expiresBit | cappedBit

	wideTombstone = 1 << 24

	// wideEncoded marks a target that does not go out as it is; see Link.Encoded.
	wideEncoded = 1 << 25

	// wideCountsAtOnce marks a link without a cap whose hits raise its counter themselves; see Link.CountsAtOnce.
	wideCountsAtOnce = 1 << 26

	// wideExtras marks a link with extras; see Link.Extras.
	wideExtras = 1 << 27

	// noLink is the word at offset 0, which a look-up finds in a slot that is empty or was dropped: the
	// tombstone of no code.
	noLink = wideMark | wideTombstone
)

// HotView is the part of a link that redirects need. Put takes it; Variants and a store that loads
// its links pass it on. Its slices alias a buffer of the caller: valid only during the call.
type HotView struct {
	KeyView
	Target      []byte
	Extras      []byte // what few links have, as package extras lays it out; empty: nothing; at most limits.MaxExtrasBytes
	ID          uint64
	ExpiresAtMs int64
	MaxHits     uint64
	DeletedAtMs int64
	Owner       uint32 // in the domain of the key: see OwnerIn
	Flags       Flags

	CountsAtOnce bool // a hit raises the counter itself, as hits of capped links do; in memory only
	encoded      bool // the target does not go out as it is; Put finds that out
}

// Purged reports whether the record is a tombstone that no longer blocks anything.
func (v *HotView) Purged() bool { return v.Flags&FlagTombstone != 0 && v.DeletedAtMs == purgedAtMs }

// spread puts bit i of f into the high bit of byte i.
func spread(f Flags) uint64 {
	const bitOfByte, toHighBit = 0x8040201008040201, 0x00406070787c7e7f
	return (uint64(f)*lowBits&bitOfByte + toHighBit) & flagBits
}

// gather is the inverse of spread. Each bit of the factor moves the bit of one byte to its place, and
// no two meet.
func gather(w uint64) Flags { return Flags((w & flagBits) * 0x0002040810204081 >> 56) }

// wordBytes is the length of codes that fit into one word, as drawn codes do.
const wordBytes = 8

// wordOf returns a code of up to eight bytes as a word, filled up with zeros; 0 for a longer code.
func wordOf(code []byte) (word uint64) {
	switch n := len(code); {
	case n > wordBytes:
		return 0
	case n == wordBytes:
		return binary.LittleEndian.Uint64(code)
	case n >= 4: // both halves, which may overlap in equal bytes
		return uint64(binary.LittleEndian.Uint32(code)) | uint64(binary.LittleEndian.Uint32(code[n-4:]))<<(8*(n-4))
	}
	for i, c := range code {
		word |= uint64(c) << (8 * i)
	}
	return word
}

// narrowOwner returns the owner bits of a narrow record; ok is false if the owner does not fit.
func narrowOwner(owner uint32) (bits uint32, ok bool) {
	d, user := owner>>userBits, owner&MaxUser
	if d == uint32(DefaultDomain) {
		return owner, true
	}
	return d<<narrowUserBits | user, d < narrowDomains && user <= narrowUserMask
}

// narrow reports whether h gets a narrow record in an arena with these high halves of ids.
func (h *HotView) narrow(idHigh uint64) bool {
	_, ok := narrowOwner(h.Owner)
	return ok && len(h.Code) <= wordBytes && !h.encoded && !h.CountsAtOnce && len(h.Extras) == 0 && h.Flags&FlagTombstone == 0 && h.ID>>32 == idHigh &&
		len(h.Target) < 1<<narrowTargetBits && wordOf(h.Code)&flagBits == 0
}

// headBytes is the size of h's record up to the fields that not all records have.
func (h *HotView) headBytes(narrow bool) int {
	if narrow {
		return narrowHeaderBytes
	}
	return wideHeaderBytes + len(h.Code)
}

// readBytes is the size of what a look-up compares. It is not the whole head of a narrow record,
// because the rest is read together with the target, which often lies in the next line anyway.
func (h *HotView) readBytes(narrow bool) int {
	if narrow {
		return wordBytes
	}
	return h.headBytes(false)
}

// restBytes is the size of the fields between the head of h's record and its target.
func (h *HotView) restBytes() int {
	n := fieldBytes(h.Flags)
	if len(h.Extras) > 0 {
		n += extrasLenBytes + len(h.Extras)
	}
	return n
}

// fieldBytes is the size of the fields of fixed width after the head of a record.
func fieldBytes(f Flags) (n int) {
	if f&(FlagExpires|FlagTombstone) != 0 {
		n += 8
	}
	if f&FlagCapped != 0 {
		n += 8
	}
	return n
}

// recordBytes is the size of h's record.
func (a *arena) recordBytes(h *HotView) int {
	return h.headBytes(h.narrow(a.idHigh)) + h.restBytes() + len(h.Target)
}

// appendRecord appends h as a new record. The shard's mutex is held.
func (a *arena) appendRecord(h *HotView) (offset uint32, sizeBytes int, ok bool) {
	if a.usedBytes == 0 && a.idHigh == 0 {
		a.idHigh = h.ID >> 32
	}
	return a.appendAs(h)
}

// appendAs is appendRecord into an arena whose idHigh is set.
func (a *arena) appendAs(h *HotView) (offset uint32, sizeBytes int, ok bool) {
	sizeBytes = a.recordBytes(h)
	narrow := h.narrow(a.idHigh)
	headBytes := h.headBytes(narrow)
	offset, b, ok := a.alloc(sizeBytes, h.readBytes(narrow))
	if !ok {
		return 0, 0, false
	}
	if narrow {
		h.putNarrow(b)
	} else {
		h.putWide(b)
	}
	h.putRest(b[headBytes:])
	return offset, sizeBytes, true
}

func (h *HotView) putNarrow(b []byte) {
	binary.LittleEndian.PutUint64(b, wordOf(h.Code)|spread(h.Flags)|elsewhere(h.Domain))
	binary.LittleEndian.PutUint32(b[8:], uint32(h.ID))
	owner, _ := narrowOwner(h.Owner)
	binary.LittleEndian.PutUint32(b[12:], owner|uint32(len(h.Target))<<narrowOwnerBits)
}

func (h *HotView) putWide(b []byte) {
	w := spread(h.Flags&^FlagTombstone) | elsewhere(h.Domain) | wideMark | uint64(len(h.Code)) | uint64(len(h.Target)&0x7f)<<8 | uint64(len(h.Target)>>7)<<16
	if h.Flags&FlagTombstone != 0 {
		w |= wideTombstone
	}
	if h.encoded {
		w |= wideEncoded
	}
	if h.CountsAtOnce {
		w |= wideCountsAtOnce
	}
	if len(h.Extras) > 0 {
		w |= wideExtras
	}
	binary.LittleEndian.PutUint64(b, w)
	binary.LittleEndian.PutUint64(b[8:], h.ID)
	binary.LittleEndian.PutUint32(b[16:], h.Owner)
	copy(b[wideHeaderBytes:], h.Code)
}

// putRest writes the fields that only some records have, and the target.
func (h *HotView) putRest(b []byte) {
	if h.Flags&(FlagExpires|FlagTombstone) != 0 {
		ms := h.ExpiresAtMs
		if h.Flags&FlagTombstone != 0 {
			ms = h.DeletedAtMs
		}
		binary.LittleEndian.PutUint64(b, uint64(ms))
		b = b[8:]
	}
	if h.Flags&FlagCapped != 0 {
		binary.LittleEndian.PutUint64(b, h.MaxHits)
		b = b[8:]
	}
	if len(h.Extras) > 0 {
		binary.LittleEndian.PutUint16(b, uint16(len(h.Extras)))
		b = b[extrasLenBytes+copy(b[extrasLenBytes:], h.Extras):]
	}
	copy(b, h.Target)
}

// appendCopy appends a copy of a record of the arena that a is to replace.
func (a *arena) appendCopy(from *arena, offset uint32) (_ uint32, ok bool) {
	a.idHigh = from.idHigh
	if a.symbols != from.symbols {
		return a.appendRecoded(from, offset)
	}
	l := Link{record: from.at(offset), arena: from}
	targetAt, targetBytes := l.targetAt(), l.targetBytes()
	readBytes := l.headBytes()
	if !l.wide() {
		readBytes = wordBytes
	}
	copied, b, ok := a.alloc(targetAt+targetBytes, readBytes)
	if ok {
		copy(b, from.record(offset))
	}
	return copied, ok
}

// appendRecoded is appendCopy where targets are coded by another table.
func (a *arena) appendRecoded(from *arena, offset uint32) (_ uint32, ok bool) {
	var plain, room [256]byte
	v := from.view(offset)
	v.Target = coded(room[:0], a.symbols, from.appendPlain(plain[:0], v.Target))
	copied, _, ok := a.appendAs(&v)
	return copied, ok
}

// view decodes the record with this offset. Its target is as the arena keeps it. Target and extras alias the arena.
func (a *arena) view(offset uint32) (v HotView) {
	l := Link{record: a.at(offset), arena: a}
	targetAt := l.targetAt() // a tombstone has no target, and may end where its chunk ends
	kept := a.record(offset)[targetAt : targetAt+l.targetBytes()]
	v = HotView{KeyView: l.Key(nil), Target: kept, Extras: l.Extras(), ID: l.ID(), Owner: l.Owner(), Flags: l.Flags()}
	v.encoded, v.CountsAtOnce = l.Encoded(), l.wideWith(wideCountsAtOnce)
	v.ExpiresAtMs, v.MaxHits = l.ExpiresAtMs(), l.MaxHits()
	if isTombstone(l.record) {
		v.Flags |= FlagTombstone
		v.DeletedAtMs, v.ExpiresAtMs = l.firstField(), 0
	}
	return v
}

// isTombstone reports whether the record at r is a tombstone.
func isTombstone(r unsafe.Pointer) bool {
	const both = wideMark | wideTombstone
	return *(*uint64)(r)&both == both
}

// isPurged reports whether the record at r is a tombstone that no longer blocks anything.
func isPurged(r unsafe.Pointer) bool {
	return isTombstone(r) && Link{record: r}.firstField() == purgedAtMs
}

// elsewhere returns the bit in the first word of a record that says that its link is not in the default domain.
func elsewhere(d Domain) uint64 {
	if d == DefaultDomain {
		return 0
	}
	return elsewhereBit
}

// keyIs reports whether the record at r has this code, whose word with the bit of elsewhere is word. If that bit is
// set, the domain may be another one than the caller looks for.
func keyIs(r unsafe.Pointer, word uint64, code []byte) bool {
	w := *(*uint64)(r)
	if w&wideMark == 0 {
		return w&(charBits|elsewhereBit) == word
	}
	return w&(0x7f|elsewhereBit) == uint64(len(code))|word&elsewhereBit && unsafe.String((*byte)(unsafe.Add(r, wideHeaderBytes)), len(code)) == string(code)
}

// isLiveWord reports whether the record at r is narrow and has this code, which is ASCII, in the default
// domain. Wide records, and those of other domains, never match, because of their bits.
func isLiveWord(r unsafe.Pointer, word uint64) bool {
	return *(*uint64)(r)&^(flagBits&^(wideMark|elsewhereBit)) == word
}
