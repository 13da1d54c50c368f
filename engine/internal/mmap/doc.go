// Package mmap maps memory outside the Go heap and files, and stores into them. It knows nothing of
// ours. Only the index (arenas, tables, counters) and the journal (rings, the dictionary of
// referrers) may use it.
//
// The garbage collector does not scan this memory. Whoever maps it must have it unmapped by a
// cleanup of the object that readers hold.
//
// A store into a mapped file belongs to the kernel as soon as it is done. So it survives a crash of
// the process, but not a power cut, unless Sync has written it.
//
// The race detector ignores addresses outside the Go heap. So race builds keep all of this memory
// on the heap (mapped_race.go): advice does nothing there, each word is stored atomically, and a
// file gets the stores only when WriteBack is called.
//
// # Concurrency
//
// All functions may be called from any number of goroutines at once. A word that other goroutines
// read is stored by StoreWord, StoreLast or StoreHalf (half a word) and read atomically. StoreLast and StoreHalf come
// after all earlier stores; on amd64 they are plain, elsewhere and in race builds atomic. StoreWord is in no order
// with other stores. One goroutine at a time stores into a word: the caller sees to that, by a mutex or by ownership.
// Nobody may use memory that is unmapped: it is the caller's part to know.
//
// Files, leaves first: advice_linux.go, mapped.go, shared_linux.go, shared.go.
package mmap

import "errors"

// HugePageBytes is the size of a huge page on amd64 and arm64.
const HugePageBytes = 2 << 20

// ErrNoMapping wraps the reason why a file cannot be mapped. Only journal files are mapped.
var ErrNoMapping = errors.New("mapping a journal file")
