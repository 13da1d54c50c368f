// Package row lays out every byte of the store's rows: keys, values, and how tally rows are added
// up. It knows engine's types, and neither Pebble nor files nor batches; storage connects its
// merges to Pebble. Only storage and tests import it. A change here changes the bytes on disk.
//
// # Layout
//
// A row is a key and a value. The first byte of a key is its table:
//
//	 10       20   21      22      23    24       30     31      32    33     34     40           50
//	┌──────┬──────────┬───────────────────────┬──────────────┬──────────────────────┬───────────┬──────────┐
//	│ meta │ hot cold │ by      by    by      │ link   owner │ link  link   owner   │ receipts  │ accounts │
//	│      │          │ owner   tag   deletion│ hours  hours │ days  lives  days    │           │          │
//	└──────┴──────────┴───────────────────────┴──────────────┴──────────────────────┴───────────┴──────────┘
//	  once   links: Apply writes               Flush merges    RollUp merges           Apply       AccountTable
//
// keys.go draws the keys of every table. Each value is drawn in its file:
//
//	table          value                                    file
//	hot            hot record or tombstone                  link.go
//	cold           cold record                              cold.go
//	by owner, tag  index value: key, flags, times, text     index.go
//	by deletion    deletion: the key                        link.go
//	summaries      summary                                  summary.go
//	hours … days   tally row                                tally.go, breakdown.go, sketch.go
//	receipts       receipt, of one link or of several       receipt.go
//	meta           positions, marks, base URL               meta.go
//	               sequence of writes                       sequence.go
//	               the rest: numbers and ids of fixed width keys.go
//	accounts       what api/account encodes
//
// A key is that of a link: its domain and its code. Links, owners and hours are connected in this way:
//
//	key ───hot──▶ id, owner, flags, expiry, cap, target         what a redirect needs
//	id ───cold──▶ key, version, times, texts, tags, folder      everything else about the link
//	owner, ^id ──by owner, by tag──▶ key, flags, times, text    lists, newest first, and searches
//	owner, hash of target, ^id ──reuse──▶ nothing               links that a create may reuse
//	hour, id ──by deletion──▶ key                               what a purge deletes next
//	hour, id ─┬─▶ tally ──roll-up──▶ (id, day), id              of links: hours, days, lives
//	hour, owner ─▶ tally ──roll-up──▶ (owner, day)              of owners: hours, days
//	hour, id ──due──▶ ^id ──summaries──▶ visitors, last hit     what lists are sorted by
//
// # Versions
//
// Each value begins with the version of its format; all formats are at version 1. LayoutVersion
// covers everything that no single value shows: tables, keys, the merger and the set of formats. Older
// layouts than this one were never released, and are refused.
//
// Everything has exactly one encoding, so decoding and encoding are inverse to each other; the fuzz
// tests check this. A value that is not canonical, cut off, too long or of an unknown version is
// ErrCorrupt, never a guess. Golden tests pin the bytes (TestFormatsAreAsPinned,
// TestKeysAreAsPinned).
//
// To change a format: give the new one the next version byte, write only that, and keep a decoder
// of the old one next to the new decoder, chosen by the byte. Pin both. Raise LayoutVersion if an
// older program must not open the store.
//
// # Merging
//
// A merge operand is a tally row, and so is a sum of operands, so a merge of merges is a merge.
// Sums and unions are associative and commutative, and the encoding depends on nothing else, so
// every grouping gives the same bytes. The exception is breakdowns by more than 256 referrers:
// those are summaries (engine.Breakdown), each within the same bound. A malformed operand is an
// error, so CheckDimensions refuses breakdowns that could not be read back, before they are
// written.
//
// Most merges are of two small rows, so the first few operands are added pair by pair (pair.go): both
// rows are sorted, and are read side by side while the sum is written. The memory of a merge is
// reused once Pebble is done with its result, so a small merge allocates nothing.
//
// Sum adds up everything else: many operands, dense rows, and the rows that views read. A row costs
// no allocation, however many rows are added. Hashes are read in place. Once there are more than
// 1,024, they go into registers, and the registers of dense rows are united with those eight at a
// time. A country, device or browser is one byte and has a cell of its own; referrers are kept in
// order, with their names in one arena. Measured (BenchmarkMerge, 2 shared cores, before and after
// pairs and reused memory):
//
//	two rows of one visitor             0.17 µs (0.23)
//	two, of all dimensions              0.34 µs (0.50)
//	100, of all dimensions              0.19 µs a row (0.19)
//	two dense ones                      6.5 µs (13)
//
// # Decisions
//
// Row does not import Pebble. Pebble takes any type with the three methods of Merge, so storage
// registers NewMerge in one line, and the merge tests need no database.
//
// Own codecs, not protobuf or gob. A row of one visitor takes 13 bytes, a load of the store reads
// hits from the first bytes alone, and there is one encoding of each value.
//
// Index rows hold what a list is filtered and sorted by, so that it reads no cold record of a link that it does not
// show. An edit of one of these rewrites up to 33 index rows; that is rare, and takes one batch.
//
// The forms of a sketch are known here as well as in the engine (sketch.go). A Sketch for each
// operand would cost three allocations a merge, and for a dense row 33 KB and most of 50 µs. Tests
// hold both packages to the same bytes.
//
// Breakdowns are in the tally row, not in rows of their own: a key for each value would multiply
// what a flush writes by five. They come before the sketch, with their length, so that a reader can
// skip either.
//
// Hits that overflow 64 bits, which an import can cause, stay at the maximum and lose their
// breakdowns: a row whose breakdowns exceed its hits is corrupt, and a merge must never write one.
//
// Files, leaves first: reader.go, keys.go, payloadnewest.go, payload.go, operation.go, meta.go, link.go, index.go,
// edges.go, cold.go, cap.go, breakdown.go, audit.go, receipt.go, sequence.go, sketch.go, tally.go, summary.go, sum.go,
// pair.go, merge.go, outbox.go.
package row
