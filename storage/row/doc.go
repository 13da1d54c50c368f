// Package row has every byte of the store's rows: keys, values, and how tally rows are added up. It
// knows engine's types and nothing of Pebble, files or batches: what its merges look like to Pebble
// is for storage to say. Only storage imports it, and tests do. A change here is a change of what
// is on disk.
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
// keys.go draws the keys of every table, and the file of each value draws that:
//
//	table          value                                    file
//	hot, cold      hot record or tombstone, cold record     link.go
//	by owner, tag  index value: code, host, title           link.go
//	by deletion    deletion: the code                       link.go
//	hours … days   tally row                                tally.go, breakdown.go, sketch.go
//	receipts       receipt, of one link or of several       receipt.go
//	meta           positions, marks, base URL               meta.go
//	               sequence of writes                       sequence.go
//	               the rest: numbers and ids of fixed width keys.go
//	accounts       what api/account encodes
//
// Links, owners and hours meet in this way:
//
//	code ──hot──▶ id, owner, flags, expiry, cap, target         what a redirect needs
//	id ───cold──▶ code, version, times, title, tags             everything else of the link
//	owner, ^id ──by owner, by tag──▶ code, host, title          lists, newest first
//	hour, id ──by deletion──▶ code                              what a purge deletes next
//	hour, id ─┬─▶ tally ──roll-up──▶ (id, day), id              of links: hours, days, lives
//	hour, owner ─▶ tally ──roll-up──▶ (owner, day)              of owners: hours, days
//
// # Versions
//
// Each value begins with the version of its format, and all of them are at version 1. LayoutVersion
// covers what no single value tells: tables, keys, the merger and the set of formats. There is
// exactly one encoding of everything, so decoding and encoding are inverse to each other, which the
// fuzz tests check. What is not canonical, cut off, too long or of an unknown version is ErrCorrupt
// and never a guess. Golden tests hold the bytes (TestFormatsAreAsPinned, TestKeysAreAsPinned).
//
// To change a format: give the new one the next version byte, write only that, and put a decoder of
// the old one beside the new one, chosen by the byte. Pin both. Raise LayoutVersion if an older
// program must not open the store.
//
// # Merging
//
// A merge operand is a tally row, and so is the sum of some, so a merge of merges is a merge. Sums
// and unions are associative and commutative and the encoding depends on nothing else, so every
// grouping gives the same bytes. The exception is breakdowns by more than 256 referrers: those are
// summaries (engine.Breakdown), each within the same bound. A malformed operand is an error; so
// CheckDimensions refuses breakdowns that could not be read, before they are written.
//
// Sum adds rows up, for merges and for views. Hashes are read in place. Once there are more than
// 1,024, they go into registers, with which those of dense rows are united eight at a time. A
// country, device or browser is a byte, and has a cell of its own; referrers are kept in order,
// with their names in one arena. So a row costs no allocation, however many there are:
//
//	two rows of one visitor             0.26 µs (0.28 before there were breakdowns), 1 allocation: the result
//	two, of all dimensions              0.67 µs, 1 allocation
//	100, of all dimensions              0.27 µs a row, 1 allocation in all
//	two of 256 referrers                23 µs
//	two dense ones                      17 µs (103 by way of engine.Sketch)
//
// # Decisions
//
// Row does not import Pebble. Pebble takes any type with the three methods of Merge, so storage
// registers NewMerge in one line, and the merge tests need no database.
//
// Own codecs, not protobuf or gob: a row of one visitor takes 13 bytes, its hits are read from its
// first bytes alone when a store is loaded, and there is one encoding of each value.
//
// Index rows hold code, host and title, so that a list with a prefix query reads no cold record. An
// edit of those rewrites up to 33 index rows, which is rare and one batch.
//
// The forms of a sketch are known here as well as in the engine (sketch.go), because a Sketch for
// each operand would cost three allocations a merge, and one for a dense row 33 KB and most of 50
// µs; tests hold both to the same bytes.
//
// Breakdowns are in the tally row, not in rows of their own: a key for each value would multiply
// what a flush writes by five. They stand before the sketch with their length, so that either is
// skipped without being read.
//
// Hits that overflow 64 bits, which an import can bring about, stay at the maximum and lose their
// breakdowns: a row whose breakdowns exceed its hits is corrupt, and a merge must never write one.
package row
