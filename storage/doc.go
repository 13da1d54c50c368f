// Package storage keeps links and tallies durably in Pebble, a log-structured merge tree. It
// implements engine.Store and the table of api/account: their contracts are in those packages, and
// this paper explains how they are kept. Package row lays out the rows. Storage must not know HTTP,
// nor what an account is.
//
// # Rooms
//
// Each subject has a room, with the writes, the reads and the check of its rows. A room uses those before it.
//
//	row        every byte in Pebble
//	disk       the data folder, and the file system below Pebble: full disks, read-only folders
//	kv         Pebble as the rooms use it: reading, numbered batches, scans
//	check      how a check reads all rows; each subject adds its own checks
//	audit      the log of who has changed what
//	tables     rows that packages above lay out: of accounts, of domains
//	hits       tallies: flush, roll-up, sweeps, views
//	links      records, indexes and receipts: group commit, lists, loads
//
// What is left here is the store as a whole: it opens the folder, gives each room the open database, and makes
// backups. It knows nothing of other machines, but offers a hook (Replication): who may write, what happens to a
// batch before its commit, who needs what a flush writes. Rooms that only cmd imports plug in there: replicate, with
// replica (who leads and who follows), clusterlog (what the log promises) and etcdlog (a log in etcd).
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
// # When files fail
//
// A failure either ends the process with one line, "the store cannot go on", or is an error for the
// caller. In both cases nothing that was acknowledged is lost, and nothing is acknowledged that is
// not durable. A failure of the log, of the manifest or of a sync of the folder ends the process:
// Pebble does so itself, or disk.PatientFS does so where Pebble would panic. If space or descriptors run
// out, operations wait. A damaged block is an error only for those that read it, since redirects do
// not need it.
//
// The package crashtest checks this: it fails each file operation in each way, crashes at random
// moments, and flips bits.
//
// # Loads
//
// A start reads each link and its hits once, by Pebble's iterators over key ranges, with a goroutine for each
// core (kv.Scan). Rejected: to read the tables themselves, past Pebble's cache. The load took 0.77 of the time
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
// open store; Check reads all of it: see package check.
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
// Pebble ends the process when its log cannot be written. Below Pebble, disk.PatientFS waits instead:
// when there is no space or no descriptor, it tries again until there is. Commits stall, as they do
// on a disk that does not answer, and continue by themselves. Any other failure, and any failed
// fsync, ends the process by pebbleLogger.Fatalf before any waiting caller is answered. While the
// store is being opened, an operation fails after its second attempt, so that a failed start
// reports the cause.
//
// To act before the disk is full, space checks the free space once a second while links are written. Below the floor,
// links and accounts are refused with engine.ErrReadOnly, so that the rest is left for hits and for
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
// Large memtables. Merging rows in memory saves compaction work: memtables of 128 MiB halve its CPU
// compared with 64 MiB (pebbleOptions has the figures). The price is up to 640 MiB of memory under
// full load, and more while flushed memtables are still being read (memTableRoom); 256 MiB for the
// rest of the process's life once writes have filled two; and some seconds of log to replay after a
// crash. Revisit when machines with less than 2 GiB matter.
//
// A block cache with room of its own. Pebble reserves the memory of memtables in the
// cache, so that both have one bound. Without extra room, the cache would either be as large as a
// gigabyte while memtables are small, or be empty while they are large. After a restart with a log
// of 75 MB, a page of 1,000 links took 218 ms without that room and 11 ms with it; all of 150,000
// took 16 s and 0.9 s (BenchmarkListing, 2 shared cores). Blocks are on the Go heap because the
// binary is built without cgo: an import of a million links allocated 153 GB before, and 7 GB now.
//
// Files, leaves first: store.go, cache.go, errors.go, pebble.go, space.go, settle.go, run.go, replication.go, noted.go,
// metrics.go, meta.go, open.go, restore.go, inspect.go, check.go, backup.go.
package storage
