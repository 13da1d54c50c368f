// Package journal has the files in which hits are recorded: rings of records, the dictionary of
// referrers, their folders, replay and check. It knows tally, mapped memory and the hash step, but
// not links, stores or the fold. The engine uses it to record hits, to read them in order, to say
// which are durable, and to start an epoch.
//
// # Terminology
//
// A record is one redirect, 32 bytes. A ring is a mapped file of slots for records; a journal is
// the rings of one epoch and their dictionary. A writer reserves a slot and stores a record in it.
// The records of a ring have sequence numbers from 0 in each epoch; number s is in slot s modulo
// size. Head is the next number to reserve, limit the first that may not be reserved yet, folded
// the first that was not read, committed the first that is not in the store:
//
//	committed ≤ folded ≤ head ≤ limit, and limit ≤ committed + size unless the store stalls
//
//	│ durable: slots free again │ read, not durable │ stored, not read │ to be reserved │
//	0                       committed             folded             head            limit
//
// An epoch is a run of a store, from one start to the next; each has its own files. A history is
// the epochs of a store until it is restored from a backup. Positions are an epoch and the
// committed number of each of its rings.
//
// # Files
//
//	DIR/ring-STORE-EPOCH-NN          a ring: a header of 4096 bytes (ringfile.go), then its slots (record.go)
//	DIR/ring-STORE-EPOCH-referrers   the dictionary (referrers.go), made last
//
// Standby rings have no files: they are in the memory of the process.
//
// Files are filled with zeros and synced before they are mapped, because a store into a sparse page
// is slow, and is SIGBUS on a full disk. By default there are 8 rings of 2^18 records, 8 MiB each,
// which hold 10 s of 200,000 hits/s, and 8 standby rings of an eighth of that size. They are sparse
// files until hits need them: a start fills 8 rings of a quarter of the size, which hits use until
// then (grow.go). The id of a link chooses the ring that its hits go to.
//
// # Concurrency
//
// Any number of writers append at once; they take no lock and allocate nothing. One reader at a
// time calls Ring.Next: the engine's fold, under its mutex. Head, limit and committed are atomic
// words, so figures may be read at any time. The dictionary takes no lock for a host that it knows,
// and one for a new host. One goroutine is in Keeper.Run, another calls Keeper.Watch. The locks are
// Referrers.mu and Keeper.mu; neither is taken while the other is held.
//
// A record is published by its last word, which has a checksum over record, epoch and sequence
// number. So a slot of an earlier lap or epoch, or one that is half stored, is not taken for a
// record: the reader stops before it, and a replay skips it. Records prove themselves; heads prove
// nothing.
//
// # Durability
//
// The kernel has a record as soon as it is stored in the mapped file. So the record survives the
// end of the process (a crash: kill -9, a panic, no memory), but not the loss of power (a cut). One
// in a standby ring survives neither. Which hits are lost, which are counted when, and why a hit
// counts exactly once is one argument over journal, fold and store: it is in the comment of
// engine/hit.
//
// Nothing protects a file that somebody damages in place while we run: changed slots do not prove
// themselves, so the reader of that ring stops at the first one; a file that is truncated under its
// mapping is SIGBUS, and that ends the process.
//
// # Several stores and copies in one folder
//
// File names have the store's id, so two stores can share a folder. A restored backup has the id of
// its original. So the high bits of an epoch are a history, which a restore draws at random
// (OtherHistory), and files of other histories are neither replayed nor removed. A copied folder
// has the history of its original. So the low bits of each epoch are drawn at random (NextEpoch),
// and neither copy takes the other's records for its own. Files are locked by the process that made
// them (inuse.go).
//
// # A disk that does not answer
//
// The keeper makes pages writable before hits reach them, and sends hits to the standby rings while
// the disk does not answer (keeper.go).
//
// # Rest
//
// While there are no hits, the journal rests (Journal.Rest): every ring looks full, so that neither the
// fold nor the keeper has to look or write, and yet a hit pays nothing for it. The first hit takes the
// way of a hit that finds its ring full, calls Wake, and waits until the keeper has asked the disk and made pages
// writable, or has sent hits to the standby rings.
//
// # Referrers
//
// A record has the number of its referrer in the journal's dictionary, a mapped file of two halves.
// New names go into the current half. The other half is emptied only when no record outside the
// store has a number of that half any more (referrers.go).
//
// # Decisions
//
//   - On amd64 none of the four stores of a record is atomic: an atomic store would be a locked
//     instruction, which waits for all loads and stores before it. The processor keeps their order,
//     and a word is never half stored. With an atomic last store, Resolve and Hit take 1.01 to 1.21
//     times as long. On other processors the last store is atomic.
//   - A ring with one writer at a time would save the other locked instruction, that of the
//     reservation. Tried with plain stores throughout: 0.93 to 1.08 of the time, and more once a
//     sync.Pool chooses the ring. So it is not worth it.
//   - Reserve, LookAgain, Digest, Seal and Store are exported, although Put and Append do the same:
//     the compiler inlines each into a redirect, but would not inline one function that does it
//     all.
//   - A writer that finds its ring full gets false instead of overwriting what is not durable. Its
//     caller waits for the next flush. The rings hold 10 s of 200,000 hits/s by default.
//
// To be revisited: one journal for all memory nodes, once there is hardware with several.
//
// Files, leaves first: record.go, ring.go, ringfile.go, epoch.go, folder.go, journal.go, replay.go, inuse.go,
// referrers.go, keeper.go, grow.go, check.go.
package journal
