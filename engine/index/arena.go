package index

import (
	"runtime"
	"unsafe"

	"shunt/engine/internal/mmap"
	"shunt/engine/internal/symbols"
)

const (
	// firstChunkBytes is the size of an arena's first chunk. Chunk k > 0 is as large as all chunks
	// before it together, up to maxChunkBytes, so that a shard of any size has few chunks and never
	// copies a record to grow. It is larger than maxRecordBytes, because a record never lies across
	// two chunks.
	firstChunkBytes = 1 << 14
	maxChunkBytes   = 1 << chunkOffsetBits
	maxChunks       = 32

	// An offset names a record in an arena: the chunk in its high bits, the place in the chunk in
	// its low bits. It has the bits that the tag leaves in an index slot.
	offsetBits      = 36
	offsetMask      = 1<<offsetBits - 1
	chunkOffsetBits = 31
	firstOffset     = 8 // offset 0 means an empty slot

	cacheLineBytes = 64
)

// arena holds the records of one shard. It only grows: bytes that were published are never written
// again. Readers may call at and record at any time; appends need the shard's mutex. The memory
// stays mapped as long as the arena is reachable.
type arena struct {
	symbols *symbols.Table            // codes the targets; nil: they are plain
	idHigh  uint64                    // the high half of the ids of narrow records; set before the first is published
	bases   [maxChunks]unsafe.Pointer // starts of the chunks; each is set before any offset in it is published
	chunks  [maxChunks][]byte         // the same chunks, for everything but the hot path
	memory  *memory                   // of the index

	// Guarded by the shard's mutex.
	last      int    // index of the chunk being filled
	lastBytes int    // how much of it is filled
	usedBytes uint64 // of the whole arena, including garbage
}

func newArena(memory *memory, table *symbols.Table) *arena {
	return &arena{memory: memory, symbols: table, lastBytes: firstOffset}
}

// chunkBytes returns the size of chunk k.
func chunkBytes(k int) int {
	if k == 0 {
		return firstChunkBytes
	}
	return min(firstChunkBytes<<(k-1), maxChunkBytes)
}

// at returns the address of the record with this offset.
func (a *arena) at(offset uint64) unsafe.Pointer {
	return unsafe.Add(a.bases[offset>>chunkOffsetBits%maxChunks], offset&(maxChunkBytes-1))
}

// record returns the bytes from offset to the end of its chunk.
func (a *arena) record(offset uint64) []byte {
	return a.chunks[offset>>chunkOffsetBits][offset&(maxChunkBytes-1):]
}

// alloc reserves sizeBytes, of which a look-up reads the first readBytes, and returns the offset
// and the bytes to fill. Those first bytes are put into one cache line if they fit: otherwise a
// look-up would wait for two lines in 7 of 64 cases. That costs half a byte a link. ok is false if the
// arena is full. The shard's mutex is held.
func (a *arena) alloc(sizeBytes, readBytes int) (offset uint64, b []byte, ok bool) {
	before := a.lastBytes
	start := before
	if left := cacheLineBytes - start%cacheLineBytes; left < readBytes && readBytes <= cacheLineBytes {
		start += left
	}
	if start+sizeBytes > chunkBytes(a.last) { // the rest of the chunk is too small: use the next one
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

// collapseFull makes a huge page of each part of the last chunk that has become full as the chunk's
// end moved between two places. It waits until then because a huge page is resident whole: asked
// for earlier it would cost every shard half of one, on average 6 bytes a link at 10 M links.
func (a *arena) collapseFull(from, to int) {
	for end := (from/mmap.HugePageBytes + 1) * mmap.HugePageBytes; end <= to; end += mmap.HugePageBytes {
		mmap.Collapse(a.chunks[a.last][end-mmap.HugePageBytes : end])
	}
}

func (a *arena) addChunk(k int) {
	chunk := mmap.Memory(chunkBytes(k))
	a.chunks[k], a.bases[k] = chunk, unsafe.Pointer(unsafe.SliceData(chunk))
	memory := a.memory
	memory.arenaBytes.Add(int64(len(chunk)))
	runtime.AddCleanup(a, func(chunk []byte) {
		mmap.Unmap(chunk)
		memory.arenaBytes.Add(-int64(len(chunk)))
	}, chunk)
}
