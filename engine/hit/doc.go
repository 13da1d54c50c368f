// Package hit is what a hit is: how it is recorded in the journal, counted, and kept in the store, and the
// answers to questions about hits. It knows nothing of a link but what the index has, and what Links says.
//
// # The life of a hit
//
// A hit is one record in a ring of the journal. The fold reads records in order, adds them to the
// deltas that gather, and raises the counters of uncapped links. The flush commits the deltas of
// all records up to some positions, together with these positions. When an hour is over, the store
// rolls it up. Reads fold first, so a caller finds its own hits; they add the pending deltas to a
// View of the store, and openView says how no delta is counted twice.
//
// # Caps
//
// Ids are never reused and counters never move, so that no hit is lost to a racing edit, growth or
// rewrite. The fold raises the counter of an uncapped link; a caller that reads one has everything
// folded first. The hit itself raises the counter of a capped link, by compare-and-swap and never
// beyond the cap, and its record says so (counted). Before an uncapped link gets a cap, it is
// published with a flag that makes its hits do the same, and everything is folded: then the counter
// is complete. In a cluster, the node that leads decides each hit of a capped link: see engine/caps.
//
// The cap that counts is the cap in force when a hit is admitted, not the cap that the redirect
// found when it resolved the link: the hit looks the link up once more, after it has read the
// counter and before it swaps it. An edit first publishes another cap and then changes the upper
// bits of the counter, so that swaps that began earlier fail (engine/index/counter.go). So,
// whatever the edit (a cap given, lowered, raised, taken away and given again): once an edit to a
// cap of n is published, and the link had h hits at that moment, at most max(n, h) hits are
// admitted until the next edit; h is in the answer of the edit. This also holds for a redirect that
// resolved the link while it had neither cap nor flag: for a minute after a cap was given, it looks
// again after it has reserved its slot (link.Links.countAtOnce), and leaves a void record if it is not
// admitted. Expiry, disabling and deletion promise nothing for redirects under way: a redirect that
// resolved the link before is treated as if it had come before. If a link was deleted and its code
// taken again, a late hit counts for the link that was resolved, under its cap.
//
// # Why a hit is counted exactly once
//
// Terms. The records of a ring have sequence numbers from 0 in each epoch; record s is in slot s
// modulo size. Head is the next number to reserve, limit the first that may not be reserved yet,
// folded the first that is in no delta, committed the first that is not in the store: committed ≤
// folded ≤ head ≤ limit, and limit ≤ committed + size unless the store stalls. Positions belong to
// a store: (epoch, committed of each ring). The kernel has a record as soon as it is stored in the
// mapped file, so the record outlives the process (a crash: kill -9, a panic, no memory) and not
// the power (a cut); one in a standby ring outlives neither (11). Live counters are in memory, and each
// start builds them again from the store: from a view that is older than the first flush of the epoch,
// so that a record that the fold has added is not added again (totals.go).
//
// The invariant: the store's rows are exactly the records below its positions, because one batch
// moves both. So a record is counted twice only if it is replayed from below the positions, which
// never happens. It is lost only if it is overwritten, damaged, dropped from deltas, or in memory alone
// at a crash, and each of these is counted.
//
// Running:
//
//  1. The writer reserves s: compare-and-swap on head, never at or past limit. Crash: the slot's
//     checksum is not that of s (it covers record, epoch and s), so replay skips and counts the
//     slot. The redirect was not answered. If a cap that was just given does not admit the hit,
//     step 2 stores a void record, which counts nothing.
//  2. It stores the record, the word with the checksum last, and answers. Crash: replay takes the
//     record, even if the answer was not sent yet: so the number of recovered hits lies between
//     the answered and the sent ones. Cut: the records since the last flush are lost, all of them
//     or, where the kernel had written pages back, some of them. A head that is too low or damaged
//     costs nothing: replay tries every slot of [committed, committed + size), and records prove
//     themselves.
//  3. The fold reads the slots in order, stops at the first that is not published, and adds the
//     records to the gathering deltas. That changes only memory: crash and cut are as in 2.
//  4. The flush moves gathering to flushing, with the positions up to which it was folded (one
//     critical section: the deltas are exactly the records from committed up to these positions),
//     and commits both as one synced batch. Crash or cut before the batch is durable: as in 2.
//     After: its records are below the positions, so they are neither replayed nor lost.
//  5. Only then is limit raised to committed + size. Crash before that: a start sets limit again.
//
// Failing and full:
//
//  6. Store.Flush returns an error: the batch is certainly not durable (an error inside a commit
//     that leaves this open ends the process: Pebble calls Fatalf). The same deltas with the same
//     positions are committed again, so they never mix with what was folded since. A batch that is
//     too large is committed without breakdowns, then without visitors.
//  7. Store.Flush hangs: its outcome is open and nobody asks. The deltas stay in flushing until it
//     returns; if the process is killed, the store has the whole batch and its positions, or
//     neither.
//  8. A ring is full: the writer waits for step 5, a second at most. It folds meanwhile, so its
//     wait needs no other goroutine.
//  9. A flush takes more than a second, retries included: a stall. Slots are freed up to folded,
//     and [committed, head − size) is only in deltas: Metrics.JournalUnprotected counts it. Crash:
//     replay takes the part of [committed, committed + size) that is not overwritten, and [head −
//     size, head); it reports how many records were overwritten. When the store continues, the
//     deltas are committed, and nothing is lost.
//  10. Deltas are bounded: first values are dropped, then visitors, and at 16 Mi entries
//     (engine/internal/settings, DefaultPendingEntries; gathering and flushing together) records
//     that need a new entry. Those records are in the live counter and in Metrics.HitsMissing, and
//     the next positions pass them, alone if nothing else is to be committed. Until these positions
//     are committed, a crash brings the records back, as far as 9 says.
//  11. The journal's disk stalls: hits go to standby rings (journal.Keeper). These have sequence
//     numbers and positions of their own, and 1 to 10 hold for them. But they are in the memory of
//     the process: a crash loses their records beyond committed, and Metrics.JournalUnprotected
//     counts those. When the disk answers again, the keeper asks for a flush. At the switch, a
//     writer that has picked its ring continues in that ring: both sets are folded at all times. A
//     standby ring has an eighth of the size of another, so 9 comes sooner there if the store
//     stalls as well.
//
// Stopping and starting:
//
//  12. Close, after the last redirect: fold, flush, close the files. Every record is below the
//     positions, so the next start replays none. If the store hangs, Run's end and Close wait ten
//     seconds each, or until CloseBy, and what remains is as in 7, 9 and 11.
//  13. Replay reads the files of the stored epoch, whatever their number and size; it never writes
//     to them. A crash or a cut repeats it. If memory does not suffice for all records, it commits
//     in parts, each with the positions after it.
//  14. The rest of the replay, zero positions and the next epoch are one batch. Before it is
//     durable, the old epoch is unchanged, files included. After it, the old files are never read
//     again (13 reads the stored epoch's), so it does not matter when they are removed: it is done
//     before the new ones are made, which may need their room.
//  15. The new files are made, the dictionary of referrers last. Crash, cut or a full disk: an
//     epoch without files, or with half-made ones, and no redirect was served. The next start finds
//     positions of zero and no dictionary, expects nothing, and begins another epoch.
//  16. A restored backup has the id of its original, and may share its journal folder. So the high
//     bits of an epoch are a history, which a restore draws (NewHistory): files of other histories
//     are neither replayed nor removed. A copied folder has the history of its original; the low
//     bits of each epoch are drawn, so neither copy takes the other's records for its own. An
//     engine locks its files. Locked files are not replayed, which would count their hits in both;
//     they are not replaced or removed either, and a start on them is refused. But two copies
//     should not share a folder, where each removes older epochs of the other once that one has
//     ended.
//  17. The journal moves to another folder (ReplayJournal): 13 and 14 with an epoch without rings,
//     and no files are made in the old folder. Crash: the next start, in whichever folder, finds
//     nothing to replay.
//
// A file of the stored epoch may be missing, cut, or somebody else's. If anything shows that hits
// were taken in that epoch (a position, a record, the dictionary), the start continues, says once
// which files these are and that their hits since the last flush are missing, and counts them
// (Metrics.JournalMissing). A file that is cut is replayed up to the cut. Only a file of a newer
// format stops the start, because a newer program can replay it. Nothing helps against damage in
// place while we run: changed slots do not prove themselves, so the fold of that ring stops at the
// first such slot that is not folded yet; a file that is cut short under its mapping is SIGBUS, and
// that ends the process.
//
// CheckJournal reports which slots without a record a crash explains.
//
// # Figures
//
// A hit counts in (hour, link) and (hour, owner): its class, its visitor, and the values it is
// broken down by. A device, a browser and a country are one byte of a closed list (engine/tally). A
// referrer is a number of the journal's dictionary (engine/journal). Rows in the store hold the
// names.
//
// A hit of a link with several targets has the number of one of them, and counts in (hour, target) as well: targets.go.
//
// A window is rounded to whole buckets: hours as long as hours are kept, days before (Query). Days are those of the
// store's time zone (engine/zone), which is fixed at the first start; a series by day may have those of another zone as
// long as its hours are kept, which is why they are for 8 days by default. Days
// are read from day rows and from those hours that are not rolled up, hours from hour rows. A window
// in days up to now has the whole of today. Hits that a clock that was ahead has stamped later are in
// no window before that day comes; they are in the figures of the link's whole life.
//
// Account-wide figures are the same for (hour, owner) rows, so unique visitors are visitors of any link, and deleted
// links stay in the figures. They are read once for all windows of a page, by all cores (sums.go). So are the rows of
// the links with a tag or in a folder, MaxScannedLinks at a time (tagged.go). A query for the most-hit links reads
// those with the most hits of all time, until no other link can have as many in the window (top.go).
//
// Hours: a record carries the hour of its redirect, and counts there. When an hour is over (and a minute's
// grace), its pending deltas are flushed; then the store rolls it up. That waits while the store's
// compaction lags. Records that come later count in their hour, too, and cost the store more.
//
// # Decisions
//
// The figures of record are in bench/RESULTS.md.
//
//   - Few instructions in a hit, as in a look-up (engine/index): a Visit comes in registers, Hit
//     has the append inlined, and rare cases are in calls: 90 instructions instead of 280, in two
//     steps. Over 10 M links, drawn uniformly, medians in pairs: the first step took Resolve with
//     Hit to 0.73 of the time, the second to 0.73 again; the first includes the short way of
//     Resolve.
//   - The fold raises the counters of uncapped links, not the hit: one cache miss less in the
//     redirect. The fold's misses overlap, a redirect's do not.
//   - A hit that finds its ring full waits for the next flush instead of overwriting what is not
//     durable. The rings hold 10 s of 200,000 hits/s by default, and a flush starts early when one
//     is half full.
//
// Files, leaves first: store.go, fold.go, hits.go, stall.go, flush.go, pulled.go, ranking.go, query.go, record.go,
// capped.go, stats.go, targets.go, cores.go, spans.go, sums.go, report.go, reading.go, epoch.go, metrics.go,
// journalcheck.go, tagged.go, top.go, totals.go.
package hit
