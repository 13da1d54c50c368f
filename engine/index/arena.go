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
	firstChunkBytes = 1 << 16
	maxChunkBytes   = 1 << chunkOffsetBits
	maxChunks       = 32
	maxArenaBytes   = 21 * maxChunkBytes // chunks 0 to 12 have two times maxChunkBytes, the others 19 times

	// smallChunks is the number of chunks that fill one huge page together.
	smallChunks = 6

	// An offset names a record in an arena: the chunk in its high bits, the place in the chunk in
	// its low bits. It has 32 bits, so that an arena may have 2.6 GiB and all 64 have 168 GiB.
	chunkOffsetBits = 27
	firstOffset     = 8 // offset 0 means an empty slot; what is there is not a link

	cacheLineBytes = 64
)

// lastChunk is the last chunk that an arena fills. It is a variable for tests.
var lastChunk = maxChunks - 1

// arena holds the records of one shard. It only grows: bytes that were published are never written
// again. Readers may call at and record at any time; appends need the shard's mutex. The memory
// stays mapped as long as the arena is reachable.
type arena struct {
	symbols *symbols.Table            // codes the targets; nil: they are plain
	idHigh  uint64                    // the high half of the ids of narrow records; set before the first is published
	bases   [maxChunks]unsafe.Pointer // starts of the chunks, by chunkPlace; each is set before any offset in it is published
	chunks  [maxChunks][]byte         // the same chunks, for everything but the hot path
	small   []byte                    // the mapping of the small chunks
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

// chunkPlace returns where chunk k is in the arena's list of chunks, and in offsets. Chunk 0 comes first,
// because an empty slot means its first word, and then those that are not small: a large arena has nearly all
// records in the first of them, so that what a look-up reads of the arena is in one cache line.
func chunkPlace(k int) int {
	if k == 0 {
		return 0
	}
	return 1 + (k+maxChunks-1-smallChunks)%(maxChunks-1)
}

// chunkStart returns where chunk k begins in its mapping: the small ones lie in one, side by side.
func chunkStart(k int) int {
	if k == 0 || k >= smallChunks {
		return 0
	}
	return firstChunkBytes << (k - 1)
}

// at returns the address of the record with this offset.
func (a *arena) at(offset uint32) unsafe.Pointer {
	return unsafe.Add(a.bases[offset>>chunkOffsetBits%maxChunks], offset&(maxChunkBytes-1))
}

// record returns the bytes from offset to the end of its chunk.
func (a *arena) record(offset uint32) []byte {
	return a.chunks[offset>>chunkOffsetBits][offset&(maxChunkBytes-1):]
}

// alloc reserves sizeBytes, of which a look-up reads the first readBytes, and returns the offset
// and the bytes to fill. Those first bytes are put into one cache line if they fit: otherwise a
// look-up would wait for two lines in 7 of 64 cases. That costs half a byte a link. ok is false if the
// arena is full. The shard's mutex is held.
func (a *arena) alloc(sizeBytes, readBytes int) (offset uint32, b []byte, ok bool) {
	before := a.lastBytes
	start := before
	if left := cacheLineBytes - start%cacheLineBytes; left < readBytes && readBytes <= cacheLineBytes {
		start += left
	}
	if start+sizeBytes > chunkBytes(a.last) { // the rest of the chunk is too small: use the next one
		if a.last == lastChunk {
			return 0, nil, false
		}
		a.collapseFull(before, len(a.chunks[chunkPlace(a.last)]))
		a.last, before, start = a.last+1, 0, 0
	}
	place := chunkPlace(a.last)
	if a.chunks[place] == nil {
		a.addChunk(a.last)
	}
	a.lastBytes = start + sizeBytes
	a.usedBytes += uint64(a.lastBytes - before)
	a.collapseFull(before, a.lastBytes)
	return uint32(place)<<chunkOffsetBits | uint32(start), a.chunks[place][start:a.lastBytes], true
}

// nearlyFull reports whether less than a quarter of the last chunk is left: 32 MiB.
func (a *arena) nearlyFull() bool {
	return a.last == lastChunk && a.lastBytes > chunkBytes(lastChunk)/4*3
}

// collapseFull makes a huge page of each part of the last chunk's mapping that has become full as the
// chunk's end moved between two places. It waits until then because a huge page is resident whole: asked
// for earlier it would cost every shard half of one, on average 6 bytes a link at 10 M links.
func (a *arena) collapseFull(from, to int) {
	mapping, start := a.chunks[chunkPlace(a.last)], chunkStart(a.last)
	if a.last < smallChunks && mmap.Lazy {
		mapping = a.small
	}
	from, to = from+start, min(to+start, len(mapping))
	for end := (from/mmap.HugePageBytes + 1) * mmap.HugePageBytes; end <= to; end += mmap.HugePageBytes {
		mmap.Collapse(mapping[end-mmap.HugePageBytes : end])
	}
}

// addChunk makes chunk k. The small chunks lie in one mapping, so that they become a huge page when the
// last of them is full.
func (a *arena) addChunk(k int) {
	place, chunkBytes := chunkPlace(k), chunkBytes(k)
	switch {
	case k >= smallChunks || !mmap.Lazy:
		a.chunks[place] = a.mapped(chunkBytes)
	case a.small == nil:
		a.small = a.mapped(mmap.HugePageBytes)
		fallthrough
	default:
		a.chunks[place] = a.small[chunkStart(k):][:chunkBytes]
	}
	a.bases[place] = unsafe.Pointer(unsafe.SliceData(a.chunks[place]))
	if k == 0 {
		*(*uint64)(a.bases[place]) = noLink
	}
	memory := a.memory
	memory.arenaBytes.Add(int64(chunkBytes))
	runtime.AddCleanup(a, func(chunkBytes int) { memory.arenaBytes.Add(-int64(chunkBytes)) }, chunkBytes)
}

// mapped maps memory that is unmapped after the arena's end.
func (a *arena) mapped(sizeBytes int) []byte {
	b := mmap.Memory(sizeBytes)
	runtime.AddCleanup(a, mmap.Unmap, b)
	return b
}
