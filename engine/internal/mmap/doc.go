// Package mmap is memory outside the Go heap and files that are mapped, with the stores into them.
// It knows nothing of ours. Only the index (arenas, tables, counters) and the journal (rings, the dictionary of
// referrers) may use it.
//
// The garbage collector does not look at this memory: whoever maps it has it unmapped by a cleanup on the object that
// readers hold. A mapped file is the kernel's as soon as a store into it is done, so it outlives the process (a crash)
// and not the power (a cut), unless Sync has written it.
//
// The race detector ignores addresses outside the Go heap. So race builds keep all of this on the heap
// (mapped_race.go): advice does nothing there, each word is stored atomically, and a file gets what was stored only
// when WriteBack is called.
package mmap

import "errors"

// HugePageBytes is the size of a huge page of amd64 and arm64.
const HugePageBytes = 2 << 20

// ErrNoMapping wraps the reason why a file cannot be mapped. The only files that are mapped are the journal's.
var ErrNoMapping = errors.New("mapping a journal file")
