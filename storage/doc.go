// Package storage keeps links and tallies durably in Pebble, a log-structured merge tree. It
// implements engine.Store and the table of api/account: their contracts are in those packages, and
// this paper explains how they are kept. Package row lays out the rows. Storage must not know HTTP,
// nor what an account is.
//
// # Rooms
//
// Each subject has a room, which has its rows' writes, reads and checks. A room uses those before it.
//
//	row        every byte in Pebble
//	disk       the data folder, and the file system below Pebble: full disks, read-only folders
//	kv         Pebble as the rooms use it: reading, numbered batches, scans
//	check      how a check reads all rows; each subject adds its own checks
//
// # Terminology
//
//   - A row is a key and a value; package row draws all of them. The first byte of a key is its
//     table.
//   - A batch is a set of writes that becomes visible and durable as one. Every batch is synced
//     before any caller is told.
//   - The hot record of a code is what a redirect needs. The cold record of a link id is everything
//     else about the link.
//   - A tally row holds counts, the set of visitors (an engine.Sketch) and the breakdowns by
//     dimension. It belongs to a link or an owner in an hour or a day, or to a link over its life.
//     A merge operand is a tally row that Pebble later adds to the others of the same key.
//   - A flush writes what the engine has counted since the last flush, with the positions of the
//     journal that it covers.
//   - The roll-up adds the rows of an hour that is over to days and lives. The mark is the point
//     that it has reached. An hour is open while it has rows that the mark has not passed. Hours ahead
//     of the mark may have been passed, too: those that were rolled up while the clock was ahead.
//   - A receipt is the record of a request that made a link, so that a repeat gets the same answer.
//   - A sweep deletes the day rows of days that are no longer kept. Another sweep deletes receipts
//     that are too old.
//   - A view is the tallies of one moment. A span is a range of hours, whose rows a view adds up.
//
// # The folder
//
//	DIR/format       "shunt data, version 2": read before Pebble is opened
//	DIR/db/          Pebble
//	DIR/acked        the number of the last acknowledged write (acked.go)
//	DIR/ballast      space to give up when the disk is full (space.go)
//	DIR/journal/     the engine's hit journal
//	DIR/shunt.sock   the command line's socket
//
// A folder whose format file is not ours is never written to. A creation begins with format.new and
// ends by renaming it to format, after the first rows are durable. A creation that crashed in
// between begins again with an empty db. Pebble's lock, DIR/db/LOCK, is taken before anything but
// empty folders is written. Format files are written as format.tmp and renamed, so they are whole
// at every moment. If format.new could be torn, a folder that already has a db would look like
// somebody else's.
//
// A backup is such a folder without a journal: db is a checkpoint of Pebble, whose table files are
// hard links where possible, and format says "shunt backup, version 2". Because of that line, Open
// refuses a backup and leaves it unchanged. A backup begins with format.backup and ends by renaming
// it to format. A restore begins with format.restoring, copies db, gives the copy a journal history
// of its own (engine.NewHistory), and ends by renaming it to format. If either crashes, the folder
// is neither a store nor empty: Open reports which it is, and Restore begins again.
//
// A store of a newer layout than this program's is refused and left unchanged. So is a store from
// before the first release, when layouts had other numbers: its format file begins with "shunt
// store, format", or "shunt backup, format" (ErrOldFormat).
//
// # Group commit
//
// One fsync can make the mutations of many callers durable. So Apply only puts a mutation into a
// bounded queue. One goroutine, Run, takes everything in the queue, writes it into one batch,
// commits that with one fsync, and calls every caller back. Meanwhile the next mutations gather in
// the queue. No caller waits for a timer, a lone writer pays for one fsync, and the more writers
// there are, the more of them share one. Measured (2 cores, shared with other work; see
// bench_test.go): 6,100 links/s with 1 writer, 42,000 with 16 (8 per commit), 230,000 with 256 (99
// per commit).
//
// A commit with several mutations is followed by a yield to other goroutines, so that the writers it
// has answered can join the next group. Otherwise those that came meanwhile are committed at once,
// and writers that come again and again form two groups that take turns. A lone writer is never
// delayed by this. Measured through the engine (BenchmarkCreate in bench; medians of four pairs, on
// a busy machine, whose p50 differed by as much between runs as between the two):
//
//	writers   links a commit, without and with   CPU of a create, µs   publication
//	1         1         1                        153     145           1 % of the committer's time
//	16        8.0       11.5                     42.5    32.9          3 to 4 %
//	64        30.7      47.3                     25.0    26.6          10 %
//	256       118       140                      23.0    21.1          11 to 14 %
//
// Links are published on the committer's goroutine. The last column is the time that this takes: too
// little to pay for a goroutine that publishes, a queue between the two, and smaller groups.
//
// Each mutation that the queue accepts is answered exactly once. It is either in the queue or with
// Run. The one that closes the queue (Run when it ends, or Close if there was no Run) answers the
// mutations left in it. Pebble returns no commit errors: it calls Logger.Fatalf, which ends the
// process. So an error of Apply always means that nothing was written.
//
// # Deleted links
//
// A deletion replaces the hot record by a tombstone, removes the rows by owner and by tag, and adds
// a row by deletion. All other rows stay until the engine purges the link.
//
// An import adds its hits to the life row of the link, and to a row of its owner and the hour:
// windows have no imported hits, and answers say how many there were. These rows are not deleted, as
// little as other rows of owners.
//
// A purge is a mutation like any other, so it is ordered with creations under the same code. Its
// batch removes all rows of the id, including the row by deletion, so a purge happens whole or not
// at all. It removes the hot record only if that is the link's own: if the owner has used the code
// again, the record belongs to another link. A reset of figures gives a link another id, with rows
// as a creation writes them but for its times, and adds a row by deletion of the old id, which is
// then purged like that of a deleted link whose code was used again. Hour rows that the roll-up has passed are deleted
// later with their hour. Day rows are found when the purge is requested, by the only goroutine that
// writes such rows, and are deleted by their keys. If there are more than 64, one range deletion is
// cheaper to write, although every reader must consider it until it is compacted. Rows of owners
// stay.
//
// # When files fail
//
// A failure either ends the process with one line, "the store cannot go on", or is an error for the
// caller. In both cases nothing that was acknowledged is lost, and nothing is acknowledged that is
// not durable. A failure of the log, of the manifest or of a sync of the folder ends the process:
// Pebble does so itself, or patientFS does so where Pebble would panic. If space or descriptors run
// out, operations wait. A damaged block is an error only for those that read it, since redirects do
// not need it.
//
// The package crashtest checks this: it fails each file operation in each way, crashes at random
// moments, and flips bits.
//
// # Merging
//
// A flush writes one merge operand per row and reads nothing. Pebble hands the operands of a key to
// row.NewMerge whenever it meets them, in reads, memtable flushes and compactions, in any grouping.
// Every grouping gives the same result (package row says why). A malformed operand is an error that
// stops the read or the compaction, so Flush refuses rows that could not be read back. The merger
// can never be removed.
//
// A flush of 200,000 rows costs 0.23 CPU seconds with all dimensions and 0.15 without, including
// memtable flushes and compactions, and 1.36 times the bytes on disk (BenchmarkFlush, 60 flushes; 2
// shared cores, so the best of several runs here and below). Rolling up one row costs 1.9 µs and
// 1.5.
//
// # Roll-up
//
// RollUp reads the oldest open hour from the mark on, at most 4,096 rows, and writes one batch:
// each row again as an operand of its day and its life, and the new mark. All orders here are by
// (hour, table, link id or owner). The invariants are:
//
//  1. A row before the mark, or of an hour ahead, is contained in day and life rows exactly once; any
//     other is not contained at all.
//  2. A row that is merged into an hour that the mark has passed is merged into its day and its life in
//     the same batch. This is for late hits, and for hits of a clock that has gone back: three
//     operands instead of one.
//  3. Hour rows are deleted only for hours before the mark's.
//  4. The mark moves back if the open hour does, in one batch: the hours that it leaves behind become hours
//     ahead. So a clock that was ahead, by years even, does not make every later hit a late one.
//
// The same batch moves rows to the other side of the mark and adds them to days and lives. So after
// a crash either all of it has happened or nothing, (1) holds in both cases, and roll-up continues
// at the mark.
//
// Hour rows that are rolled up and no longer kept are deleted by one range deletion per table. Day
// rows have another order, (link, day), so a sweep skips from link to link, 4,096 per chunk, and
// deletes the oldest rows of each. It deletes a single such row by its key (the daily case), and
// several by a range (when fewer days are kept than before). Each chunk is one batch with the sweep
// mark, (first day, table, next id), so that the sweep resumes after a restart. Life rows stay.
//
// # Receipts
//
// A receipt is in the same batch as its link, so a crash leaves both or neither. It holds the whole
// link as it was answered, some 200 bytes, because by the time the request is repeated the link may
// have been edited or deleted, and other rules may check the body.
//
// A sweep reads all receipts, 4,096 per chunk, and deletes the old ones by their keys; an index by
// time would be a second row for each receipt. The sweep works on a snapshot, and a receipt may be
// written again after that. So it locks each key and reads the receipt again before it deletes it.
//
// A request for several links has one receipt: the outcome of each, and the code and id of those
// that exist, at most 75 KB. Whole links could take 10 MB, and each request that finds existing
// links would write them again.
//
// # Listings
//
// A listing is a snapshot that waits until everything in it is durable: the sequence of writes in
// it gives the number of its last batch. Lists of an owner, or of a tag of an owner, read index
// rows. Lists of all owners have no index: they read cold records, newest first, with a Get of the
// hot record each, but only of links that the range wants: a page of 10,000 rows takes 130 ms with
// the hot record of each, and 7 ms without (BenchmarkListByState, out of 1 M links, 2 shared cores).
// While a listing is open, compactions keep the rows that it sees.
//
// # Views
//
// A view is one Pebble snapshot and the set of hours that have rows. The set is kept in memory, so
// that no reader scans for those hours. An hour enters the set before its first row is committed
// and leaves it after the deletion of its rows is committed, and a snapshot is taken under the
// set's lock. So the set may have an hour too many, never one too few. When the store is opened,
// the set is found by skipping from hour to hour.
//
// The sum over a life is the life row plus those hour rows that the snapshot's own mark has not
// passed. In the same way, a span of whole days is its day rows plus those hour rows that the mark
// has not passed. Any other span is all hour rows in it, as long as they are kept. So a sum
// contains each flush exactly once, whatever roll-up does meanwhile.
//
// The days of an id are read by one iterator with bounds, in one pass over all spans. Hour rows of
// one or a few ids are read by Get, since most do not exist and a Bloom filter says so. Hour rows
// of many ids are read in blocks of ids, hour by hour in the order of ids (hourrows.go). Only the
// wanted parts of a row are decoded: a read of hits alone skips the sketch and the breakdowns.
//
//	opening and closing a view                                   2.5 µs
//	400 days of a link, of 1 visitor each                        hits 0.16 ms, all 0.27 ms, a series of 400 spans 0.36 ms
//	    of 100 visitors                                          hits 0.43 ms, all 1.3 ms, series 0.73 ms
//	    of 2,000 visitors: dense, 6.5 MB                         hits 13 ms, all 17 ms, series 23 ms
//	hits of 10,000 links over 30 days, without and with 2 hours  0.2 s: 0.7 µs a row
//	hits of 10,000 links over 48 hours of 155,000 links each     0.5 s
//	a sweep                                                      4.7 µs a link
//
// # Loads
//
// A start reads each link and its hits once, by Pebble's iterators over key ranges, with a goroutine for each
// core (load.go). Rejected: to read the tables themselves, past Pebble's cache. The load took 0.77 of the time
// and less memory, but redirects are answered from the store meanwhile, and it needed an interface of Pebble
// that is not stable, and a second way to read each row.
//
// # Check
//
// A store that is opened ReadOnly (inspect.go) is for commands on a folder that no server runs on, maybe of
// another user: its lock is shared, and its file system refuses every change. A backup of it links or copies the
// files of the database, and folds the hits of the journal into the copy, because Pebble makes checkpoints
// only of a database that it may write to.
//
// Inspect opens a store or a backup read-only, without changing a byte, or takes a snapshot of an
// open store; Check reads all of it. First it reads every block of every table file and compares
// its checksum. Then it reads every row, as the type check describes. Last, and only offline, it
// checks the order of levels. Rows of tables that are not in checkedTables are faults. The rows of
// accounts are checked by api/account.
//
// # Lost writes
//
// A flipped bit in the manifest, or in the last records of the log, can leave Pebble with a
// database that opens and lacks acknowledged writes (99 of 140 flips in
// TestAFlippedBitInLogOrManifestLosesNothingSilently). Pebble itself notices only other losses: a
// missing table, a damaged block.
//
// So every batch that changes the store has a number. A lock makes the order of the numbers the
// order of the log. The batch adds (1, its number) to one row by a merge, so that row holds how
// many batches the store contains, and the highest number. A crash takes only the end of the log.
// So in a store that has lost nothing the two are equal, and not less than the number of the last
// acknowledged batch, which is in the file "acked". Open compares them on a database that it opens
// read-only, because Pebble, opened for writing, would tidy up.
//
// The number is written by pwrite after the commit, which adds about 1 µs to the commit's fsync.
// The first design mapped the file into memory instead; with pwrite it goes through the same file
// system as everything else, and through its tests. Opening twice costs a second replay of the log:
// 0.8 s in all for 200,000 links in the log of a killed process, 9 ms for a store that was closed
// (one run).
//
// # Full disks
//
// Pebble ends the process when its log cannot be written. Below Pebble, patientFS waits instead:
// when there is no space or no descriptor, it tries again until there is. Commits stall, as they do
// on a disk that does not answer, and continue by themselves. Any other failure, and any failed
// fsync, ends the process by pebbleLogger.Fatalf before any waiting caller is answered. While the
// store is being opened, an operation fails after its second attempt, so that a failed start
// reports the cause.
//
// To act before the disk is full, space checks the free space once a second. Below the floor, links
// and accounts are refused with engine.ErrReadOnly, so that the rest is left for hits and for
// compaction, which frees space. An operation that finds the disk full reports it at once, which
// removes the ballast file.
//
// # Concurrency
//
//   - Run's goroutine owns the batch of links.
//   - The flush goroutine (the caller of Flush, RollUp and SweepReceipts, one call at a time) owns
//     the batch of tallies and the marks.
//   - A write of accounts has a goroutine of its own, so that its caller need not wait for a disk
//     that does not answer; it reports its end, and Close joins it.
//   - A view is used by one goroutine at a time.
//   - The id bound and the set of hours have a lock each; no other lock is taken while one is held.
//   - Everything else reads Pebble, which needs no lock.
//
// # Decisions
//
// One operand for each (hour, link). A key for each hit, or operands for hour, day and life at
// once, cost 3.4 times the CPU, and compaction could not keep up (measured for the design). Roll-up
// pays for days and lives once an hour instead of once a second.
//
// Large memtables. Merging rows in memory saves compaction work: memtables of 128 MiB halve its CPU
// compared with 64 MiB (pebbleOptions has the figures). The price is up to 640 MiB of memory under
// full load, and more while flushed memtables are still being read (memTableRoom); 256 MiB for the
// rest of the process's life once writes have filled two; and some seconds of log to replay after a
// crash. Revisit when machines with less than 2 GiB matter.
//
// A block cache with room of its own (cache.go). Pebble reserves the memory of memtables in the
// cache, so that both have one bound. Without extra room, the cache would either be as large as a
// gigabyte while memtables are small, or be empty while they are large. After a restart with a log
// of 75 MB, a page of 1,000 links took 218 ms without that room and 11 ms with it; all of 150,000
// took 16 s and 0.9 s (BenchmarkListing, 2 shared cores). Blocks are on the Go heap because the
// binary is built without cgo: an import of a million links allocated 153 GB before, and 7 GB now.
//
// A queue and one committer, not a DB.Set by each writer. Pebble's own commit pipeline shares
// fsyncs too, but each writer pays for its way through it (208,000 against 246,000 links/s at 256
// writers, measured for the design).
package storage
