package index

import (
	"encoding/binary"
	"math/bits"
	"runtime"
	"unsafe"
)

// Link is the part of a link that a redirect needs: a reference of two words to its record in
// memory, read on demand. The record never changes; an edit makes another one. No method may be called
// after Release. The zero Link is not a link; its methods must not be called.
type Link struct {
	record unsafe.Pointer
	arena  *arena // keeps the mapped memory under record alive
}

// AppendTarget appends the target, as it is stored, to dst. It may overwrite the next 16
// bytes of dst's room as well, and allocates nothing if dst has room for them.
func (l Link) AppendTarget(dst []byte) []byte { return l.arena.appendPlain(dst, l.keptTarget()) }

// keptTarget returns the target as the arena keeps it, which it aliases.
func (l Link) keptTarget() []byte {
	if l.word()&unusualBits == 0 {
		return unsafe.Slice((*byte)(unsafe.Add(l.record, narrowHeaderBytes)), *(*uint32)(unsafe.Add(l.record, 12))>>narrowOwnerBits)
	}
	return unsafe.Slice((*byte)(unsafe.Add(l.record, l.targetAt())), l.targetBytes())
}

// Encoded reports whether the target goes out percent-encoded, because it has bytes that RFC 3986 does not
// allow in an address. Else Location is the target as it is.
func (l Link) Encoded() bool { return l.wideWith(wideEncoded) }

// wideWith reports whether the record is wide and has this bit of wide records.
func (l Link) wideWith(bit uint64) bool { return l.word()&(wideMark|bit) == wideMark|bit }

// CountsAtOnce reports whether a hit raises the counter itself: the link has a cap, or is about to get one.
func (l Link) CountsAtOnce() bool { return l.word()&cappedBit != 0 || l.wideWith(wideCountsAtOnce) }

// Domain returns the link's domain.
func (l Link) Domain() Domain {
	if l.word()&elsewhereBit == 0 {
		return DefaultDomain
	}
	return DomainOf(l.Owner())
}

// Key returns the link's key. The code is appended to room, which may be nil, as by AppendCode.
func (l Link) Key(room []byte) KeyView { return KeyView{Domain: l.Domain(), Code: l.AppendCode(room)} }

func (l Link) word() uint64 { return *(*uint64)(l.record) }

func (l Link) wide() bool { return l.word()&wideMark != 0 }

// AppendCode appends the link's code to dst. It may overwrite the next 7 bytes of dst's room as well.
func (l Link) AppendCode(dst []byte) []byte {
	w := l.word()
	if w&wideMark != 0 {
		return append(dst, unsafe.Slice((*byte)(unsafe.Add(l.record, wideHeaderBytes)), w&0x7f)...)
	}
	w &= charBits
	codeBytes := (bits.Len64(w) + 7) / 8
	return binary.LittleEndian.AppendUint64(dst, w)[:len(dst)+codeBytes]
}

// Flags returns the link's flags.
func (l Link) Flags() Flags { return gather(l.word() &^ (wideMark | elsewhereBit)) }

// Owner returns the owner's number: see OwnerIn.
func (l Link) Owner() uint32 {
	if l.wide() {
		return *(*uint32)(unsafe.Add(l.record, 16))
	}
	owner := *(*uint32)(unsafe.Add(l.record, 12)) & narrowOwnerMask
	if l.word()&elsewhereBit != 0 {
		owner = owner>>narrowUserBits<<userBits | owner&narrowUserMask
	}
	return owner
}

// ID returns the link's id: 48 bits; never reused.
func (l Link) ID() uint64 {
	if l.wide() {
		return *(*uint64)(unsafe.Add(l.record, 8))
	}
	return l.arena.idHigh<<32 | uint64(*(*uint32)(unsafe.Add(l.record, 8)))
}

// ExpiresAtMs returns the expiry in Unix milliseconds; 0: never.
func (l Link) ExpiresAtMs() int64 {
	if l.word()&expiresBit == 0 {
		return 0
	}
	return l.firstField()
}

// MaxHits returns the cap; 0: no cap.
func (l Link) MaxHits() uint64 {
	if l.word()&cappedBit == 0 || isTombstone(l.record) {
		return 0
	}
	return *(*uint64)(unsafe.Add(l.record, uint64(l.headBytes())+l.word()&expiresBit>>28)) // after the expiry's 8 bytes
}

// Expired reports whether the link's expiry has passed at nowMs (Unix milliseconds).
func (l Link) Expired(nowMs int64) bool {
	return l.word()&expiresBit != 0 && nowMs >= l.firstField()
}

// Unusual reports whether the link may have an expiry, a cap or extras. If it has none of them, as most links, the
// answer is no as a rule: one test for all that a redirect need not ask such a link.
func (l Link) Unusual() bool { return l.word()&unusualBits != 0 }

// Extras returns what few links have, as package extras lays it out; nil: nothing. It aliases the record.
func (l Link) Extras() []byte {
	if !l.wideWith(wideExtras) {
		return nil
	}
	at := unsafe.Add(l.record, l.fieldsEnd())
	return unsafe.Slice((*byte)(unsafe.Add(at, extrasLenBytes)), *(*uint16)(at))
}

// Release ends the use of the link. It costs nothing: it only tells the compiler that the memory was
// needed until here.
func (l Link) Release() { runtime.KeepAlive(l.arena) }

// headBytes is the size of the record up to the fields that not all records have.
func (l Link) headBytes() int {
	if w := l.word(); w&wideMark != 0 {
		return wideHeaderBytes + int(w&0x7f)
	}
	return narrowHeaderBytes
}

// firstField returns what follows the head: the expiry or the deletion, if the record has one.
func (l Link) firstField() int64 { return *(*int64)(unsafe.Add(l.record, l.headBytes())) }

func (l Link) targetAt() int {
	at := l.fieldsEnd()
	if l.wideWith(wideExtras) {
		at += extrasLenBytes + len(l.Extras())
	}
	return at
}

// fieldsEnd returns where the fields of fixed width end.
func (l Link) fieldsEnd() int {
	f := l.Flags()
	if isTombstone(l.record) {
		f |= FlagTombstone
	}
	return l.headBytes() + fieldBytes(f)
}

// targetBytes is the length of the target.
func (l Link) targetBytes() int {
	if w := l.word(); w&wideMark != 0 {
		return int(w>>8&0x7f | w>>16&0x7f<<7)
	}
	return int(*(*uint32)(unsafe.Add(l.record, 12)) >> narrowOwnerBits)
}
