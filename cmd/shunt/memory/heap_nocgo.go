//go:build !cgo

package memory

// blocksOnHeap reports whether Pebble's memtables and block cache are on Go's heap: with cgo they
// are C's.
const blocksOnHeap = true
