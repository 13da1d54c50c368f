// Package tally counts redirects: tallies with sketches of visitors and breakdowns by dimension,
// the values of dimensions, and deltas, which gather tallies in memory. It knows the hash step and
// nothing else of ours. Whatever counts, stores or shows figures may use it; it does no I/O and
// starts no goroutine.
//
// # Terminology
//
// A request for a link that works is counted by its class: a hit of a visitor, a bot, a prefetch, or a HEAD request. A
// sketch is a set of visitors. A breakdown is hits by the values of a dimension (referrers,
// countries, devices, browsers). A tally is counts, a sketch and breakdowns; tallies add up. A
// delta is the tally of one link or owner in one hour that is not in the store yet.
//
// # Values
//
// A device, a browser and a country are each one byte, a place in a closed list. Their numbers are
// part of the journal's and the store's formats, so new ones go to the end. A referrer is a number
// in the journal and in deltas, which Names turns into a host; rows in the store hold the hosts.
// OtherReferrer is a referrer that got no number: it has no name, so it is in no breakdown. ScanReferrer is the QR code
// of the link, whose number is in no dictionary, so that it is never used up.
//
// # Breakdowns
//
// A breakdown holds at most 256 values and is a mergeable summary: the comment of Breakdown has its
// error bound. Hits whose value is not in it are "other", so that all values together are the hits.
//
// # Sketches
//
// A sketch is exact up to 1,024 visitors. Beyond that it is a dense HyperLogLog sketch, with a
// standard error of 0.81 %. Its bytes are a function of the set alone, so sketches of all hours,
// days and nodes merge in any order.
//
// # Deltas
//
//	(hour, id) ──hash──▶ index ──▶ entry, 64 bytes: counts, the first visitor, the values that all its hits share
//	                                 │           └─▶ chain of cells: 16 bytes of (entry, value, hits)
//	                                 └─▶ chain of blocks: seven visitors each; or a dense sketch
//
// An entry of the deltas takes no more than a cache line while all its hits have the same values
// and the same visitor; most have one hit. Entries, cells and blocks are slices without pointers,
// which the garbage collector skips, and which are reused from flush to flush.
//
// # Decisions
//
//   - The estimate of a dense sketch weighs each value of a register once, instead of raising two
//     to the power of each register: 8 µs instead of 371, with the same result
//     (TestADenseSketchEqualsTheLibrarys). So nothing caches estimates.
//   - Breakdowns are counted in cells of one table for all entries, instead of in a list of
//     combinations for each entry: an entry that is hit 100,000 times a second has a few cells that
//     stay in the cache, whereas a list would have to be sorted.
//   - The exact form of a sketch ends at 1,024 visitors, and dense sketches come next. Rejected:
//     the library's sparse form, which costs 115 to 462 ns an insert there, depends on the order of
//     insertion, and has only 25 bits (design measurements).
//
// Files, leaves first: agent.go, country.go, dimension.go, registers.go, sketch.go, tally.go, valuecells.go,
// visitorlists.go, deltas.go, order.go.
package tally
