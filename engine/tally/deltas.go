package tally

import (
	"iter"
	"slices"

	"shunt/engine/internal/hash"
)

const (
	minDeltaSlots = 1 << 10

	// fetchedTogether is the number of entries that Each fetches at once: a few more than a
	// processor can wait for at a time.
	fetchedTogether = 32
)

// Deltas gathers tallies that are not in the store yet, by (hour, link) or by (hour, owner). It is
// built to take hundreds of thousands of keys a second: open addressing over slices without
// pointers, which are kept from flush to flush. The zero value is empty. While nobody adds to it,
// any number of goroutines may read it at once; otherwise it is not safe for concurrent use.
//
// Its memory is bounded: beyond 8 Mi cells of values, 4 Mi blocks of visitors and 16 Ki sketches,
// values and visitors are dropped and counted (Dropped). Hits are never dropped, unless its user
// closes it (Closed).
type Deltas struct {
	index    []uint32 // position in entries + 1; a power of two, at most 3/4 used
	entries  []delta
	hours    []uint32 // of all entries; a few
	visitors visitorLists
	values   valueCells
	fetched  uint64 // means nothing: without it Fetch would be left out
	Closed   bool   // Add makes no new entries; the goroutine that adds sets it
}

// Key is the hour of an entry, and its link or owner.
type Key struct {
	Hour uint32
	ID   uint64
}

// delta is one entry, a cache line. The first of its visitors is in place, the others are in
// visitorLists. As long as all hits have the same values in all dimensions, those are in place too;
// after that they are in valueCells.
type delta struct {
	id     uint64 // link id or owner
	first  uint64 // visitor hash; with visitors > 0
	hits   uint64
	bots   uint64
	hour   uint32
	length uint32 // of the list of visitors, which may have duplicates; visitorsDense: they are a sketch
	chain  uint32 // in visitorLists: the newest block + 1, or 0; with visitorsDense the sketch
	cells  uint32 // in valueCells: the newest cell + 1, or noCells; 0: all hits have the values in alike

	// 2^32 in an hour would be more than a million a second for one link.
	prefetches uint32
	heads      uint32

	alike Values
}

func deltaHash(hour uint32, id uint64) uint64 {
	return hash.Mix(id^0x9e3779b97f4a7c15, uint64(hour)^0xd1b54a32d192ed03)
}

// find returns the entry of (hour, id), or nil.
func (d *Deltas) find(hour uint32, id uint64) *delta {
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

// entry returns the position of the entry of (hour, id), which it makes if there is none. ok is
// false if there is none and d is closed.
func (d *Deltas) entry(hour uint32, id uint64) (at uint32, ok bool) {
	if 4*(len(d.entries)+1) > 3*len(d.index) {
		d.grow()
	}
	mask := uint64(len(d.index) - 1)
	i := deltaHash(hour, id) & mask
	for ; d.index[i] != 0; i = (i + 1) & mask {
		if e := &d.entries[d.index[i]-1]; e.id == id && e.hour == hour {
			return d.index[i] - 1, true
		}
	}
	if d.Closed {
		return 0, false
	}
	d.entries = append(d.entries, delta{id: id, hour: hour})
	d.index[i] = uint32(len(d.entries))
	if !slices.Contains(d.hours, hour) {
		d.hours = append(d.hours, hour)
	}
	return uint32(len(d.entries) - 1), true
}

// Fetch reads what Add will read for some keys, so that it comes into the cache for all of them at
// the same time: Add waits for one after the other. It changes no entry, but like Add it may not run
// beside anything else.
func (d *Deltas) Fetch(keys []Key) {
	if len(d.index) == 0 {
		return
	}
	mask := uint64(len(d.index) - 1)
	for _, k := range keys {
		d.fetched += uint64(d.index[deltaHash(k.Hour, k.ID)&mask])
	}
	for _, k := range keys {
		if at := d.index[deltaHash(k.Hour, k.ID)&mask]; at != 0 {
			d.fetched += d.entries[at-1].id
		}
	}
}

func (d *Deltas) grow() {
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

// Add counts one redirect for (hour, id). It returns false and counts nothing if that needs a new
// entry and d is closed. The visitor and the values are kept for hits only.
func (d *Deltas) Add(hour uint32, id uint64, class Class, visitor uint64, v Values) (kept bool) {
	at, ok := d.entry(hour, id)
	if !ok {
		return false
	}
	e := &d.entries[at]
	switch class {
	case ClassHit:
		e.hits++
		d.visitors.add(e, visitor)
		d.values.add(at, e, v)
	case ClassBot:
		e.bots++
	case ClassPrefetch:
		e.prefetches++
	default:
		e.heads++
	}
	return true
}

// reader reads tallies out of deltas. It reuses its memory from one tally to the next.
type reader struct {
	deltas    *Deltas
	names     Names
	wanted    Parts
	hashes    []uint64
	breakdown Dimensions
	fetched   uint64 // means nothing: without it fetch would be left out
}

// tally sets t to the tally of an entry. t shares memory with the deltas and the reader.
func (r *reader) tally(e *delta, t *Tally) {
	*t = Tally{Hits: e.hits, Bots: e.bots, Prefetches: uint64(e.prefetches), Heads: uint64(e.heads)}
	if r.wanted&Visitors != 0 {
		t.Visitors, r.hashes = r.deltas.visitors.sketch(e, r.hashes)
	}
	if r.wanted&Breakdowns != 0 {
		r.deltas.values.breakdown(e, r.names, &r.breakdown)
		t.Dimensions = r.breakdown
	}
}

// AddTo adds to t the wanted parts of the tallies of id in all hours.
func (d *Deltas) AddTo(id uint64, wanted Parts, names Names, t *Tally) {
	for _, hour := range d.hours {
		d.AddHourTo(hour, id, wanted, names, t)
	}
}

// AddHourTo adds to t the wanted parts of the tally of id in one hour. It reports whether there is
// one.
func (d *Deltas) AddHourTo(hour uint32, id uint64, wanted Parts, names Names, t *Tally) (found bool) {
	e := d.find(hour, id)
	if e == nil {
		return false
	}
	r := reader{deltas: d, names: names, wanted: wanted}
	var u Tally
	r.tally(e, &u)
	t.Add(&u)
	return true
}

// Each calls yield with the wanted parts of every entry, in the order of the store's keys: hour,
// then id. The tally is valid only during the call. The first error ends the iteration and is
// returned.
func (d *Deltas) Each(names Names, wanted Parts, yield func(hour uint32, id uint64, t *Tally) error) error {
	r := reader{deltas: d, names: names, wanted: wanted}
	var t Tally
	for group := range slices.Chunk(d.sorted(), fetchedTogether) {
		r.fetch(group)
		for _, o := range group {
			e := &d.entries[o.at]
			r.tally(e, &t)
			if err := yield(e.hour, e.id, &t); err != nil {
				return err
			}
		}
	}
	return nil
}

// fetch reads a word of each entry, so that entries which are not in the cache come into it at the
// same time, and not one after the other: keys are sorted, and their entries are anywhere.
func (r *reader) fetch(group []place) {
	for _, o := range group {
		r.fetched += r.deltas.entries[o.at].hits
	}
}

// Reset empties d. It keeps the memory, unless that is much more than was needed, or so much that
// it was the result of a stall: 64 MiB of entries are 5 s of 200,000 new links a second.
func (d *Deltas) Reset() {
	const spare, most = 8, 1 << 20
	if len(d.index) > minDeltaSlots && spare*len(d.entries) < len(d.index) || cap(d.entries) > most {
		*d = Deltas{visitors: visitorLists{dropped: d.visitors.dropped}, values: valueCells{dropped: d.values.dropped}}
		return
	}
	clear(d.index)
	d.entries, d.hours = d.entries[:0], d.hours[:0]
	d.visitors.reset()
	d.values.reset()
}

// Hours returns the hours of the entries: a few, in no order. The slice belongs to d.
func (d *Deltas) Hours() []uint32 { return d.hours }

// LinksSince returns the ids of the entries of hour and later hours, in any order, some more than once.
func (d *Deltas) LinksSince(hour uint32) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		for i := range d.entries {
			if e := &d.entries[i]; e.hour >= hour && !yield(e.id) {
				return
			}
		}
	}
}

// Count returns the number of entries.
func (d *Deltas) Count() int { return len(d.entries) }

// Dropped returns the number of visitors and values that were not counted since d was made, because
// memory was full.
func (d *Deltas) Dropped() (visitors, values uint64) { return d.visitors.dropped, d.values.dropped }

// Sketches returns the number of visitor sets in d: those that are still lists of hashes, and those
// that are dense sketches.
func (d *Deltas) Sketches() (lists, dense int) { return d.visitors.lists, len(d.visitors.sketches) }

// SizeBytes returns the memory that d holds.
func (d *Deltas) SizeBytes() uint64 {
	return uint64(4*cap(d.index)+64*cap(d.entries)) + d.visitors.sizeBytes() + d.values.sizeBytes()
}
