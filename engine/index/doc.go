// Package index holds the links in memory and their hit counters, and decides what a code may be.
// It knows engine/internal and engine/invalid, and neither the store, nor the journal, nor the
// engine. Only the engine writes to it; everybody else gets a Link, to be read and released.
//
// # Terminology
//
// A code is what follows the slash of a short address. An alias is a code that a person chose. A
// target is where a link leads. A key is a domain and a code: it names a link. An owner is a user in one
// domain: OwnerIn makes one number of both. A tombstone is the record of a deleted key. A variant of a key
// differs from it only by the case of its code.
//
// # Memory layout
//
//	key ───hash──┬─ 6 bits ─▶ shard ──atomic──▶ table ─▶ groups ─ 24 bits ─▶ group ─▶ slot: tag 32 │ offset 32
//	             └──────────────────────────────▶ arena ◀───────────────────────────────────────────────┘
//	                                               record: code and flags, id, owner, expiry, cap, target
//	             owner ─ domain and user
//	             id ──▶ counters ─ slab ─ 8 bytes of hits
//
// The domain and the case-folded code are hashed under a random key of the process. So codes that differ only by
// case meet in one probe sequence (the alias check is one look-up), and nobody can choose codes
// that collide. A group is a cache line: a control word with one byte of each of eight tags, and
// the eight slots. So a look-up waits for two cache misses, the group's and the record's, and has
// no branch that the processor mispredicts more often than once in ten.
//
// Equal codes in two domains are two links. The record of one that is not in the default domain has one flag more,
// *elsewhere*, and its owner says in which it is (owner.go). So a link takes as many bytes in any domain up to number
// 1,023, of a user up to number 4,095; beyond them it has a wide record. The flag is
// among the bits that a look-up compares with the code, so one in the default domain never finds such a link, and
// pays nothing for them but a comparison of the domain it asks for. It took the bit of links that are about to get
// a cap: these have wide records until they have it. Rejected: the domain in the record, which is 2 bytes a link.
// Without domains and with them, in instructions (amd64): Resolve 123 and 126, of which a look-up of eight bytes runs
// one test and one branch more, Hit 168 and 169. Minima by Zipf over 20,000 links: 49 and 49 ns, on a busy machine.
//
// The garbage collector has no pointers to follow here: arenas, tables and counters are mapped outside
// the Go heap, and the smallest tables, which are not, are pointer-free. A Link is two words, the record
// and its arena. While the arena is reachable its memory stays mapped, because a cleanup of the
// arena unmaps it. Link.Release marks the last use.
//
// A usual link has a narrow record: its drawn code, whose characters leave a bit free for each flag,
// its id, owner and the target's length take 16 bytes. A longer code, a tombstone, a large number, extras or a
// target that goes out percent-encoded takes a wide record of 20 bytes and the code (record.go). So a
// redirect learns from the word that it has read anyway that a target goes out as it is, and by one test of it
// (Link.Unusual) that there is no expiry, no cap and nothing else to ask for. Extras are bytes that the index keeps
// with a link and does not read: a start, an address for the time after the link (package extras). A link without them
// pays nothing; one with them 4 bytes more in the header, its code, 2 bytes of length, and the extras.
//
// Targets are coded by a static table of symbols (engine/internal/symbols). There is one table for all
// shards, because 64 would evict the first-level cache. It is trained on the first 4,096 targets that
// are put, and again when recent targets code 20 % worse than its samples did. It hangs on the arena:
// an arena keeps the table that it began with, and so do its Links. Put codes a target before it
// takes the shard's mutex; PutAll, with which nobody competes for long, codes it with the mutex held. It is coded again
// only when its shard is rewritten while it has at most 4 MiB: for its garbage, or because the shard is still plain
// when the first table is ready. A larger shard keeps its table, so that no rewrite locks it for long; the next start
// codes everything by a new one.
//
// A link takes 16 bytes of record, its target (coded to about half), half a byte that keeps the word
// that a look-up compares in one cache line, 8 bytes of counter, and 10.2 to 11.5 bytes of index. With
// real addresses of 50.4 bytes on average that is 59.1 to 59.8 bytes at 5 to 12 M links; before records
// were narrow and targets coded it was 100.6. Random bytes, which no table can make shorter, took
// 87.8; now they go out percent-encoded, in wide records, which take 18 bytes more. (BenchmarkMemory of bench, commit
// and machine in its RESULTS.md.)
//
// # Concurrency
//
// Resolve, Admit, Hits and AddHits take no lock. A shard's writers hold its mutex, and publish by
// one atomic store: a slot before its control word, a table by its pointer. Bytes of an arena that
// were published are never written again: an edit appends a record and stores another slot. A table
// of which 25 of 32 slots are used is replaced by one that is an eighth larger, over the same arena; a
// shard whose garbage passes a quarter of its arena gets a new arena and table. Readers go on with
// the arena that they have. The memory of the old table is given back at once, and whoever still reads it
// sees zeros. So a look-up that finds no entry looks once more, in the current table, before it reports
// that there is no link. Each and a Walk read whole tables, so they pin a table first: it then keeps its memory until
// they have read it. Slots are never emptied, because a deleted code stays taken: its
// record is a tombstone, which is ignored once its time is over. When the link is purged, the slot gets an
// empty record, which counts as garbage and is dropped by the next rewrite.
//
// A shard takes 2.6 GiB of records, the index 168 GiB. One that is nearly full is rewritten as soon as it
// has 16 MiB of garbage. In a full one a new link fails; an edit or a deletion, which the store has
// already, fails only if there is no garbage at all.
//
// Ids are never reused and counters never move, so no hit is lost to a racing edit, growth or
// rewrite. The word of a counter also counts the changes of its link's cap (counter.go), so that
// Admit is exact about the cap in force: see Admit, and "Caps" in the comment of engine/hit.
//
// An entry is stored in this order: rest of the tag, offset, control word. On amd64 these stores, and those of the
// numbers that metrics read, are plain (mmap.StoreHalf, StoreLast, StoreWord): the processor keeps their order, and a
// locked instruction would wait until the record's bytes have reached the cache. Elsewhere offset and control word are
// atomic stores. The numbers are in no order with entries. The release of the shard's mutex completes
// all of it, so a link is found everywhere once its Put has returned.
//
// PutAll takes the mutex of a shard once for the links of 256 that belong there, in their order, and never two at
// once. It leaves shards that are locked for last, and waits for them as any other does.
//
// Several Puts of one code at once are safe and take effect in some order. A caller that must read
// and check before it puts takes the CodeLock first: the index itself does not ask for it.
//
// Locks: shard.mu and counters.mu; neither is taken while another lock of the index is held. Under shard.mu
// a new table takes the lock of the memory that tables share (mmap.Shared), and a put may take the coder's.
// The rewrite of a shard takes about 0.1 µs a link, with the shard locked; 0.6 µs when it is small and its
// targets are coded by another table.
//
// # Decisions
//
// The figures of record are in bench/RESULTS.md.
//
//   - Groups of slots in a cache line instead of single slots with linear probing: the same
//     memory, and the number of lines that a probe touches depends less on luck. By itself it made
//     no measurable difference.
//   - Eight slots instead of seven, because the mark in the control word is not repeated in the slot and an
//     offset has 32 bits. With as much memory, 6 % of the entries are not in their first group instead of
//     10 %. Each of these costs a mispredicted branch that waits for memory, and another cache miss.
//   - A Link of two words that reads its record on demand, instead of a struct of ten words
//     returned by value. Resolve over 10 M links, drawn uniformly: 479 ns with the struct, 196 ns
//     without (one run each). In a loop over the look-up alone, finding the record took 149 ns and
//     returning the struct 248 more. Our explanation, not tested further: 16-byte loads of 8-byte
//     stores that were just done wait until those retire, which ends the overlap of one look-up's
//     cache misses with the next.
//   - Few instructions in a redirect. A look-up takes the time of two loads of which the second
//     waits for the first (the group, then the record). How much of it overlaps with the next
//     look-up depends on how many instructions fit into the processor's window: 256 to 512 on the
//     machines that we measure on (half of it while the core's second thread is busy, we think: the
//     same code has two speeds). So codes of eight bytes have a path of their own in Resolve,
//     inlined, without calls or spills: 90 instructions instead of 200. Over 10 M links, drawn
//     uniformly, medians in pairs: Resolve 0.56 of the time.
//   - The word that a look-up compares is in one cache line. When records of 24 bytes and more were
//     packed without gaps, a look-up waited for two lines in 23 of 64 cases. Five pairs over 10 M links,
//     drawn uniformly, medians of the ratios: Resolve 0.88 of the time, with Hit 0.90.
//   - Tables grow by an eighth, not by doubling, and a tag is mapped to a group by multiplication, so
//     that any number of groups will do. An entry is copied eight times on average as its shard fills,
//     in order of memory; a load that knows how many records come (Expect) copies it about once. Shards
//     begin with different sizes, so that they grow at different times. Arenas that rewrites leave behind
//     wait for a collection, which the index begins itself after each 8 MiB (memory.go). Tables waited for it too,
//     which was 3 to 5 % of all memory while links are loaded.
//   - Huge pages: an arena asks for each one when it has filled it (MADV_COLLAPSE), a slab of
//     counters when another follows (the last one had up to 2 MB that no link used), tables lie in huge pages together
//     (mmap.Shared). At 10 M links a table has 1.7 MB; on pages of 4 KB, with the first 2 MB of each arena as well,
//     Resolve took 1.06 to 1.2 of the time. Rejected: advising whole chunks beforehand, which makes half a huge page a
//     shard resident for nothing, 6 bytes a link at 10 M links.
//   - Our own hash (wyhash's folded multiplication under a random key) instead of hash/maphash:
//     inlined eight-byte steps instead of a call and a copy. The instructions saved are part of the
//     same overlap.
//   - Counters are addressed by the link's id, not by a local index in the record. That saves four
//     bytes a link, and hit totals load without any map from id to index. An id that was allocated
//     and never used costs 8 bytes of address space.
//
// Files, leaves first: memory.go, code.go, counter.go, flags.go, key.go, owner.go, arena.go, coder.go, link.go,
// record.go, table.go, place.go, shard.go, walk.go, index.go, hits.go, hidden.go, load.go, codelock.go.
package index
