// Package hits keeps the rows of hits: tallies by hour, day and life, which a flush writes, a roll-up adds up, sweeps
// delete and views read. It must not know a cluster: only that somebody may need what a flush writes (Poster).
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
// # Summaries
//
// A list cannot read a sketch of up to 16 KB for each link that it sorts. So each link with hits has a summary: its
// visitors and the hour of its last hit. Whatever adds a row with hits to a life, the roll-up or a late hit, also notes
// in the same batch that the link is due since that hour. Once all hours are rolled up, RollUp makes the summaries that
// are due, hour by hour, and removes what was due in the same batch; so a crash leaves a link due, and a summary that
// is made twice is the same. All hits before the first hour that is open or due are in summaries: lists say so. Each
// node of a cluster makes its own, since it has all hits; a purge, which nodes share, removes them.
//
// Rejected: to count while the hour is added up, in one batch. The life is a merge that nothing has read yet, and a
// late hit in a batch with another one of the link would not see it.
//
// # Targets
//
// A hit of a link with several targets is in a second row, of (hour, target): engine.TargetID puts the number of the
// target above the id of the link. Roll-up, sweeps, the outbox and views take these rows for what they look like, rows
// of links that come after all others; whatever is about links alone stops before them (row.OfLinks). A target never
// has more hits than its link in the same hour, day or life: rows of links come first, in a flush, in the outbox and in
// an hour that is rolled up. A purge finds the rows of targets by their keys (targets.go).
//
// Rejected: the number behind the id, so that the rows of a link are neighbours, which makes every key of a tally and
// every id in an outbox longer, for the sake of a few links.
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
// wanted parts of a row are decoded: a read of hits alone skips the sketch and the breakdowns. The rows of many links
// that are wanted together only, those of a tag, are added up where they are met, and so are those of owners
// (spansums.go).
//
//	opening and closing a view                                   2.5 µs
//	400 days of a link, of 1 visitor each                        hits 0.16 ms, all 0.27 ms, a series of 400 spans 0.36 ms
//	    of 100 visitors                                          hits 0.43 ms, all 1.3 ms, series 0.73 ms
//	    of 2,000 visitors: dense, 6.5 MB                         hits 13 ms, all 17 ms, series 23 ms
//	hits of 10,000 links over 30 days, without and with 2 hours  0.2 s: 0.7 µs a row
//	hits of 10,000 links over 48 hours of 155,000 links each     0.5 s
//	a sweep                                                      4.7 µs a link
//
// # Decisions
//
// One operand for each (hour, link). A key for each hit, or operands for hour, day and life at
// once, cost 3.4 times the CPU, and compaction could not keep up (measured for the design). Roll-up
// pays for days and lives once an hour instead of once a second.
//
// Files, leaves first: hours.go, state.go, adder.go, checktotals.go, plan.go, hourrows.go, days.go, spansums.go,
// read.go, flush.go, summarise.go, sweep.go, rollup.go, targets.go, view.go, owners.go, zone.go,
// checkdays.go, check.go.
package hits
