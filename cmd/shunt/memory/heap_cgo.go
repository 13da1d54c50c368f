//go:build cgo

package memory

const blocksOnHeap = false
