// Package storage keeps links and tallies durably, in Pebble (a log-structured merge tree). It implements engine.Store:
// the contract stands there, how it is kept stands here.
//
// # Terminology
//
//   - A row is a key and a value. The first byte of a key is its table; keys.go draws all tables.
//   - A batch is a set of writes that becomes visible and durable as one. Every batch here is synced before anybody is told.
//   - The hot record of a code is what a redirect needs; the cold record of a link id is everything else of the link.
//   - A tally row holds counts and the set of visitors (an engine.Sketch) of a link or an owner in an hour, in a day, or,
//     of a link, over its life. A merge operand is a tally row that Pebble adds to those of the same key later.
//   - A flush writes what the engine has counted since the last one, with the positions of the journal that it covers.
//   - The roll-up adds the rows of an hour that is over to days and lives. The mark says how far it went. An hour is open
//     while it has rows that the mark has not passed.
//
// # The folder
//
//	DIR/format       "shunt store, format 1": read before Pebble is opened, so that a newer store is left as it is
//	DIR/db/          Pebble
//	DIR/journal/     the engine's hit journal
//	DIR/shunt.sock   the command line's
//
// A folder that does not say that it is ours is never written to. A creation begins with format.new and ends with its
// renaming to format, after the first rows are durable; one that crashed anywhere in between is begun again from an empty
// db. Pebble's lock, DIR/db/LOCK, is taken before anything but empty folders is written.
//
// # Key space
//
//	 10       20   21      22        23     30     31      32    33     34     40           50
//	┌──────┬──────────┬────────────────┬──────────────┬──────────────────────┬───────────┬──────────┐
//	│ meta │ hot cold │ by      by     │ link   owner │ link  link   owner   │ idem-     │ accounts │
//	│      │          │ owner   tag    │ hours  hours │ days  lives  days    │ potency   │          │
//	└──────┴──────────┴────────────────┴──────────────┴──────────────────────┴───────────┴──────────┘
//	  once   links: Apply writes        Flush merges    RollUp merges           reserved    AccountTable
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
// # Merging
//
// A flush writes one merge operand a row and reads nothing. Pebble hands the operands of a key to tallyMerge whenever it
// meets them: in reads, memtable flushes and compactions, in any grouping. Sums and unions are associative and commutative
// and the encoding depends on nothing else, so every grouping gives the same bytes. The usual merge is of two rows of one
// visitor: 0.23 µs and one allocation, the result. Hashes are read in place; only a set over 1,024 visitors needs a
// Sketch. A malformed operand is an error and stops the read or the compaction. The merger is not deletable.
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
// was before or as it is after, and roll-up goes on where the mark is. A reader takes a snapshot: the life row, and those
// hour rows that the snapshot's own mark has not passed. So its sum holds each flush exactly once, whatever roll-up does
// meanwhile. To know which hours to look at without a scan, the set of open hours is kept in memory: an hour enters before
// its first row is committed and leaves after the mark that passes it is, and a snapshot is taken under the set's lock. So
// the set may hold an hour too many, never one too few.
//
// Hour rows stay for 48 hours, for statistics by the hour, and then go by one range deletion for each table and hour.
//
// # Concurrency
//
// Run's goroutine owns the batch of links. The flush goroutine (whoever calls Flush and RollUp, one at a time) owns the
// batch of tallies and the mark. The id bound and the open hours have a lock each, which is held over no other. Everything
// else reads Pebble, which needs no lock.
//
// # Decisions
//
// One operand an (hour, link). A key for each hit, or operands for hour, day and life at once, cost 3.4 times the CPU and
// let compaction fall behind (see the design); roll-up pays for days and lives once an hour instead of once a second.
//
// Large memtables. Uniting rows in memory is what saves compaction: memtables of 128 MiB halve its CPU against 64 MiB
// (pebbleOptions has the figures). The price is up to 384 MiB of memory under full load, and some seconds of log to
// replay after a crash. To be looked at again when machines with less than 2 GiB matter.
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
// The sketch's exact form is known here as well as in the engine (exactHashes), because a Sketch for each operand would
// cost three allocations a merge; tests hold both to the same bytes.
package storage
