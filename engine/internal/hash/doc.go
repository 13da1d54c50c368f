// Package hash computes the hashes of keys in memory: folded multiplication, as in wyhash, under a
// random key of the process. It knows nothing of ours; every room of the engine may use it. A hash
// is never stored and never leaves the process.
//
// # Terminology
//
// A text is a code or the host of a referrer; a word is a text of eight bytes. Sum and SumWord hash
// texts that differ only by case to the same value. Mix is one step of them; ids, which nobody can
// choose, are hashed by Mix alone.
//
// # Concurrency
//
// A Key never changes once it is drawn, so any number of goroutines may use it at once.
//
// # Decisions
//
// Not hash/maphash: it is a call and needs a case-folded copy of the text. Here the case is folded
// eight bytes at a time on the way, in steps that are inlined.
package hash
