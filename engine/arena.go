package engine

import (
	"encoding/binary"
	"runtime"
	"shunt/engine/internal/mmap"
	"sync/atomic"
	"unsafe"
)

const (
	// firstChunkBytes is the size of an arena's first chunk. Chunk k > 0 is as large as all before it together, up to
	// maxChunkBytes, so that a shard of any size has few chunks and never copies a record to grow. It is above
	// maxRecordBytes, because a record never lies across two chunks.
	firstChunkBytes = 1 << 14
	maxChunkBytes   = 1 << chunkOffsetBits
	maxChunks       = 32

	// An offset names a record in an arena: the chunk in its high bits, the place in that below. It is what is left of
	// an index slot beside the tag.
	offsetBits      = 36
	offsetMask      = 1<<offsetBits - 1
	chunkOffsetBits = 31
	firstOffset     = 8 // offset 0 means an empty slot

	cacheLineBytes = 64

	recordHeaderBytes = 16
	maxRecordBytes    = recordHeaderBytes + MaxCodeBytes + 16 + MaxTargetBytes
)

// A record in an arena, little-endian (as every platform that Go and mmap share is, in practice; a test holds it):
//
//	 0        2   3      4        8          16
//	┌────────┬───┬──────┬────────┬──────────┬────────────┬───────────┬─────────┬──────────┐
//	│ target │code│flags│ owner  │ id       │ code bytes │ expiry or │ cap     │ target   │
//	│ length │len │     │        │          │            │ deletion  │ 8       │ bytes    │
//	└────────┴───┴──────┴────────┴──────────┴────────────┴─8─ms──────┴─────────┴──────────┘
//
// The expiry stands there with FlagExpires, the deletion with FlagTombstone (which has no expiry), the cap with
// FlagCapped.

// arena holds the records of one shard. It only grows: bytes that were published are never written again.
// Readers call at and record at any time; appends need the shard's mutex. The memory lives as long as the arena is
// reachable.
type arena struct {
	bases  [maxChunks]unsafe.Pointer // of the chunks; each is set before any offset in it is published
	chunks [maxChunks][]byte         // the same, for everybody but the hot path
	mapped *atomic.Int64             // bytes of all live arenas of the engine; for metrics

	// Guarded by the shard's mutex.
	last      int    // index of the chunk that is being filled
	lastBytes int    // filled of it
	usedBytes uint64 // of the whole arena, including what garbage takes
}

func newArena(mapped *atomic.Int64) *arena {
	return &arena{mapped: mapped, lastBytes: firstOffset}
}

// chunkBytes is the size of chunk k.
func chunkBytes(k int) int {
	if k == 0 {
		return firstChunkBytes
	}
	return min(firstChunkBytes<<(k-1), maxChunkBytes)
}

// at returns where the record with this offset is.
func (a *arena) at(offset uint64) unsafe.Pointer {
	return unsafe.Add(a.bases[offset>>chunkOffsetBits%maxChunks], offset&(maxChunkBytes-1))
}

// record returns the bytes from offset to the end of its chunk.
func (a *arena) record(offset uint64) []byte {
	return a.chunks[offset>>chunkOffsetBits][offset&(maxChunkBytes-1):]
}

// alloc makes room for sizeBytes, of which a look-up reads the first readBytes, and returns the offset and the bytes to fill.
// These first ones are in one cache line if that holds them: otherwise a look-up would wait for two of them in 23 of 64 cases.
// That costs 5 bytes a link.
// ok is false if the arena is full. The shard's mutex is held.
func (a *arena) alloc(sizeBytes, readBytes int) (offset uint64, b []byte, ok bool) {
	before := a.lastBytes
	start := before
	if left := cacheLineBytes - start%cacheLineBytes; left < readBytes && readBytes <= cacheLineBytes {
		start += left
	}
	if start+sizeBytes > chunkBytes(a.last) { // the rest of the chunk is too small: go on in the next one
		if a.last+1 == maxChunks {
			return 0, nil, false
		}
		a.collapseFull(before, len(a.chunks[a.last]))
		a.last, before, start = a.last+1, 0, 0
	}
	if a.chunks[a.last] == nil {
		a.addChunk(a.last)
	}
	a.lastBytes = start + sizeBytes
	a.usedBytes += uint64(a.lastBytes - before)
	a.collapseFull(before, a.lastBytes)
	return uint64(a.last)<<chunkOffsetBits | uint64(start), a.chunks[a.last][start:a.lastBytes], true
}

// collapseFull makes a huge page of each part of the last chunk that its end passes as it moves from one place to
// another. A huge page is resident whole: asked for earlier it would cost every shard half of one, in the mean 6 bytes
// a link at 10 M links.
func (a *arena) collapseFull(from, to int) {
	for end := (from/mmap.HugePageBytes + 1) * mmap.HugePageBytes; end <= to; end += mmap.HugePageBytes {
		mmap.Collapse(a.chunks[a.last][end-mmap.HugePageBytes : end])
	}
}

func (a *arena) addChunk(k int) {
	chunk := mmap.Memory(chunkBytes(k))
	a.chunks[k], a.bases[k] = chunk, unsafe.Pointer(unsafe.SliceData(chunk))
	mapped := a.mapped
	mapped.Add(int64(len(chunk)))
	runtime.AddCleanup(a, func(chunk []byte) {
		mmap.Unmap(chunk)
		mapped.Add(-int64(len(chunk)))
	}, chunk)
}

// appendRecord writes h as a new record. The shard's mutex is held.
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

// codeIs tells whether the record at r has this code.
func codeIs(r unsafe.Pointer, code []byte) bool {
	if int(*(*uint8)(unsafe.Add(r, 2))) != len(code) {
		return false
	}
	return unsafe.String((*byte)(unsafe.Add(r, recordHeaderBytes)), len(code)) == string(code)
}

// wordBytes is the length of codes that are one word: drawn ones are.
const wordBytes = 8

// isLiveWord tells whether the record at r is a link's, with a code that is this word.
func isLiveWord(r unsafe.Pointer, word uint64) bool {
	const codeBytesAndTombstone = 0xff | uint32(FlagTombstone)<<8
	return *(*uint32)(r)>>16&codeBytesAndTombstone == wordBytes && *(*uint64)(unsafe.Add(r, recordHeaderBytes)) == word
}

// view decodes the record that b begins with; its slices alias b.
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

// optional reads the fields that only some records have, and returns what follows them.
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
