package index

import (
	"math/bits"
	"runtime"
	"unsafe"
)

// Link is the part of a link that a redirect needs: a reference of two words to its record in
// memory, read on demand. The record never changes; an edit makes another one. The slice that
// Target returns aliases it: read-only, and valid until Release. The zero Link is not a link; its
// methods must not be called.
type Link struct {
	record unsafe.Pointer
	arena  *arena // keeps the mapped memory under record alive
}

// Target returns the target, which becomes the Location. It aliases the shard's arena: read-only,
// to be copied before Release.
func (l Link) Target() []byte {
	return unsafe.Slice((*byte)(unsafe.Add(l.record, l.targetAt())), *(*uint16)(l.record))
}

// Code returns the link's code, which aliases the shard's arena as Target does.
func (l Link) Code() []byte {
	return unsafe.Slice((*byte)(unsafe.Add(l.record, recordHeaderBytes)), *(*uint8)(unsafe.Add(l.record, 2)))
}

// Flags returns the link's flags.
func (l Link) Flags() Flags { return *(*Flags)(unsafe.Add(l.record, 3)) }

// Owner returns the owner's number.
func (l Link) Owner() uint32 { return *(*uint32)(unsafe.Add(l.record, 4)) }

// ID returns the link's id: 16 bits node, 48 bits counter; never reused.
func (l Link) ID() uint64 { return *(*uint64)(unsafe.Add(l.record, 8)) }

// ExpiresAtMs returns the expiry in Unix milliseconds; 0: never.
func (l Link) ExpiresAtMs() int64 {
	if l.Flags()&FlagExpires == 0 {
		return 0
	}
	return *(*int64)(unsafe.Add(l.record, l.optionalAt()))
}

// MaxHits returns the cap; 0: no cap.
func (l Link) MaxHits() uint64 {
	if l.Flags()&FlagCapped == 0 {
		return 0
	}
	return *(*uint64)(unsafe.Add(l.record, l.targetAt()-8))
}

// Expired reports whether the link's expiry has passed at nowMs (Unix milliseconds).
func (l Link) Expired(nowMs int64) bool {
	return l.Flags()&FlagExpires != 0 && nowMs >= l.ExpiresAtMs()
}

// Release ends the validity of the slice that Target returned. It costs nothing: it only tells the
// compiler that the memory was needed until here.
func (l Link) Release() { runtime.KeepAlive(l.arena) }

func (l Link) optionalAt() int { return recordHeaderBytes + int(*(*uint8)(unsafe.Add(l.record, 2))) }

func (l Link) targetAt() int {
	return l.optionalAt() + 8*bits.OnesCount8(uint8(l.Flags()&(FlagExpires|FlagCapped)))
}
