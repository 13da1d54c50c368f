package tally

import (
	"math"
	"slices"
)

const (
	// compactAfter is the length at which a list of visitor hashes is sorted and its duplicates are
	// removed. If more than MaxExactVisitors remain, the list becomes a dense sketch. So an entry
	// never takes more memory than one full list or one dense sketch.
	compactAfter = 2 * MaxExactVisitors

	visitorsDense = math.MaxUint32

	hashesABlock = 7

	// These bound the memory of pending visitors to 256 MiB of hashes and as much of dense
	// sketches, for each of the four deltas that can exist in a stall (by link and by owner,
	// gathering and flushing). When a bound is reached, further visitors are dropped and counted as
	// dropped; hits are never dropped.
	maxHashBlocks   = 1 << 22
	maxDenseEntries = 1 << 14
)

// visitorLists holds the visitors of deltas after the first of each: chains of blocks of hashes, or
// sketches.
type visitorLists struct {
	blocks   []hashBlock
	free     uint32   // chain of blocks that compact freed
	sketches []Sketch // of entries that became dense
	lists    int      // entries with visitors that are not dense
	scratch  []uint64 // reused by compact

	dropped uint64
}

type hashBlock struct {
	hashes [hashesABlock]uint64
	older  uint32 // index + 1; 0: none
}

func (v *visitorLists) add(e *delta, hash uint64) {
	switch {
	case e.length == visitorsDense:
		v.sketches[e.chain].Add(hash)
	case e.length == 0:
		e.first, e.length = hash, 1
		v.lists++
	case e.first != hash:
		v.appendHash(e, hash)
	}
}

func (v *visitorLists) appendHash(e *delta, hash uint64) {
	if e.length == compactAfter {
		if len(v.sketches) == maxDenseEntries {
			v.dropped++
			return
		}
		v.compact(e)
		v.add(e, hash)
		return
	}
	at := (e.length - 1) % hashesABlock
	if at == 0 {
		block := v.newBlock()
		if block == 0 {
			v.dropped++
			return
		}
		v.blocks[block-1].older, e.chain = e.chain, block
	}
	block := &v.blocks[e.chain-1]
	if at > 0 && block.hashes[at-1] == hash {
		return
	}
	block.hashes[at] = hash
	e.length++
}

// newBlock returns the index + 1 of a block, or 0 if maxHashBlocks is reached.
func (v *visitorLists) newBlock() uint32 {
	if block := v.free; block != 0 {
		v.free = v.blocks[block-1].older
		return block
	}
	if len(v.blocks) >= maxHashBlocks {
		return 0
	}
	v.blocks = append(v.blocks, hashBlock{})
	return uint32(len(v.blocks))
}

// list copies an entry's list into scratch, sorted and without duplicates.
func (v *visitorLists) list(e *delta, scratch []uint64) []uint64 {
	if e.length == 0 {
		return scratch[:0]
	}
	list := append(scratch[:0], e.first)
	n := (e.length - 1) % hashesABlock // used in the newest block
	if n == 0 {
		n = hashesABlock
	}
	for at := e.chain; at != 0; at, n = v.blocks[at-1].older, hashesABlock {
		list = append(list, v.blocks[at-1].hashes[:n]...)
	}
	if len(list) > 1 {
		slices.Sort(list)
		list = slices.Compact(list)
	}
	return list
}

// compact removes the duplicates of an entry's list, or turns the list into a dense sketch.
func (v *visitorLists) compact(e *delta) {
	v.scratch = v.list(e, v.scratch)
	distinct := v.scratch
	v.freeChain(e)
	if len(distinct) > MaxExactVisitors {
		var s Sketch
		s.AddAll(distinct)
		v.sketches = append(v.sketches, s)
		e.length, e.chain = visitorsDense, uint32(len(v.sketches)-1)
		return
	}
	for _, hash := range distinct {
		v.add(e, hash)
	}
}

// freeChain empties an entry's list, which is not empty, and frees its blocks.
func (v *visitorLists) freeChain(e *delta) {
	for e.chain != 0 {
		block := &v.blocks[e.chain-1]
		e.chain, block.older, v.free = block.older, v.free, e.chain
	}
	e.length = 0
	v.lists--
}

// sketch returns an entry's visitors. The sketch shares memory with v or with scratch. The second
// result is scratch, or a larger slice that replaces it.
func (v *visitorLists) sketch(e *delta, scratch []uint64) (Sketch, []uint64) {
	if e.length == visitorsDense {
		return v.sketches[e.chain], scratch
	}
	scratch = v.list(e, scratch)
	if len(scratch) <= MaxExactVisitors {
		return ExactSketch(scratch), scratch
	}
	var s Sketch
	s.AddAll(scratch)
	return s, scratch
}

// reset empties v and keeps its memory, unless that is much more than was needed.
func (v *visitorLists) reset() {
	const few = 1 << 12
	if cap(v.blocks) > few && 16*len(v.blocks) < cap(v.blocks) {
		*v = visitorLists{dropped: v.dropped}
		return
	}
	clear(v.sketches) // they hold pointers: let the collector free those
	v.blocks, v.sketches, v.free, v.lists = v.blocks[:0], v.sketches[:0], 0, 0
}

func (v *visitorLists) sizeBytes() uint64 {
	return uint64(64*cap(v.blocks) + len(v.sketches)*(1<<sketchPrecision))
}
