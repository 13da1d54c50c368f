// Package extras lays out what few links have beside a target, an expiry and a cap: one string of bytes, the blob. A
// link without extras has no blob, not even an empty one. The blob is made when a link is written. Memory and the store
// have the same bytes, so that a redirect reads them in place. The package knows engine/internal/limits.
//
// # Layout
//
// A blob is parts, in the order of their numbers. A part that says nothing is left out:
//
//	┌──────────┬──────────┬───────┐
//	│ number 1 │ length 2 │ bytes │ …
//	└──────────┴──────────┴───────┘
//
//	number          bytes
//	1 starts_at     8: Unix milliseconds, above 0
//	2 expired_url   as stored
//	3 bits          1: the lowest two are query, 1 override, 2 keep; the others are 0
//
// Numbers are little-endian. Each blob has one encoding, and Read accepts no other. Lengths have a fixed width, so a
// redirect steps over parts that it does not ask for without decoding them: it takes 1 to 2 ns a part.
//
// A new part takes the next number. A part whose number is not known is an error, never ignored: it may say that the
// link must not redirect, or not there. So a program that does not know a part refuses the record, as it refuses an
// unknown flag.
//
// Rejected: fixed fields under a byte of flags, which save 3 bytes of each part and make every reader know all parts
// before its own.
package extras
