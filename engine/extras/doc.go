// Package extras lays out what few links have beside a target, an expiry and a cap: one string of bytes, the blob. A
// link without extras has no blob, not even an empty one. The blob is made when a link is written. Memory and the store
// have the same bytes, so that a redirect reads them in place. The package knows engine/internal/limits, and the
// numbers of browsers and countries in engine/tally.
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
//	3 bits          1: the lowest two are query, 1 override, 2 keep, the third is forward_path, the fourth card; the
//	                others are 0
//	4 target        1: the number of the link's own address; there with rules or a split, and only then
//	5 rules         one after the other, at most 32
//	6 split         its shares, one after the other, 2 to 10
//	7 lock          8: not 0; a number that changes with the password of the link
//
// A rule is as long as its head says, so that one which does not match is passed over in one step:
//
//	┌──────────┬───────────────┬───────────┐ ┌────────┬────────┬──────────┬─────┬───────┐ ┌─────┐
//	│ number 1 │ bytes of      │ bytes of  │ │ kind 1 │ bytes  │ bytes of │ key │ value │…│ url │
//	│          │ conditions 2  │ url 2     │ │        │ of key │ value    │     │       │ │     │
//	└──────────┴───────────────┴───────────┘ └────────┴─1──────┴─1────────┴─────┴───────┘ └─────┘
//
// The value of a condition is what a redirect compares: the number of a device or a browser, a masked address, a time
// (rule.go). A share is its number, its weight in 2 bytes, the length of its url in 2, and that url. The numbers are
// those by which the hits of a link's targets are counted: see number.go.
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
//
// Files, leaves first: lock.go, rule.go, split.go, extras.go, number.go.
package extras
