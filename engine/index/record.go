package index

import (
	"encoding/binary"
	"math"
	"unsafe"

	"shunt/engine/internal/limits"
)

const (
	recordHeaderBytes = 16
	maxRecordBytes    = recordHeaderBytes + limits.MaxCodeBytes + 16 + limits.MaxTargetBytes

	// purgedAtMs as the deletion time of a tombstone in memory means that the store no longer has
	// the record. The slot stays until its code is taken again or the shard is rewritten.
	purgedAtMs = math.MinInt64
)

// A record in an arena, little-endian (as every platform is that Go and mmap share, in practice; a
// test holds it):
//
//	 0        2   3      4        8          16
//	┌────────┬───┬──────┬────────┬──────────┬────────────┬───────────┬─────────┬──────────┐
//	│ target │code│flags│ owner  │ id       │ code bytes │ expiry or │ cap     │ target   │
//	│ length │len │     │        │          │            │ deletion  │ 8       │ bytes    │
//	└────────┴───┴──────┴────────┴──────────┴────────────┴─8─ms──────┴─────────┴──────────┘
//
// The expiry is present with FlagExpires, the deletion with FlagTombstone (a tombstone has no
// expiry), the cap with FlagCapped.

// HotView is the part of a link that redirects need. Put takes it; Variants and a store that loads
// its links pass it on. Its slices alias a buffer of the caller: valid only during the call.
type HotView struct {
	Code, Target []byte
	ID           uint64
	ExpiresAtMs  int64
	MaxHits      uint64
	DeletedAtMs  int64
	Owner        uint32
	Flags        Flags
}

// Purged reports whether the record is a tombstone that no longer blocks anything.
func (v *HotView) Purged() bool { return v.Flags&FlagTombstone != 0 && v.DeletedAtMs == purgedAtMs }

// appendRecord appends h as a new record. The shard's mutex is held.
func (a *arena) appendRecord(h *HotView) (offset uint64, sizeBytes int, ok bool) {
	sizeBytes = recordBytes(len(h.Code), len(h.Target), h.Flags)
	offset, b, ok := a.alloc(sizeBytes, recordHeaderBytes+len(h.Code))
	if !ok {
		return 0, 0, false
	}
	binary.LittleEndian.PutUint16(b, uint16(len(h.Target)))
	b[2], b[3] = uint8(len(h.Code)), uint8(h.Flags)
	binary.LittleEndian.PutUint32(b[4:], h.Owner)
	binary.LittleEndian.PutUint64(b[8:], h.ID)
	b = b[recordHeaderBytes:]
	b = b[copy(b, h.Code):]
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
	copy(b, h.Target)
	return offset, sizeBytes, true
}

// recordBytes is the size of a record.
func recordBytes(codeBytes, targetBytes int, f Flags) int {
	n := recordHeaderBytes + codeBytes + targetBytes
	if f&(FlagExpires|FlagTombstone) != 0 {
		n += 8
	}
	if f&FlagCapped != 0 {
		n += 8
	}
	return n
}

// codeIs reports whether the record at r has this code.
func codeIs(r unsafe.Pointer, code []byte) bool {
	if int(*(*uint8)(unsafe.Add(r, 2))) != len(code) {
		return false
	}
	return unsafe.String((*byte)(unsafe.Add(r, recordHeaderBytes)), len(code)) == string(code)
}

// wordBytes is the length of codes that fit into one word, as drawn codes do.
const wordBytes = 8

// isLiveWord reports whether the record at r is a link, not a tombstone, whose code is this word.
func isLiveWord(r unsafe.Pointer, word uint64) bool {
	const codeBytesAndTombstone = 0xff | uint32(FlagTombstone)<<8
	return *(*uint32)(r)>>16&codeBytesAndTombstone == wordBytes && *(*uint64)(unsafe.Add(r, recordHeaderBytes)) == word
}

// view decodes the record at the start of b; its slices alias b.
func view(b []byte) (v HotView) {
	targetBytes, codeBytes := int(binary.LittleEndian.Uint16(b)), int(b[2])
	v.Flags = Flags(b[3])
	v.Owner = binary.LittleEndian.Uint32(b[4:])
	v.ID = binary.LittleEndian.Uint64(b[8:])
	b = b[recordHeaderBytes:]
	v.Code, b = b[:codeBytes:codeBytes], b[codeBytes:]
	if v.Flags&(FlagExpires|FlagTombstone|FlagCapped) != 0 {
		b = v.optional(b)
	}
	v.Target = b[:targetBytes:targetBytes]
	return v
}

// optional reads the fields that only some records have, and returns the bytes after them.
func (v *HotView) optional(b []byte) []byte {
	if v.Flags&FlagTombstone != 0 {
		v.DeletedAtMs, b = int64(binary.LittleEndian.Uint64(b)), b[8:]
	} else if v.Flags&FlagExpires != 0 {
		v.ExpiresAtMs, b = int64(binary.LittleEndian.Uint64(b)), b[8:]
	}
	if v.Flags&FlagCapped != 0 {
		v.MaxHits, b = binary.LittleEndian.Uint64(b), b[8:]
	}
	return b
}
