// Package index is the links that are in memory, their hit counters, and what a code may be. It
// knows nothing of the store, the journal or the engine: only leaves of engine/internal, and
// engine/invalid. The engine puts links and counts hits; everybody else sees a Link, which they may
// read and must release.
//
// A code is what follows the slash of a short address, an alias a code that a person chose, the
// target where a link leads.
//
// # Memory layout
//
//	code ──hash──┬─ 6 bits ─▶ shard ──atomic──▶ table ─▶ groups ─ 28 bits ─▶ group ─▶ slot: tag 28 │ offset 36
//	             └──────────────────────────────▶ arena ◀───────────────────────────────────────────────┘
//	                                               record: id, owner, flags, code, expiry, cap, target
//	             id ──▶ counters ─ slab ─ 8 bytes of hits
//
// The hash is of the case-folded code under a random key of the process, so that codes that differ
// only by case meet in one probe sequence (the alias check is one look-up) and nobody can choose
// codes that collide. A group is a cache line: a control word with a byte of each of seven tags,
// and the seven slots. A look-up therefore waits for two cache misses, the group's and the
// record's, and has no branch that the processor mispredicts more often than once in ten.
//
// Nothing of this is a pointer for the garbage collector to follow: arenas, large tables and
// counters are mapped outside the Go heap, smaller tables are pointer-free. A Link is two words,
// the record and its arena; as long as it is reachable, so is the mapping: an arena is unmapped by
// a cleanup that hangs on it. Link.Release marks the last use.
//
// A link takes 16 bytes of record header, its code and target, 5 bytes that keep what a look-up
// reads in one cache line, 8 bytes of counter, and 9 to 21 bytes of index (64 bytes a group, from
// six of seven slots used down to three).
//
// # Concurrency
//
// Resolve, Admit, Hits and AddHits take no lock. A shard's writers hold its mutex; what they
// publish, they publish by one atomic store: a slot before its control word, a table by its
// pointer. Bytes of an arena that were published are never written again: an edit appends a record
// and stores another slot. A table that is full is replaced by one of twice the size over the same
// arena; a shard whose garbage passes a quarter gets a new arena and table. Readers go on with what
// they have. Slots are never emptied, since a deleted code stays taken: its record is a tombstone,
// which is ignored once it is over. When the link is purged the slot gets a record that stands for
// nothing and is garbage, which the next rewrite drops.
//
// Ids are never reused and counters never move, so that no hit is lost to a racing edit, growth or
// rewrite. The word of a counter also says how often the cap of its link was changed (counter.go),
// so that Admit is exact about the cap in force: see Admit, and "Concurrency" in the engine's
// package comment.
//
// Puts of one code at once are safe and have some order. Who must read and check before it puts
// takes the CodeLock first: the index itself does not ask for it.
//
// Locks: shard.mu and counters.mu; neither is taken while another lock is held. A rewrite of a
// shard takes about 0.1 µs a link, under its lock.
//
// # Decisions
//
// The figures of record are in bench/RESULTS.md.
//
//   - Groups of seven slots in a cache line instead of single slots with linear probing: the same
//     memory, and the number of lines that a probe touches depends less on luck. By itself it made
//     no measurable difference.
//   - A Link of two words that reads its record on demand instead of a struct of ten words returned
//     by value. Resolve over 10 M links, drawn uniformly: 479 ns with the struct, 196 ns without
//     (one run each). In a loop over the look-up alone, finding the record took 149 ns and
//     returning the struct 248 more. Our explanation, not tested further: 16-byte loads of 8-byte
//     stores just done wait until those retire, which ends the overlap of one look-up's cache
//     misses with the next.
//   - Few instructions on the way of a redirect. Two loads that wait for each other (the group,
//     then the record) are what a look-up takes; how much of it overlaps with the next one is how
//     many instructions fit into the processor's window, which is 256 to 512 on the machines that
//     we measure on (half of it while another has the core's second thread, we think: the same code
//     has two speeds). So codes of eight bytes have a way of their own in Resolve, inlined, without
//     calls or spills: 90 instructions instead of 200. Over 10 M links, drawn uniformly, medians in
//     pairs: Resolve 0.56 of the time.
//   - A record's header and code stand in one cache line. Packed without gaps they were on the
//     border of two in 23 of 64 cases, and a look-up waited for both. Five pairs over 10 M links,
//     drawn uniformly, medians of the ratios: Resolve 0.88 of the time, with Hit 0.90, for 5 bytes
//     a link.
//   - Huge pages: an arena asks for each one when it has filled it (MADV_COLLAPSE), tables and
//     counters from the start. Advising whole chunks beforehand makes half a huge page a shard
//     resident for nothing, 6 bytes a link at 10 M links.
//   - Our own hash (wyhash's folded multiplication under a random key) instead of hash/maphash:
//     inlined eight-byte steps instead of a call and a copy; the instructions saved are part of the
//     same overlap.
//   - Counters are addressed by the link's id, not by a local index in the record: four bytes a
//     link less, and hit totals load without any map from id to index. Ids that were allocated and
//     never used cost 8 bytes of address space each.
package index
