package engine

import (
	"cmp"
	"slices"
)

const (
	// compactAfter is the length at which a delta's list of visitor hashes is sorted and freed of repetitions; if more
	// than MaxExactVisitors remain, it turns into a dense sketch. So a delta never takes more than that of either.
	compactAfter = 2 * MaxExactVisitors

	hashesABlock = 7

	// These bound the memory of pending visitors to 256 MiB of hashes and as much of dense sketches, for each of the four
	// deltas that there may be in a stall (by link and by owner, gathering and flushing). When they are used up, further
	// visitors are dropped, and counted as dropped; hits never are.
	maxHashBlocks   = 1 << 22
	maxDenseEntries = 1 << 14

	minDeltaSlots = 1 << 10
)

// deltas gathers what was folded and not flushed, by (hour, link) or by (hour, owner). It is built to take hundreds of
// thousands of keys a second: open addressing over slices without pointers, which are kept from flush to flush.
// The zero value is empty. While nothing adds to it, any number of goroutines may read it at once.
type deltas struct {
	index    []uint32 // position in entries + 1; a power of two, at most 3/4 used
	entries  []delta
	blocks   []hashBlock
	free     uint32   // chain of blocks that compact gave back
	sketches []Sketch // of entries that turned dense
	hours    []uint32 // that occur; a few
	scratch  []uint64 // of compact

	droppedVisitors uint64
}

// delta is one entry. Its visitors are the first one in place and the others in a chain of blocks, or a sketch.
// The list may repeat visitors.
type delta struct {
	id       uint64 // link id or owner
	first    uint64 // visitor hash; with visitors > 0
	hour     uint32
	counts   [numClasses]uint64
	visitors uint32 // length of the list
	chain    uint32 // index of the newest block + 1; 0: none
	sketch   uint32 // index in sketches + 1; 0: the visitors are a list
}

type hashBlock struct {
	hashes [hashesABlock]uint64
	older  uint32 // index + 1; 0: none
}

func deltaHash(hour uint32, id uint64) uint64 {
	return mix(id^0x9e3779b97f4a7c15, uint64(hour)^0xd1b54a32d192ed03)
}

// find returns the entry of (hour, id), or nil.
func (d *deltas) find(hour uint32, id uint64) *delta {
	if len(d.index) == 0 {
		return nil
	}
	mask := uint64(len(d.index) - 1)
	for i := deltaHash(hour, id) & mask; d.index[i] != 0; i = (i + 1) & mask {
		if e := &d.entries[d.index[i]-1]; e.id == id && e.hour == hour {
			return e
		}
	}
	return nil
}

// entry returns the entry of (hour, id), which it makes if need be.
func (d *deltas) entry(hour uint32, id uint64) *delta {
	if 4*(len(d.entries)+1) > 3*len(d.index) {
		d.grow()
	}
	mask := uint64(len(d.index) - 1)
	i := deltaHash(hour, id) & mask
	for ; d.index[i] != 0; i = (i + 1) & mask {
		if e := &d.entries[d.index[i]-1]; e.id == id && e.hour == hour {
			return e
		}
	}
	d.entries = append(d.entries, delta{id: id, hour: hour})
	d.index[i] = uint32(len(d.entries))
	if !slices.Contains(d.hours, hour) {
		d.hours = append(d.hours, hour)
	}
	return &d.entries[len(d.entries)-1]
}

func (d *deltas) grow() {
	d.index = make([]uint32, max(minDeltaSlots, 2*len(d.index)))
	mask := uint64(len(d.index) - 1)
	for n, e := range d.entries {
		i := deltaHash(e.hour, e.id) & mask
		for d.index[i] != 0 {
			i = (i + 1) & mask
		}
		d.index[i] = uint32(n + 1)
	}
}

// add counts one record for (hour, id). A visitor is remembered for hits only.
func (d *deltas) add(hour uint32, id uint64, class Class, visitor uint64) {
	e := d.entry(hour, id)
	e.counts[class]++
	if class == ClassHit {
		d.addVisitor(e, visitor)
	}
}

func (d *deltas) addVisitor(e *delta, hash uint64) {
	switch {
	case e.sketch != 0:
		d.sketches[e.sketch-1].Add(hash)
	case e.visitors == 0:
		e.first, e.visitors = hash, 1
	case e.first != hash:
		d.appendHash(e, hash)
	}
}

func (d *deltas) appendHash(e *delta, hash uint64) {
	if e.visitors == compactAfter {
		if len(d.sketches) == maxDenseEntries {
			d.droppedVisitors++
			return
		}
		d.compact(e)
		d.addVisitor(e, hash)
		return
	}
	at := (e.visitors - 1) % hashesABlock
	if at == 0 {
		block := d.newBlock()
		if block == 0 {
			d.droppedVisitors++
			return
		}
		d.blocks[block-1].older, e.chain = e.chain, block
	}
	block := &d.blocks[e.chain-1]
	if at > 0 && block.hashes[at-1] == hash {
		return
	}
	block.hashes[at] = hash
	e.visitors++
}

// newBlock returns the index + 1 of a block, or 0 if there are too many.
func (d *deltas) newBlock() uint32 {
	if block := d.free; block != 0 {
		d.free = d.blocks[block-1].older
		return block
	}
	if len(d.blocks) >= maxHashBlocks {
		return 0
	}
	d.blocks = append(d.blocks, hashBlock{})
	return uint32(len(d.blocks))
}

// list gathers an entry's list in scratch, sorted and without repetitions.
func (d *deltas) list(e *delta, scratch []uint64) []uint64 {
	if e.visitors == 0 {
		return scratch[:0]
	}
	list := append(scratch[:0], e.first)
	n := (e.visitors - 1) % hashesABlock // used in the newest block
	if n == 0 {
		n = hashesABlock
	}
	for at := e.chain; at != 0; at, n = d.blocks[at-1].older, hashesABlock {
		list = append(list, d.blocks[at-1].hashes[:n]...)
	}
	if len(list) > 1 {
		slices.Sort(list)
		list = slices.Compact(list)
	}
	return list
}

// compact frees an entry's list of repetitions, or turns it into a dense sketch.
func (d *deltas) compact(e *delta) {
	d.scratch = d.list(e, d.scratch)
	distinct := d.scratch
	d.freeChain(e)
	if len(distinct) > MaxExactVisitors {
		var s Sketch
		s.AddAll(distinct)
		d.sketches = append(d.sketches, s)
		e.sketch = uint32(len(d.sketches))
		return
	}
	for _, hash := range distinct {
		d.addVisitor(e, hash)
	}
}

// freeChain empties an entry's list and gives its blocks back.
func (d *deltas) freeChain(e *delta) {
	for e.chain != 0 {
		block := &d.blocks[e.chain-1]
		e.chain, block.older, d.free = block.older, d.free, e.chain
	}
	e.visitors = 0
}

// tally sets t to the entry's. t shares memory with d and with the scratch space, which tally returns, maybe grown.
func (d *deltas) tally(e *delta, t *Tally, scratch []uint64) []uint64 {
	t.Hits, t.Bots = e.counts[ClassHit], e.counts[ClassBot]
	t.Prefetches, t.Heads = e.counts[ClassPrefetch], e.counts[ClassHead]
	if e.sketch != 0 {
		t.Visitors = d.sketches[e.sketch-1]
		return scratch
	}
	scratch = d.list(e, scratch)
	if len(scratch) <= MaxExactVisitors {
		t.Visitors = ExactSketch(scratch)
	} else {
		t.Visitors = Sketch{}
		t.Visitors.AddAll(scratch)
	}
	return scratch
}

// addTo adds what d knows of id, of all hours, to t.
func (d *deltas) addTo(id uint64, t *Tally) {
	for _, hour := range d.hours {
		if e := d.find(hour, id); e != nil {
			var u Tally
			d.tally(e, &u, nil)
			t.Add(&u)
		}
	}
}

// each calls yield for every entry, in the order of the store's keys: hour, then id.
func (d *deltas) each(yield func(hour uint32, id uint64, t *Tally) error) error {
	order := make([]uint32, len(d.entries))
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortFunc(order, func(a, b uint32) int {
		x, y := &d.entries[a], &d.entries[b]
		return cmp.Or(cmp.Compare(x.hour, y.hour), cmp.Compare(x.id, y.id))
	})
	var t Tally
	var scratch []uint64
	for _, i := range order {
		e := &d.entries[i]
		scratch = d.tally(e, &t, scratch)
		if err := yield(e.hour, e.id, &t); err != nil {
			return err
		}
	}
	return nil
}

// reset empties d and keeps its memory, unless that is much more than was needed.
func (d *deltas) reset() {
	const spare = 8
	if len(d.index) > minDeltaSlots && spare*len(d.entries) < len(d.index) {
		*d = deltas{droppedVisitors: d.droppedVisitors}
		return
	}
	clear(d.index)
	clear(d.sketches) // pointers: let them go
	d.entries, d.blocks, d.sketches, d.hours = d.entries[:0], d.blocks[:0], d.sketches[:0], d.hours[:0]
	d.free = 0
}

// sizeBytes is what d holds.
func (d *deltas) sizeBytes() uint64 {
	return uint64(4*cap(d.index) + 64*cap(d.entries) + 64*cap(d.blocks) + len(d.sketches)*(1<<sketchPrecision))
}
