package index

import "runtime"

// batchLinks is the number of links of which PutAll reads the groups beforehand: some 16 KB, which
// stay in the processor's first two caches until the links are put.
const batchLinks = 256

// Expect tells the index how many records, more or less, it will have when a load that is under way ends;
// 0: no load is under way. A table that is full then grows to its last size at once. Growing by an eighth
// each time copies every entry eight times, while the goroutines that load wait for the shard. A table
// that is too large would stay so, and cost more memory than copying the entries once more: Expect takes a
// little off the number.
func (x *Index) Expect(records uint64) {
	x.memory.expected.Store(int64(records / numShards * 63 / 64))
}

// CollectLoad collects garbage soon if a load has made any to speak of: the heap would else double before it
// is collected, at a time when memory should not pass its later level. A load that reads tables directly
// makes little, and a collection has it at work for 20 ms on busy cores, in which each store of a pointer
// takes longer.
func (x *Index) CollectLoad() { x.memory.collectLoad() }

// PutAll is Put for many links. Those of one code are put in their order. It stops at the first error; then
// links before the one that cannot be put may be missing.
//
// The group where a link belongs is at a random place in memory, so a Put alone waits for it, as
// long as it takes for everything else. PutAll first reads the groups of many links: these reads do
// not depend on each other, and the processor waits for some ten at a time.
//
// It takes the mutex of a shard once for all links that belong there. A shard whose mutex another goroutine
// holds comes last: its table may be growing, for which a goroutine that loads would else wait a
// millisecond, and as long again until it runs.
func (x *Index) PutAll(links []HotView) error {
	for len(links) > 0 {
		n := min(len(links), batchLinks)
		if err := x.putBatch(links[:n]); err != nil {
			return err
		}
		links = links[n:]
	}
	return nil
}

// batch is up to batchLinks links, sorted by shard. Numbers of links are one too high, so that 0 is none.
type batch struct {
	links []HotView
	tags  [batchLinks]uint64
	first [numShards]uint16  // of each shard
	next  [batchLinks]uint16 // of the same shard
}

func (x *Index) putBatch(links []HotView) error {
	b := batch{links: links}
	for i := len(links) - 1; i >= 0; i-- {
		if err := x.ensure(&links[i]); err != nil {
			return err
		}
		p := placeOf(&x.key, links[i].KeyView)
		b.tags[i], b.next[i], b.first[p.shard] = p.tag, b.first[p.shard], uint16(i+1)
		t := x.shards[p.shard].current.Load()
		t.firstSlot(p.tag)
		runtime.KeepAlive(t) // it maps the groups
	}
	for i := range b.first {
		if s := &x.shards[i]; b.first[i] != 0 && s.mu.TryLock() {
			if err := b.putAndUnlock(s, i); err != nil {
				return err
			}
		}
	}
	for i := range b.first {
		if s := &x.shards[i]; b.first[i] != 0 {
			s.mu.Lock()
			if err := b.putAndUnlock(s, i); err != nil {
				return err
			}
		}
	}
	return nil
}

// putAndUnlock puts the links of shard i, whose mutex is held, and unlocks it.
func (b *batch) putAndUnlock(s *shard, i int) error {
	defer s.mu.Unlock()
	for n := b.first[i]; n != 0; n = b.next[n-1] {
		if err := s.putPlainLocked(b.tags[n-1], &b.links[n-1]); err != nil {
			return err
		}
	}
	b.first[i] = 0
	return nil
}
