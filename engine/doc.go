// Package engine is the core of shunt: it serves links from memory, records hits in a journal, and
// keeps both durably in a Store. It knows nothing of HTTP, Pebble or Prometheus. The API and the
// commands call it; package storage implements its Store.
//
// # Rooms
//
// The engine joins rooms that do not know it: what it has itself is how they start, run and end. Each room's
// package comment is its paper. Packages above the engine reach the rooms through forward.go.
//
//	link/      what a link is: its fields, and how links are made, edited, deleted, loaded and listed
//	hit/       what a hit is: how it is recorded, counted, kept and asked about
//	index/     links in memory: shards, tables, arenas, counters, code locks; which codes are valid
//	target/    which targets are valid: own origins, private hosts, the block list
//	journal/   the files that hits are recorded in: rings, the dictionary of referrers, replay, check
//	tally/     what is counted: sketches, breakdowns, the values of dimensions, deltas
//	caps/      the caps of links in a cluster
//	invalid/   errors in the fields of a request
//	plural/    counts things in words
//	zone/      the days of a time zone, in hours
//	search/    the text by which links are found, folded, and the grams of it
//	daily/     hits by day of an imported link
//	extras/    what few links have beside a target, an expiry and a cap
//	expect/    the expectations of tests
//	seen/      the time that a store has itself seen passing, by which things grow old
//	internal/  shared by the engine and its rooms only: clock (what a wrong clock may do), settings (defaults), errs,
//	           ascii (percent-encodes Location), symbols (codes targets in memory), mmap (memory outside the
//	           heap, mapped files), hash, limits, invariants, seams
//
// Neither link nor hit knows the other. Both have the index: a redirect finds its link there, and the fold
// raises the counters in it. A link asks for hits to be folded before it shows them (link.Hits). A report
// asks when a link was made, and the flush goroutine has old links cleaned up (hit.Links). All this is off
// the path of a redirect.
//
// # Terminology
//
// A code is what follows the slash of a short address, an alias is a code that a person chose, and
// the target is where a link leads. A redirect of a visitor is a hit; redirects of bots and of HEAD
// requests are counted apart, and so are prefetches, which are not redirected. The journal is a set of rings of hit
// records. The fold takes records out of the rings into deltas; the flush commits deltas to the store. A tally is
// counts, a set of visitors, and hits by the values of dimensions: of a link, of one of its targets if it has several,
// or of an owner. The roll-up adds closed hours to days and to the whole life of a link. A window is a run of hours
// that a caller asks about; it is made of spans, each of which the store can add up.
//
// # Who talks to whom
//
//	          Resolve        Hit            Create, Update, Delete      Stats, reports, lists
//	             │            │                       │                           ▲
//	             │    caps    │                       │ lock, read, check         │
//	             ▼ ◀──────────┤                       │                           │
//	           index          ▼                       │                           │
//	             ▲ ▲       journal                    │                           │
//	             │ │          │ fold, every 10 ms     │                           │
//	    publish, │ └──────────┤ counters              │                           │
//	when durable │            ▼                       │                           │
//	             │         deltas ────────────────────┼───────── pending ─────────┤
//	             │            │ flush, every second   │ Apply                     │ View, Listing
//	             │            ▼                       ▼                           │
//	             └────────────────────────────────  Store ────────────────────────┘
//
// # The life of a redirect
//
// Resolve finds the link in the index: no lock, no allocation, no I/O. The caller checks whether
// the link is disabled or expired, and answers with the target. Hit takes no lock unless its ring
// is full. How links and counters are read while others write them is in engine/index.
//
// A start loads all links, some 10 s for 10 M, and redirects do not wait for that: a link that is not
// in the index yet is fetched from the store (link/loading.go). Hits count, and are flushed, meanwhile.
//
// # Concurrency
//
// Goroutines. Run has four. One folds every 10 ms, or, after 3 s without hits, once a hit wakes it. One
// flushes every interval, and rolls up, purges deleted links and sweeps receipts in between: only it calls Store.Flush,
// Store.RollUp and Store.SweepReceipts. One allocates ids. One keeps pages of the journal writable (journal.Keeper).
// A fifth goroutine reports when the first three have ended, because a store or a disk may hang:
// then Run and Close return without them, the process ends, and Close says what they may still do.
//
// Locks. shard.mu and counters.mu (of the index), pending.mu, ids.mu, owners.mu, receipts.mu, reuses.mu, and
// the mutexes of the keeper and the dictionary (of the journal). None is taken while another is
// held, but the index takes two of its own under shard.mu (see there), and a claim looks at clock.mu
// under it, which is held for no I/O then. The store's callbacks take counters.mu, shard.mu, owners.mu, reuses.mu and
// receipts.mu, one after the other; a rewrite of a shard happens in a callback, and holds up all writers: for about
// 0.1 µs a link, or 0.6 µs while it is so small that its targets are coded again.
//
// Writers also hold locks while they wait for the disk. These have one order, too: the key of a request (receipts),
// links to reuse (engine/link/reuse.go), owners, codes. A writer that holds one waits only for later ones. A bulk takes
// several of one kind in the order of their keys.
//
// # Durability
//
// Store.Apply answers when the mutation is synced. The journal is not synced: it outlives the
// process, not a power cut. A power cut loses at most the hits since the last flush.
//
// Files, leaves first: store.go, cores.go, faults.go, forward.go, engine.go, run.go.
package engine
