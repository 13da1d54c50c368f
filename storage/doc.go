// Package storage keeps links and tallies durably, in Pebble (a log-structured merge tree). It implements engine.Store:
// the contract stands there, how it is kept stands here.
//
// # Terminology
//
//   - A row is a key and a value. The first byte of a key is its table; keys.go draws all tables.
//   - A batch is a set of writes that becomes visible and durable as one. Every batch here is synced before anybody is told.
//   - The hot record of a code is what a redirect needs; the cold record of a link id is everything else of the link.
//   - A tally row holds counts, the set of visitors (an engine.Sketch) and breakdowns by dimension of a link or an owner in
//     an hour, in a day, or, of a link, over its life. A merge operand is a tally row that Pebble adds to those of the same
//     key later.
//   - A flush writes what the engine has counted since the last one, with the positions of the journal that it covers.
//   - The roll-up adds the rows of an hour that is over to days and lives. The mark says how far it went. An hour is open
//     while it has rows that the mark has not passed.
//   - A receipt is what is kept of a request that made a link, so that a repeat of it gets the same answer.
//   - A sweep deletes the day rows of days that are no longer kept; another one deletes receipts whose time is over.
//   - A view is the tallies of one moment. A span is hours from one to another, of which a view adds the rows up.
//
// # The folder
//
//	DIR/format       "shunt data, version 1": read before Pebble is opened, so that a newer store is left as it is
//	DIR/db/          Pebble
//	DIR/journal/     the engine's hit journal
//	DIR/shunt.sock   the command line's
//
// A folder that does not say that it is ours is never written to. A creation begins with format.new and ends with its
// renaming to format, after the first rows are durable; one that crashed anywhere in between is begun again from an empty
// db. Pebble's lock, DIR/db/LOCK, is taken before anything but empty folders is written. Format files are written under the
// name format.tmp and renamed, so that they are whole at any moment: a torn format.new beside a db would be a stranger's.
//
// A backup is such a folder without a journal: db is a checkpoint of Pebble, whose table files are hard links where they can
// be, and format says "shunt backup, version 1", so Open refuses it and it stays as it is. It begins with format.backup and ends
// with its renaming to format. A restore begins with format.restoring, copies db, gives the copy a journal history of its own
// (engine.NewHistory), and ends with the renaming to format. So what a crash leaves of either is neither a store nor empty:
// Open says what it is, and Restore begins again.
//
// A store of a newer layout than the program's is refused and left as it is. So is one from before the first release, when
// layouts had other numbers (ErrOldFormat): its format file begins with "shunt store, format", or "shunt backup, format".
//
// # Key space
//
//	 10       20   21      22      23    24       30     31      32    33     34     40           50
//	┌──────┬──────────┬───────────────────────┬──────────────┬──────────────────────┬───────────┬──────────┐
//	│ meta │ hot cold │ by      by    by      │ link   owner │ link  link   owner   │ idem-     │ accounts │
//	│      │          │ owner   tag   deletion│ hours  hours │ days  lives  days    │ potency   │          │
//	└──────┴──────────┴───────────────────────┴──────────────┴──────────────────────┴───────────┴──────────┘
//	  once   links: Apply writes               Flush merges    RollUp merges           Apply       AccountTable
//
// # Formats
//
// Each value begins with the version of its format; the codec files draw them. There is exactly one encoding of
// everything, so decoding and encoding are inverse to each other, which the fuzz tests check; what is not canonical, cut
// off, too long or of an unknown version is ErrCorrupt and never a guess. Golden tests hold the bytes. The layout version
// in DIR/format and in the meta table covers what no single value tells: tables, keys, the merger.
//
// # Group commit
//
// Apply puts a mutation into a bounded queue. One goroutine, Run, takes all that waits, writes it into one batch, commits
// that with one fsync, and tells everybody; meanwhile the next ones gather. So nobody waits for a timer, a lone writer pays
// one fsync, and the more writers there are, the more share one. Measured (2 cores, shared with other work; see
// bench_test.go): 6,100 links/s with 1 writer, 42,000 with 16 (8 a commit), 230,000 with 256 (99 a commit).
//
// What the queue takes is answered exactly once: a mutation is either in the queue or in the hands of Run, and whoever
// closes the queue, Run at its end or Close if there was no Run, answers what is left in it. Pebble returns no commit
// errors, it calls Logger.Fatalf, and that ends the process: so an error of Apply always means that nothing was written.
//
// # Deleted links
//
// A deletion replaces the hot record by a tombstone, removes the rows by owner and by tag, and adds one by deletion. All else
// stays until the engine purges the link. A purge is a mutation like any other, so it has an order with what is created
// under the same code; its batch removes all rows of the id, the one by deletion with them, so it is done whole or not at
// all. The hot record goes only if it is the link's own: a code that its owner has taken again is another link's by then.
// Hour rows that roll-up has passed are left to go with their hour. Day rows are looked for when the purge is asked for, by
// the goroutine that alone writes such rows, and deleted by their keys, unless they are more than 64: every reader has to
// know of a range deletion until it is compacted. Rows of owners stay.
//
// # When files fail
//
// What fails ends the process with one line, "the store cannot go on", or is an error of whoever asked; nothing that was
// acknowledged is lost by either, and nothing is acknowledged that is not durable. The log, the manifest and a sync of the
// folder end it: Pebble does so itself, or would panic, and then patientFS does it before. Want of space or descriptors is
// waited for. A damaged block is an error of its readers only, since redirects do not need it.
//
// The package crashtest holds this to account: it fails each file operation in each way, crashes at random moments, and flips
// bits.
//
// # Merging
//
// A flush writes one merge operand a row and reads nothing. Pebble hands the operands of a key to tallyMerge whenever it
// meets them: in reads, memtable flushes and compactions, in any grouping. Sums and unions are associative and commutative
// and the encoding depends on nothing else, so every grouping gives the same bytes; but for breakdowns by more than 256
// referrers, which are summaries (engine.Breakdown), each within the same bound. A malformed operand is an error and stops
// the read or the compaction; so Flush refuses breakdowns that could not be read. The merger is not deletable.
//
// tallySum adds rows up, for the merger and for views. Hashes are read in place. Once more than 1,024 they go into registers,
// with which those of dense rows are united eight at a time. A country, device or browser is a byte, and has a cell of its
// own; referrers are kept in order, with their names in one arena. So a row costs no allocation, however many there are:
//
//	two rows of one visitor             0.26 µs (0.28 before there were breakdowns), 1 allocation: the result
//	two, of all dimensions              0.67 µs, 1 allocation
//	100, of all dimensions              0.27 µs a row, 1 allocation in all
//	two of 256 referrers                23 µs
//	two dense ones                      17 µs (103 by way of engine.Sketch)
//
// A flush of 200,000 rows costs 0.23 CPU seconds with all dimensions and 0.15 without, memtable flushes and compactions
// included, and 1.36 times the bytes on disk (BenchmarkFlush, 60 flushes; 2 shared cores, so the best of several runs here
// and below). Rolling a row up costs 1.9 µs and 1.5.
//
// # Roll-up
//
// RollUp reads the oldest open hour from the mark on, at most 4,096 rows, and writes one batch: each row once more as an
// operand of its day and its life, and the new mark. All orders here are by (hour, table, link id or owner), and the
// invariants are:
//
//  1. A row before the mark is contained in day and life rows exactly once; one from the mark on is not at all.
//  2. No row is merged into an hour before the mark's, nor into the mark's own hour once roll-up has begun on it. The
//     engine guarantees it; Flush refuses the former.
//  3. Hour rows are deleted only for hours before the mark's.
//
// The batch moves rows to the other side of the mark and adds them to days and lives at once, so a crash leaves (1) as it
// was before or as it is after, and roll-up goes on where the mark is.
//
// Hour rows that are rolled up and no longer kept go by one range deletion for each table. Day rows that are no longer kept
// are in another order, (link, day): a sweep skips from link to link, 4,096 a chunk, and deletes the oldest rows of each, by
// key if it is one (so it is every day), by a range if they are several (so it is when fewer days are kept than before). Each
// chunk is one batch with the sweep mark, (first day, table, next id), so that it resumes. Life rows stay.
//
// # Receipts
//
// A receipt is in the batch of the link that it is of, so a crash leaves both or neither. It holds the whole link as it was
// answered, some 200 bytes, because the link may be edited or deleted before the request is repeated, and what a body is
// made of may be checked by other rules by then. A sweep reads all receipts, 4,096 a chunk, and deletes the old ones by their
// keys; there is no index by time, which would be a second row for each. It works on a snapshot, so it has each key reserved
// and reads the receipt again before that goes.
//
// A request for several links has one receipt: what became of each, and the code and id of those that there
// are, at most 75 KB. Whole links might be 10 MB, and be written again by every request that finds them.
//
// # Listings
//
// A listing is a snapshot that waits until all of it is durable: the sequence of writes in it says its last batch. Lists of
// an owner, or of a tag of one, go over index rows; those of all owners over cold records, newest first, with a Get of the hot
// record each, since there is no index for them. As long as it is open, compactions keep what it sees.
//
// # Views
//
// A view is one Pebble snapshot and the set of hours that have rows. That set is kept in memory, so that no reader scans for
// them: an hour enters before its first row is committed and leaves after the deletion of its rows is, and a snapshot is
// taken under the set's lock. So the set may hold an hour too many, never one too few. At start it is found by skipping from
// hour to hour.
//
// A life is the life row and those hour rows that the snapshot's own mark has not passed. A span of whole days is, alike, the
// day rows in it and those hour rows that the mark has not passed; any other span is all hour rows in it, as long as they are
// kept. So a sum holds each flush exactly once, whatever roll-up does meanwhile. The days of an id are read by one iterator
// with bounds, in one pass over all spans. Hour rows of one or a few ids are read by Get, since most do not exist and a Bloom
// filter tells so; those of many, block by block of ids, hour by hour in the order of ids (hourrows.go). Only what is wanted
// of a row is decoded: for hits alone neither sketch nor breakdowns are looked at.
//
//	opening and closing a view                                   2.5 µs
//	400 days of a link, of 1 visitor each                        hits 0.16 ms, all 0.27 ms, a series of 400 spans 0.36 ms
//	    of 100 visitors                                          hits 0.43 ms, all 1.3 ms, series 0.73 ms
//	    of 2,000 visitors: dense, 6.5 MB                         hits 13 ms, all 17 ms, series 23 ms
//	hits of 10,000 links over 30 days, without and with 2 hours  0.2 s: 0.7 µs a row
//	hits of 10,000 links over 48 hours of 155,000 links each     0.5 s
//	a sweep                                                      4.7 µs a link
//
// # Check
//
// Inspect opens a store or a backup read-only, without changing a byte, or takes a snapshot of an open one; Check reads all of
// it. First every block of every table file, with its checksum; then every row, as the type check says; last, offline only, the
// order of levels. Rows of tables that are not in checkedTables are faults. What accounts are, api/account checks.
//
// # Writes that are lost
//
// A flipped bit in the manifest, or in the last records of the log, can leave Pebble with a database that opens and lacks
// what was acknowledged (99 of 140 flips in TestAFlippedBitInLogOrManifestLosesNothingSilently). So every batch that
// changes the store is numbered, under a lock that makes the order of the numbers that of the log, and adds (1, its number)
// to one row by a merge: how many batches are contained, and the highest number. A crash takes only the end of the log, so in
// a store that has lost nothing the two are equal, and no less than the number of the last batch that was acknowledged, which
// stands in the file "acked". A start compares them on a database opened read-only, since whatever opens it for writing
// tidies up. What a store lacks otherwise (a table that is gone, a block that is damaged), Pebble notices itself.
//
// The number is written by pwrite after the commit, about 1 µs beside its fsync, and not mapped as the design had it: so it
// goes through the same file system as all else, and through its tests. Opening twice costs a second replay of the log:
// 0.8 s in all for 200,000 links that a killed process left there, 9 ms for one that was closed (one run).
//
// # Full disks
//
// Pebble ends the process when its log cannot be written. Under it, patientFS waits instead and tries again, when there is no
// space or no descriptor, until there is: commits stall, as they do on a disk that does not answer, and go on by themselves.
// What has failed otherwise, and a failed fsync whatever it says, ends the process by pebbleLogger.Fatalf; nobody who waits is
// answered before. Until the store is open an operation fails after its second attempt, so that a start says what is wrong.
//
// Before it comes to that, space watches what is free, once a second. Below the floor links and accounts are refused with
// engine.ErrReadOnly, so that what is left is for hits and for compaction, which frees. An operation that finds the disk
// full says so at once, and gives the ballast file up.
//
// # Concurrency
//
// Run's goroutine owns the batch of links. The flush goroutine (whoever calls Flush, RollUp and SweepReceipts, one at a time)
// owns the batch of tallies and the marks. A write of accounts has a goroutine of its own, so that its caller need not wait
// for a disk that does not answer, and tells when it has ended; Close joins them. A view is used by one goroutine at a time. The id bound and the set of hours have a lock
// each, which is held over no other. Everything else reads Pebble, which needs no lock.
//
// # Decisions
//
// One operand an (hour, link). A key for each hit, or operands for hour, day and life at once, cost 3.4 times the CPU and
// let compaction fall behind (see the design); roll-up pays for days and lives once an hour instead of once a second.
//
// Large memtables. Uniting rows in memory is what saves compaction: memtables of 128 MiB halve its CPU against 64 MiB
// (pebbleOptions has the figures). The price is up to 640 MiB of memory under full load, and more while somebody reads
// memtables that are flushed (memTableRoom); 256 MiB as long as the process lives once writes have filled two; and some seconds
// of log to replay after a crash. To be looked at again when machines with less than 2 GiB matter.
//
// A block cache with room of its own (cache.go). Pebble takes memtables out of the cache, so that both have one bound; then either
// the cache is as large as a gigabyte while memtables are small, or it is empty while they are not. After a restart with a log of
// 75 MB a page of 1,000 links took 218 ms without room and 11 ms with it, all of 150,000 16 s and 0.9 s (BenchmarkListing, 2 shared
// cores). Blocks are Go heap, for there is no cgo: 153 GB were allocated in an import of a million links, and 7 GB are now.
//
// A queue and one committer, not a DB.Set by each writer: Pebble's own commit pipeline shares fsyncs too, but each writer
// pays for its way through it (208,000 against 246,000 links/s at 256 writers, measured for the design).
//
// Own codecs, not protobuf or gob: a row of one visitor takes 13 bytes, hits are read from its head alone when a store is
// loaded, and there is one encoding of each value.
//
// Index rows hold code, host and title, so that a list with a prefix query reads no cold record; an edit of those rewrites
// up to 33 index rows, which is rare and one batch.
//
// The forms of a sketch are known here as well as in the engine (codec_sketch.go), because a Sketch for each operand would
// cost three allocations a merge, and one for a dense row 33 KB and the most of 50 µs; tests hold both to the same bytes.
//
// Breakdowns are in the tally row, not in rows of their own: a key for each value would multiply what a flush writes by
// five. They stand before the sketch with their length, so that either is skipped without being read.
//
// Hits that overflow 64 bits, which an import can bring about, stay at the maximum and lose their breakdowns: a row whose
// breakdowns exceed its hits is corrupt, and the merger must never write one.
package storage
