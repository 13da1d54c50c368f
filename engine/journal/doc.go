// Package journal has the files that hits are recorded in: rings of records, the dictionary of
// referrers, their folders, replay and check. It knows tally, mapped memory and the hash step, and
// nothing of links, stores or the fold. The engine uses it: it records hits, reads them in order,
// says what is durable, and starts an epoch.
//
// # Terminology
//
// A record is one redirect, 32 bytes. A ring is a mapped file of slots for records; a journal is
// the rings of one epoch and their dictionary. A writer reserves a slot and stores a record in it.
// The records of a ring have sequence numbers from 0 in each epoch; number s stands in slot s
// modulo size. Head is the next number to reserve, limit the one that may not be reserved yet,
// folded the first that was not read, committed the first that is not in the store:
//
//	committed ≤ folded ≤ head ≤ limit, and limit ≤ committed + size unless the store stalls
//
//	│ durable: slots free again │ read, not durable │ stored, not read │ to be reserved │
//	0                       committed             folded             head            limit
//
// An epoch is a run of a store, from one start to the next; each has files of its own. A history is
// the epochs of a store until it is restored from a backup. Positions are an epoch and the
// committed number of each of its rings.
//
// # Files
//
//	DIR/ring-STORE-EPOCH-NN          a ring: a header of 4096 bytes (ringfile.go), then its slots (record.go)
//	DIR/ring-STORE-EPOCH-referrers   the dictionary (referrers.go), made last
//	MEM/shunt-STORE/ring-…           standby rings, in a folder in memory, with a note of whose they are (leftstandby.go)
//
// Files are written full and synced before they are mapped: a sparse page would be a slow store, or
// SIGBUS on a full disk. By default there are 8 rings of 2^18 records, 8 MiB each, which hold 10 s
// of 200,000 hits/s, and as many standby rings of an eighth of that. A link's hits go to one ring,
// which its id chooses.
//
// # Concurrency
//
// Any number of writers append; they take no lock and allocate nothing. One reader at a time calls
// Ring.Next; the engine's fold does, under its mutex. Head, limit and committed are atomic words,
// so figures may be read at any time. The dictionary takes no lock for a host that it knows, and
// one for a new host. One goroutine is in Keeper.Run, another calls Keeper.Watch. Locks:
// Referrers.mu and Keeper.mu; neither is taken while another is held.
//
// A record is published by its last word, which has a checksum over record, epoch and sequence
// number. So a slot of an earlier lap or epoch, or one that is half stored, does not pass for a
// record: the reader stops before it, and a replay skips it. Records prove themselves; heads prove
// nothing.
//
// # Durability
//
// The kernel has a record as soon as it is stored in the mapped file, so it outlives the process (a
// crash: kill -9, a panic, no memory) and not the power (a cut). What is lost and what is counted
// when, and why a hit counts exactly once, is one argument over journal, fold and store: it is in
// the comment of package engine.
//
// A file that somebody damages in place while we run cannot be helped: changed slots do not prove
// themselves, so reading that ring stops at the first one; a file that is cut short under its
// mapping is SIGBUS, and that ends the process.
//
// # Several stores and copies in one folder
//
// File names have the store's id, so two stores can share a folder. A restored backup has the id of
// its original: so the high bits of an epoch are a history, which a restore draws (OtherHistory),
// and files of other histories are neither replayed nor removed. A copied folder has the history of
// its original: so the low bits of each epoch are drawn (NextEpoch), and neither takes the other's
// records for its own. Files are locked by the process that made them (inuse.go).
//
// # A disk that does not answer
//
// The keeper makes pages writable before hits come to them, and has hits go to the standby rings
// while the disk does not answer (keeper.go).
//
// # Referrers
//
// A record has the number of its referrer in the journal's dictionary, a mapped file of two halves.
// New names go into the current half. The other half is emptied only when no record outside the
// store names it any more (referrers.go).
//
// # Decisions
//
//   - On amd64 none of the four stores of a record is atomic: that would be a locked instruction,
//     which waits for all before it. The processor keeps their order, and a word is never half
//     stored. With the last one atomic Resolve and Hit take 1.01 to 1.21 times as long. Elsewhere
//     it is atomic.
//   - A ring that only one goroutine at a time writes to would save the other locked instruction,
//     the reservation's. Tried with plain stores throughout: 0.93 to 1.08 of the time, and more
//     once a sync.Pool chooses the ring. So it is not worth it.
//   - Reserve, LookAgain, Digest, Seal and Store are exported, although Put and Append do the same:
//     the compiler inlines each of them into a redirect, and not all of them as one function.
//   - A writer that finds its ring full gets false instead of overwriting what is not durable. Its
//     caller waits for the next flush. The rings hold 10 s of 200,000 hits/s by default.
//
// To be revisited: one journal for all memory nodes, once there is hardware with several.
package journal
