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

// CollectLoad collects garbage soon. What a load reads is garbage on the heap, which would else double
// before it is collected, at a time when memory should not pass its later level.
func (x *Index) CollectLoad() { x.memory.retire(maxRetiredBytes) }

// PutAll is Put for many links, in their order. It stops at the first error.
//
// The group where a link belongs is at a random place in memory, so a Put alone waits for it, as
// long as it takes for everything else. PutAll first reads the groups of many links: these reads do
// not depend on each other, and the processor waits for some ten at a time.
func (x *Index) PutAll(links []HotView) error {
	var places [batchLinks]place
	for len(links) > 0 {
		batch := links[:min(len(links), batchLinks)]
		for i := range batch {
			places[i] = placeOf(&x.key, batch[i].Code)
		}
		for _, p := range places[:len(batch)] {
			t := x.shards[p.shard].current.Load()
			t.firstSlot(p.tag)
			runtime.KeepAlive(t) // it maps the groups
		}
		for i := range batch {
			if err := x.counters.ensure(batch[i].ID); err != nil {
				return err
			}
			if err := x.shards[places[i].shard].put(places[i].tag, &batch[i]); err != nil {
				return err
			}
		}
		links = links[len(batch):]
	}
	return nil
}
