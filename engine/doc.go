// Package engine is the core of shunt: links in memory, hits in a journal, both durable in a Store. It knows nothing of
// HTTP, Pebble or Prometheus.
//
// # Rooms
//
// Below it are rooms that do not know it. Callers use what they need of them as the engine's own (forward.go).
//
//	index/     links in memory: shards, tables, arenas, counters, code locks; what a code may be
//	target/    what a target may be; own origins, private hosts, the block list
//	journal/   the files that hits are recorded in: rings, the dictionary of referrers, replay, its check
//	tally/     what is counted: sketches, breakdowns, the values of dimensions, deltas
//	invalid/   what is wrong with the fields of a request
//	plural/    counts things in words
//	internal/  what only rooms of the engine share: mmap (memory outside the heap, mapped files), hash, limits, invariants
//
// # Terminology
//
// A code is what follows the slash of a short address, an alias a code that a person chose, the target where a link
// leads. A redirect of a visitor is a hit; redirects of bots, prefetches and HEAD requests are counted apart. The journal
// is a set of rings of hit records. The fold takes records out of the rings into deltas, the flush commits deltas to the
// store. A tally is counts, a set of visitors and hits by the values of dimensions (engine/tally). The roll-up adds closed hours to days and to the whole life of a
// link. A window is a run of hours that somebody asks about; it is made of spans, each of which the store can add up.
//
// # Concurrency
//
// Resolve takes no lock, and Hit none unless its ring is full. How links and counters are read while they are written is said in
// engine/index.
//
// Ids are never reused and counters never move, so that no hit is lost to a racing edit, growth or rewrite. The fold
// raises the counter of an uncapped link; who reads one has everything folded first. A capped link's is raised by the hit
// itself, by compare-and-swap and never beyond the cap, and its record says so (counted). Before a link that had no cap
// gets one, it is published with a flag that makes its hits do the same, and folded: then the counter is complete.
//
// The cap that counts is the one in force when a hit is admitted, not the one that the redirect found when it resolved the
// link: the hit looks the link up once more, after it has read the counter and before it swaps it. An edit publishes another cap
// first and then changes the upper bits of the counter, which makes the swaps fail that began before (engine/index, counter.go). So, whatever
// the edit (a cap given, lowered, raised, taken away and given again): once an edit to a cap of n is published, and the link had
// h hits at that moment, max(n, h) is all that is admitted until the next edit; h is in the answer of the edit. A redirect that
// resolved the link while it had neither cap nor flag is no exception: it looks again after it has reserved its slot, for a
// minute after a cap was given (Engine.countAtOnce), and leaves a void record if it is not admitted. Expiry, disabling
// and deletion promise nothing for redirects under way: a redirect that resolved the link before is as if it had come before.
// The hit of a link that was deleted, and its code taken again, counts for the link that was resolved, under its cap.
//
// A write of a code goes: lock the code (and its case variants) in the index; read and check; hand one Mutation to the
// store; when that is durable publish it, and unlock the code, in the store's callback. So writers of one code
// have one order and one winner, nothing is visible before it is durable, and a caller that stops waiting
// (ErrOutcomeUnknown after CommitTimeout) leaves all this to happen.
//
// The answer to a write, or to a read of one link, is of one moment: hits and version are read while the code is locked. A new link
// has the hits that it brings along, which are its counter's before the store has the link. An edit has those of its
// publication. Lists lock no code: their hits are looked up by id, later than the rest. No update is earlier than the
// creation or an update before it, whatever the clock does: then it has the time of that one.
//
// A user is deleted only when no link is theirs, and creates may be under way: RetireOwner waits for their commits and lets no
// more in (owners.go).
//
// A create may be one that its sender repeats (CreateOnce): then the key of the request is locked first, and unlocked by
// the same callback. The mutation carries a receipt, with the whole link as it is answered, so that link and receipt are
// durable together; a repeat is answered from the receipt, and a concurrent one waits for the key. So a request whose
// outcome was unknown never makes a second link. In memory are the keys under way and a count of receipts for each sender,
// which a scan of their keys brings back at start. Receipts are swept by the flush goroutine, with their keys locked.
//
// Several links of one request (CreateBulk) are one commit with one receipt. Their aliases are locked in the order of the
// folded codes, so that racing requests do not wait in a circle; a code that is drawn is taken only if it is free, without
// waiting. The receipt has codes and ids only: a repeat shows the links as they are by then.
//
// A list is a Listing of the store, of one moment and durable. Its order is that of ids, so a page goes on below the id at
// which the last one ended, whatever was made, edited or deleted since. A page goes over at most 10,000 rows.
//
// Locks: shard.mu, counters.mu, pending.mu, ids.mu, owners.mu, receipts.mu, and the keeper's and the dictionary's mu; none is
// taken while another is held. shard.mu and counters.mu are the index's, the keeper's and the dictionary's are the journal's. The store's callbacks take shard.mu, counters.mu, owners.mu and receipts.mu; a rewrite of a shard (about 0.1 µs a link) happens in one, and
// holds up all writers.
//
// Goroutines: Run has four. One folds every 10 ms. One flushes every interval, and rolls up, purges deleted links and sweeps
// receipts in between: it alone calls Store.Flush, Store.RollUp and Store.SweepReceipts. One allocates ids. One keeps pages of
// the journal writable (journal.Keeper). A fifth says when the first three have ended, for a store or a disk may hang: then Run
// and Close leave them behind, the process ends, and what they may still do is said at Close.
//
// # Why a hit is counted exactly once
//
// Terms. Records of a ring have sequence numbers from 0 in each epoch; s stands in slot s modulo size. Head is the next
// number to reserve, limit the one that may not be reserved yet, folded the first that is in no delta, committed the first
// that is not in the store: committed ≤ folded ≤ head ≤ limit, and limit ≤ committed + size unless the store stalls.
// Positions are a store's (epoch, committed of each ring). The kernel has a record as soon as it is stored in the mapped
// file, so it outlives the process (a crash: kill -9, a panic, no memory) and not the power (a cut). Live counters are
// memory, made anew at start from the store. What holds throughout: the store's rows are exactly the records below its
// positions, for one batch moves both. So a record is counted twice only if it is replayed from below the positions, which
// never happens, and lost only if it is overwritten, damaged or dropped from deltas, which is each counted.
//
// Running:
//
//  1. The writer reserves s: compare-and-swap on head, never at or past limit. Crash: a slot whose checksum is not that of
//     s (it is over record, epoch and s), so replay skips and counts it. The redirect was not answered.
//     If the hit turns out not to be admitted by a cap that was just given, step 2 stores a void record, which counts nothing.
//  2. It stores the record, the word with the checksum last, and answers. Crash: replay takes the record; if the answer was
//     not sent yet, it counts all the same: recovered hits lie between answered and sent ones. Cut: what was recorded since
//     the last flush is lost, in whole or, where the kernel had written pages back, in part. A head that is too low or
//     damaged costs nothing: replay tries every slot of [committed, committed + size), and records prove themselves.
//  3. The fold reads the slots in order, stops at one that is not published, and adds them to the gathering deltas. That is
//     memory only: crash and cut are as in 2.
//  4. The flush moves gathering to flushing with the positions that it was folded up to (one critical section: the deltas
//     are exactly the records from committed up to those), and commits both as one synced batch. Crash or cut before it is
//     durable: as in 2. After: its records are below the positions, so they are neither replayed nor lost.
//  5. Only then is limit raised to committed + size. Crash before that: limit is made anew at start.
//
// Failing and full:
//
//  6. Store.Flush returns an error: the batch is certainly not durable (an error inside a commit that leaves this open
//     ends the process: Pebble calls Fatalf). The same deltas with the same positions are committed again, so what was
//     folded since never mixes with them. A batch too large is committed without breakdowns, then without visitors.
//  7. Store.Flush hangs: its outcome is open and nobody asks. The deltas stay in flushing until it returns; if the process
//     is killed, the store has all of the batch and its positions, or neither.
//  8. A ring is full: the writer waits for step 5, a second at most. It folds meanwhile, so its wait needs no other
//     goroutine.
//  9. A flush takes over a second, retries included: a stall. Slots are freed up to folded, and [committed, head − size) is
//     in deltas only: Metrics.JournalUnprotected counts it. Crash: replay takes [committed, committed + size) as far as it
//     is not overwritten, and [head − size, head); it says how many were overwritten. When the store goes on, the deltas
//     are committed, and nothing is lost.
//  10. Deltas are bounded: values are dropped first, then visitors, and at 16 Mi entries (DefaultPendingEntries, gathering
//     and flushing together) records that need a new entry. Those are in the live counter and in Metrics.HitsMissing, and
//     the next positions pass them, alone if nothing else is to be committed. Until those are committed a crash brings them back, as far as 9 says.
//  11. The journal's disk stalls: hits go to standby rings (journal.Keeper), which have sequence numbers and positions of their own,
//     and all of 1 to 10 holds for them. Their files are in memory: a crash leaves them and a cut does not, so to replay one that
//     is missing is to replay nothing. If they could have no files, a crash loses what a standby ring has beyond committed,
//     and Metrics.JournalUnprotected counts it. At the switch a writer that has picked its ring goes on in that one: both sets
//     are folded at all times. A standby ring is an eighth of another, so 9 comes sooner there if the store stalls as well.
//
// Stopping and starting:
//
//  12. Close, after the last redirect: fold, flush, close the files. Every record is below the positions, so the next start
//     replays none, and the files of standby rings are removed, unless hits go to them at that moment. If the store hangs, Run's end and Close wait ten seconds each, and what is left is as in 7 and 9.
//  13. Replay reads the files of the stored epoch, in whatever number and size they are; it never writes to them. A crash
//     or a cut repeats it. If memory does not suffice for all, it commits in parts, each with the positions after it.
//  14. The rest of the replay, zero positions and the next epoch are one batch. Before it is durable the old epoch is what
//     it was, files included; after it the old files are never read again (13 reads the stored epoch's), so it does not
//     matter when they go: before the new ones are made, which may need their room.
//  15. The new files are made, the dictionary of referrers last. Crash, cut or a full disk: an epoch without files, or with
//     half-made ones, and no redirect was served. The next start finds positions of zero and no dictionary, expects
//     nothing, and begins another epoch.
//  16. A restored backup has the id of its original, and may share its journal folder. So the high bits of an epoch are a
//     history, which a restore draws (NewHistory): files of other histories are neither replayed nor removed. A copied
//     folder has the history of its original; the low bits of each epoch are drawn, so neither takes the other's records
//     for its own. An engine has its files locked: locked ones are neither replayed, which would count their hits
//     in both, nor replaced, nor removed; a start on them is refused. But two copies should not share a folder, where each
//     removes older epochs of the other once that has ended.
//  17. The journal moves to another folder (ReplayJournal): 13 and 14 with an epoch without rings, and no files are made in
//     the old folder. Crash: the next start, wherever it is, finds nothing to replay.
//
// A file of the stored epoch may be missing, cut, or somebody else's. If anything shows that hits were taken in that epoch
// (a position, a record, the dictionary), the start goes on, says once which files, and that what they had since the last
// flush is missing, and counts them (Metrics.JournalMissing). A file that is cut is replayed up to there. Only a file of a
// newer format stops the start, for a newer program can replay it. A file that somebody damages in place while we run
// cannot be helped: changed slots do not prove themselves, which stops the fold of that ring at the first one not folded
// yet; a file that is cut short under its mapping is SIGBUS, and that ends the process.
//
// CheckJournal says which slots without a record a crash explains.
//
// A reader of statistics first has everything folded that was recorded when it began, so that it finds its own hits. How
// it unites pending deltas and the store without counting a delta twice is said at openView.
//
// # Figures
//
// A hit counts in (hour, link) and (hour, owner): its class, its visitor, and what it is broken down by. A device, a
// browser and a country are one byte of a closed list (engine/tally). A referrer is a number of the journal's dictionary
// (engine/journal). Rows in the store hold the names.
//
// A window is widened to whole buckets: hours as long as hours are kept, days before (Query). Days are read from day rows
// and from those hours that are not rolled up, hours from hour rows. The last bucket of a window up to now takes in what a
// clock that was ahead has stamped later, so that no hit is outside of every window.
//
// Account-wide figures are the same of (hour, owner) rows, so unique visitors are visitors of any link, and deleted links
// stay in them. A query by tag, or for the most-hit links, goes over the links, at most MaxScannedLinks.
//
// Hours: a record carries the hour of its redirect. When an hour is over (and a minute's grace), it is first closed in
// memory, so that late records count in the next one; then what is pending of it is flushed; then the store rolls it up.
// That waits while compaction is behind. The closed hour is part of the positions, so that a replay keeps to it. A clock that is ahead would close hours, and
// delete days and deleted links, for good: so all of that waits until it has run evenly for ten minutes, after a start and after each jump.
//
// # Durability of writes
//
// Store.Apply answers when the mutation is synced. The journal is not synced: it outlives the process, not the power. A
// power cut loses at most the hits since the last flush.
//
// # Decisions
//
// The figures of record are in bench/RESULTS.md.
//
//   - Few instructions in a hit, as in a look-up (engine/index): a Visit comes in registers, and Hit
//     has the append inlined; what is rare is in calls: 90 instead of 280, in two steps. Over 10 M
//     links, drawn uniformly, medians in pairs: Resolve with Hit 0.73 of the time, and then again
//     0.73; the first of them has the short way of Resolve, too.
//   - The fold raises the counters of uncapped links, not the hit: one cache miss less in the redirect. The fold's misses
//     overlap, a redirect's do not.
//   - A hit that finds its ring full waits for the next flush instead of overwriting what is not durable. The rings hold
//     10 s of 200,000 hits/s by default, and a flush starts early when one is half full.
//   - A receipt holds the link instead of its code: what was answered does not depend on what the link is now, or on
//     whether the body would still be taken. It costs the bytes of the link once more, for a day. The hits are those of then,
//     too: beside a version that is no more, hits of now would be a link that never was.
//   - A former owner may take a code again although somebody else has a variant of it, live or deleted. Only imports make such
//     neighbours, and each of them had its code before; otherwise whoever comes second, or deletes first, would lose theirs.
//
// To be revisited: tombstones stay in memory for 90 days, about 50 bytes each, and a purge goes at 256 links a flush interval.
package engine
